"""Genotypes from VCF files, against a plain loop, and what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from reproduce import _vcf
from tests.helpers.sizes import sizes

HEAD = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]
SMALL = """##fileformat=VCFv4.2
##contig=<ID=20>
#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT Ann Bob Cid
20 100 rs1 A T . . AC=1;AN=6 GT 0|0 0|1 1|0
20 101 . A G 9.5 PASS . GT 1/1 0/1 0/0
20 105 . C A,T . . . GT 1/2 0/1 0/0
20 106 . C . . . . GT 0/0 0/0 0/0
20 107 . CT C . . . GT:PS:DP 1|0:17:3 ./.:.:. 0/1
X 3 . G T . . . GT ./1 . 1|1
"""
EXPECTED = [[0, 2, 1, -1], [1, 1, -1, -1], [1, 0, 1, 2]]


def write(path: Path, text: str, ending: str = "\n") -> Path:
    """Write lines whose words are separated by one space as a VCF file."""
    data = text.replace(" ", "\t").replace("\n", ending).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["small.vcf", "small.vcf.gz", "small"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("cut", [0, 1], ids=["", "no last line ending"])
def test_small_file(tmp_path: Path, name: str, ending: str, cut: int) -> None:
    read = _vcf.read(write(tmp_path / name, SMALL[: len(SMALL) - cut], ending))
    assert read.people == ("Ann", "Bob", "Cid")
    assert read.variants == (
        ("20", 100, "A", "T"),
        ("20", 101, "A", "G"),
        ("20", 107, "CT", "C"),
        ("X", 3, "G", "T"),
    )
    assert read.skipped == 2
    assert read.counts.dtype == np.int8
    assert read.counts.tolist() == EXPECTED


def test_members_of_a_block_compressed_file(tmp_path: Path) -> None:
    data = SMALL.replace(" ", "\t").encode()
    path = tmp_path / "blocks.vcf.gz"
    path.write_bytes(b"".join(gzip.compress(data[i : i + 50]) for i in range(0, len(data), 50)))
    assert _vcf.read(path).counts.tolist() == EXPECTED


def plain_loop(text: str) -> list[list[int]]:
    """Read one number at a time."""
    sites = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        words = line.split("\t")
        if words[4] == "." or "," in words[4]:
            continue
        site = []
        for word in words[9:]:
            alleles = word.split(":")[0].replace("|", "/").split("/")
            site.append(-1 if "." in alleles else alleles.count("1"))
        sites.append(site)
    return sites


@pytest.mark.parametrize("seed", range(4))
def test_against_a_plain_loop(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """More lines than are decoded at once, with every kind of line among them."""
    sizes(monkeypatch, vcf_lines=16)
    rng = np.random.default_rng(seed)
    people = int(rng.integers(1, 40))
    lines = ["##fileformat=VCFv4.1", "\t".join([*HEAD, *(f"P{i}" for i in range(people))])]
    for position in range(100):
        tail = rng.choice(["", ":12", ":.:3"])
        alternate = rng.choice(["T", "T", "T", "T", "GG", "A,T", "."])
        alleles = ["0", "1", "."] if rng.random() < 0.3 else ["0", "1"]
        calls = [
            rng.choice(alleles) + rng.choice(["|", "/"]) + rng.choice(alleles) + tail
            for _ in range(people)
        ]
        info = f"20\t{position}\t.\tC\t{alternate}\t.\t.\t.\tGT{':AB:CD' if tail else ''}"
        lines.append("\t".join([info, *calls]))
    text = "\n".join(lines)
    path = tmp_path / "random.vcf"
    path.write_text(text)
    expected = plain_loop(text)
    read = _vcf.read(path)
    assert read.counts.T.tolist() == expected
    assert read.skipped == 100 - len(expected) > 0
    assert (read.counts == -1).any()


def test_no_records(tmp_path: Path) -> None:
    read = _vcf.read(write(tmp_path / "a.vcf", "##fileformat=VCFv4.2\n" + " ".join([*HEAD, "Ann"])))
    assert read.counts.shape == (1, 0)
    assert read.variants == ()


BAD = [
    ("", "", "line 1: not a VCF file"),
    ("##fileformat=VCFv4.2", "##source=x", "line 1: not a VCF file"),
    (
        SMALL[SMALL.index("#CHROM") :],
        "",
        "line 3: the file ends before the line that starts with #CHROM",
    ),
    ("#CHROM POS", "#CHROM POSITION", "line 3: expected the columns #CHROM POS ID"),
    (" Ann Bob Cid", "", "line 3: no people"),
    ("Bob", "Ann", "line 3: Ann occurs twice"),
    ("0|1 1|0", "0|1", "line 4: expected 12 columns separated by tabs, found 11"),
    ("0|1 1|0", "0|1 1|0 0|0", "line 4: expected 12 columns separated by tabs, found 13"),
    ("1/2 0/1 0/0", "1/2 0/1", "line 6: expected 12 columns separated by tabs, found 11"),
    ("./1 . 1|1", "./1", "line 9: expected 12 columns separated by tabs, found 10"),
    ("X 3 . G T . . . GT ./1 . 1|1", "X 3 . G", "line 9: expected 12 .*, found 4"),
    ("X 3", "\nX 3", "line 9: expected 12 columns separated by tabs, found 1"),
    ("20 101", "20 1e3", "line 5: position '1e3' is not a whole number"),
    ("20 101", "20 -5", "line 5: position '-5' is not a whole number"),
    ("rs1 A T", "rs1  T", "line 4: chromosome, reference or alternate allele is empty"),
    ("AC=1;AN=6 GT", "AC=1;AN=6 DP", "line 4: format 'DP' does not start with GT"),
    ("GT:PS:DP", "PS:GT:DP", "line 8: format 'PS:GT:DP' does not start with GT"),
    ("0|1 1|0", "0|2 1|0", "line 4: genotype '0|2' of Bob"),
    ("0|1 1|0", "0|1 1", "line 4: genotype '1' of Cid"),
    ("0|1 1|0", "0-1 1|0", "line 4: genotype '0-1' of Bob"),
    ("0|1 1|0", "0|1 1|0|1", "line 4: genotype '1|0|1' of Cid"),
    ("0|0 0|1 1|0", "0|00 |1 1|0", "line 4: genotype '0|00' of Ann"),
    ("0|0 0|1 1|0", "0|0\u00e40|1 1|0", "line 4: expected 12"),
    ("1|0:17:3", ":17:3", "line 8: genotype '' of Ann"),
]


@pytest.mark.parametrize(("old", "new", "said"), BAD, ids=[said for _, _, said in BAD])
def test_what_is_wrong_is_said(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = SMALL.replace(old, new) if old else ""
    assert text != SMALL
    path = write(tmp_path / "bad.vcf", text)
    with pytest.raises(ValueError, match="bad.vcf, " + said.replace("|", r"\|")):
        _vcf.read(path)


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.9])
def test_a_compressed_file_that_is_cut_off(tmp_path: Path, keep: float) -> None:
    rng = np.random.default_rng(0)
    calls = [" ".join(rng.choice(["0|0", "0|1"], 3)) for _ in range(3000)]
    text = SMALL + "".join(f"20 {200 + i} . A T . . . GT {c}\n" for i, c in enumerate(calls))
    path = write(tmp_path / "whole.vcf.gz", text)
    cut = tmp_path / "cut.vcf.gz"
    cut.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    with pytest.raises(ValueError, match=r"cut.vcf.gz, line \d+: the compressed file is damaged"):
        _vcf.read(cut)
    damaged = bytearray(path.read_bytes())
    damaged[int(keep * len(damaged))] ^= 0xFF
    cut.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"cut.vcf.gz, line \d+: "):
        _vcf.read(cut)


def table(people: str, variants: list[tuple[str, int, str, str]], counts: object) -> object:
    return _vcf.Genotypes(tuple(people), tuple(variants), np.array(counts, np.int8), skipped=1)


def test_people_of_two_files_meet_at_the_variants_of_both() -> None:
    a, b, c, swapped = (
        ("1", 5, "A", "T"),
        ("1", 9, "A", "T"),
        ("2", 5, "A", "T"),
        ("1", 9, "T", "A"),
    )
    first = table("xy", [a, b, c], [[0, 1, 2], [1, 1, 0]])
    second = table("uv", [c, swapped, a], [[2, 2, 1], [0, 1, 2]])
    merged = _vcf.merge(first, second)
    assert merged.people == tuple("xyuv")
    assert merged.variants == (a, c)
    assert merged.counts.tolist() == [[0, 2], [1, 0], [1, 2], [2, 0]]
    assert merged.skipped == 2


def test_files_that_cannot_be_put_together() -> None:
    a = ("1", 5, "A", "T")
    first, second = table("xy", [a], [[0], [1]]), table("uy", [a], [[0], [1]])
    with pytest.raises(ValueError, match="y is in both files"):
        _vcf.merge(first, second)
    twice = table("uv", [a, a], [[0, 1], [1, 1]])
    for pair in ((first, twice), (twice, first)):
        with pytest.raises(ValueError, match="variant 1 5 A T occurs twice"):
            _vcf.merge(*pair)


def test_an_endless_line_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A megabyte of gzip may hold a line of a gigabyte."""
    sizes(monkeypatch, vcf_line=1000)
    path = tmp_path / "long.vcf.gz"
    text = SMALL.replace(" ", "\t")
    path.write_bytes(gzip.compress((text + "20" * 2000).encode()))
    with pytest.raises(ValueError, match=r"long\.vcf\.gz, line 10: the line is longer than 1000"):
        _vcf.read(path)
    path.write_bytes(gzip.compress(text.replace("101", "1" * 900).encode()))
    with pytest.raises(ValueError, match=r"line 5: position '1{40}' is not a whole number"):
        _vcf.read(path)
    sizes(monkeypatch, vcf_bytes=600)
    path.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(ValueError, match="genotypes take more than 600 bytes"):
        _vcf.read(path)
