"""Reader of idx files: what they hold, and what is wrong with those that are refused."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from reproduce._idx import read_images_and_labels
from tests.helpers.pictures import idx
from tests.helpers.sizes import sizes

SHAPE = (5, 4, 3)
IMAGES = np.random.default_rng(0).integers(0, 256, SHAPE, dtype=np.uint8)
LABELS = np.array([0, 3, 9, 1, 2], dtype=np.uint8)


def write(folder: Path, images: bytes, labels: bytes) -> tuple[Path, Path]:
    paths = folder / "images.gz", folder / "labels.gz"
    for path, content in zip(paths, (images, labels), strict=True):
        path.write_bytes(content)
    return paths


@pytest.mark.parametrize("pack", [gzip.compress, bytes])
def test_what_was_written_is_read(tmp_path: Path, pack: object) -> None:
    paths = write(tmp_path, pack(idx(IMAGES)), pack(idx(LABELS)))  # type: ignore[operator]
    images, labels = read_images_and_labels(*paths, classes=10)
    np.testing.assert_array_equal(images, IMAGES)
    np.testing.assert_array_equal(labels, LABELS)
    assert images.dtype == labels.dtype == np.uint8


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (
            idx(IMAGES, magic=0x801),
            idx(LABELS),
            r"images\.gz starts with 0x00000801; .* 0x00000803",
        ),
        (
            idx(IMAGES),
            idx(LABELS, magic=0xD01),
            r"labels\.gz starts with 0x00000d01; .* 0x00000801",
        ),
        (idx(IMAGES)[:-1], idx(LABELS), r"images\.gz announces 5 x 4 x 3 bytes, but has only 59"),
        (idx(IMAGES) + b"!", idx(LABELS), r"images\.gz announces 5 x 4 x 3 bytes, but has more"),
        (idx(IMAGES), idx(LABELS)[:7], r"labels\.gz ends after 7 bytes, in the header"),
        (b"", idx(LABELS), r"images\.gz ends after 0 bytes"),
        (
            idx(IMAGES, shape=(0, 4, 3)),
            idx(LABELS),
            r"announces 0 x 4 x 3 bytes: none, or too many",
        ),
        (idx(IMAGES, shape=(2**32 - 1,) * 3), idx(LABELS), "none, or too many"),
        (idx(IMAGES[1:]), idx(LABELS), r"images\.gz has 4 images, but .*labels\.gz has 5 labels"),
        (idx(IMAGES), idx(LABELS + 1), r"labels\.gz has a label 10; expected 0 to 9"),
    ],
)
@pytest.mark.parametrize("pack", [gzip.compress, bytes])
def test_files_that_are_not_right(
    tmp_path: Path, pack: object, images: bytes, labels: bytes, message: str
) -> None:
    paths = write(tmp_path, pack(images), pack(labels))  # type: ignore[operator]
    with pytest.raises(ValueError, match=message):
        read_images_and_labels(*paths, classes=10)


@pytest.mark.parametrize("damage", ["cut", "flipped", "header"])
def test_damaged_compression(tmp_path: Path, damage: str) -> None:
    packed = bytearray(gzip.compress(idx(IMAGES)))
    if damage == "cut":
        del packed[-9:]
    else:
        packed[len(packed) // 2 if damage == "flipped" else 2] ^= 0xFF
    paths = write(tmp_path, bytes(packed), gzip.compress(idx(LABELS)))
    with pytest.raises(ValueError, match=r"images\.gz (is a damaged gzip file|announces)"):
        read_images_and_labels(*paths, classes=10)


def test_no_more_is_read_than_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes(monkeypatch, idx_bytes=59)
    paths = write(tmp_path, idx(IMAGES), idx(LABELS))
    with pytest.raises(ValueError, match="too many"):
        read_images_and_labels(*paths, classes=10)


def test_memory_is_taken_as_the_bytes_come(tmp_path: Path) -> None:
    """A header of twenty bytes announces a gigabyte."""
    paths = write(tmp_path, idx(IMAGES, shape=(1 << 10, 1 << 10, 1 << 10)), idx(LABELS))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="but has only 60"):
            read_images_and_labels(*paths, classes=10)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000
