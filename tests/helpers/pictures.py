"""Small pictures of ten classes, as idx files and as the records of a training under attack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reproduce import _epoch
from reproduce._models import Logistic

TINY = _epoch.Sizes(references=40, candidates=15, batch=8, steps=3)


def idx(array: np.ndarray, magic: int | None = None, shape: tuple[int, ...] | None = None) -> bytes:
    """Return an idx file: big-endian magic number and lengths, then the bytes."""
    number = 0x800 + array.ndim if magic is None else magic
    lengths = array.shape if shape is None else shape
    return b"".join(int(value).to_bytes(4, "big") for value in (number, *lengths)) + array.tobytes()


def pictures(count: int, side: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Images of ten classes: a bright block whose place is that of the class, and noise."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 10, count).astype(np.uint8)
    images = rng.integers(0, 120, (count, side, side)).astype(np.uint8)
    for image, label in zip(images, labels, strict=True):
        image[label : label + 3, 2:6] += 100
    return images, labels


@pytest.fixture(scope="module")
def setting() -> tuple[Any, ...]:
    """A model in the middle of a training, and who attacks it."""
    rng = np.random.default_rng(3)
    records = _epoch.divide(*pictures(400), TINY, rng)
    model = Logistic(144)
    known, path = _epoch.attackers(model, records, TINY, {"all": slice(None)})
    return model, records, known, path
