"""Genotypes from VCF files: allele counts of people at sites with one alternate allele.

Reads only what membership tests need: the GT field of diploid people. It refuses what it cannot
read, and names file, line and problem. It leaves out only sites without an alternate allele or with
several, and counts them.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt

__all__ = ["MISSING", "Genotypes", "merge", "read"]

Counts = npt.NDArray[np.int8]
Variant = tuple[str, int, str, str]  # chromosome, position, reference and alternate allele

MISSING = -1

_COLUMNS = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]
_BLOCK = 2048  # lines that are decoded together, fewer if they are long
_LONGEST = 1 << 26  # bytes of a line: half a million people have 2 MB, with a few fields more 50
_LARGEST = 1 << 32  # bytes that the genotypes and their variants may take
_VARIANT = 256  # of these, a variant without its alleles
_PLACES = 12  # digits of a position

# Copies of the alternate allele by the byte of an allele; missing and invalid alleles are so large
# that a sum of two shows them.
_UNKNOWN, _INVALID = 8, 32
_COPIES = np.full(256, _INVALID, np.int8)
_COPIES[list(b"01.")] = 0, 1, _UNKNOWN
_SEPARATES = np.zeros(256, np.bool_)
_SEPARATES[list(b"|/")] = True
_CALLS = {
    a + separator + b: MISSING if "." in a + b else int(a) + int(b)
    for a in "01."
    for b in "01."
    for separator in "|/"
} | {".": MISSING}


@dataclass(frozen=True)
class Genotypes:
    """Allele counts of people: 0, 1, 2 copies of the alternate allele, or MISSING."""

    people: tuple[str, ...]
    variants: tuple[Variant, ...]
    counts: Counts  # (people, variants)
    skipped: int = 0  # sites without exactly one alternate allele


def read(path: Path) -> Genotypes:
    """Read a VCF file, plain or compressed by gzip or bgzip."""
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return _Lines(path, compressed).genotypes()


class _Lines:
    """The lines of a file, and errors that name them."""

    def __init__(self, path: Path, compressed: bool) -> None:
        self.path, self.number = path, 0
        self.lines = self._iterate(compressed)
        self.people = self._header()

    def fail(self, problem: str, number: int | None = None) -> NoReturn:
        raise ValueError(f"{self.path}, line {number or self.number}: {problem}")

    def _iterate(self, compressed: bool) -> Iterator[bytes]:
        with gzip.open(self.path) if compressed else self.path.open("rb") as file:
            try:
                while line := file.readline(_LONGEST + 1):
                    self.number += 1
                    if len(line) > _LONGEST:
                        self.fail(f"the line is longer than {_LONGEST} bytes")
                    yield line.rstrip(b"\r\n")
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                self.number += 1
                self.fail(f"the compressed file is damaged or cut off here ({error})")

    def _header(self) -> tuple[str, ...]:
        """Return the names of the people, after reading the lines before the records."""
        for line in self.lines:
            if self.number == 1 and not line.startswith(b"##fileformat=VCF"):
                break
            if not line.startswith(b"##"):
                return self._names(line.decode("utf-8", "replace").split("\t"))
        if self.number <= 1:
            self.fail("not a VCF file: it does not start with ##fileformat=VCF", 1)
        return self.fail("the file ends before the line that starts with #CHROM", self.number + 1)

    def _names(self, words: list[str]) -> tuple[str, ...]:
        people = tuple(words[len(_COLUMNS) :])
        if words[: len(_COLUMNS)] != _COLUMNS:
            self.fail(f"expected the columns {' '.join(_COLUMNS)}, separated by tabs")
        if not people:
            self.fail("no people: the last column is FORMAT")
        if len(set(people)) < len(people):
            twice = next(name for i, name in enumerate(people) if name in people[:i])
            self.fail(f"{twice} occurs twice")
        return people

    def genotypes(self) -> Genotypes:
        """Read the records, many lines at a time."""
        variants: list[Variant] = []
        blocks = [np.empty((0, len(self.people)), np.int8)]
        skipped = taken = 0
        size = max(1, min(_BLOCK, _LONGEST // (4 * len(self.people))))
        while block := [(self.number, self._record(line)) for line in islice(self.lines, size)]:
            kept = [(number, *record) for number, record in block if record is not None]
            variants.extend(variant for _, variant, _ in kept)
            blocks.append(self._decode([n for n, _, _ in kept], [calls for _, _, calls in kept]))
            skipped += len(block) - len(kept)
            taken += sum(
                _VARIANT + len(self.people) + sum(map(len, variant[2:])) for _, variant, _ in kept
            )
            if taken > _LARGEST:
                self.fail(f"the genotypes take more than {_LARGEST} bytes")
        counts = np.ascontiguousarray(np.concatenate(blocks).T)
        return Genotypes(self.people, tuple(variants), counts, skipped)

    def _record(self, line: bytes) -> tuple[Variant, bytes] | None:
        """Return a site and its calls; None unless it has exactly one alternate allele."""
        fields = line.split(b"\t", len(_COLUMNS))
        if len(fields) <= len(_COLUMNS):
            self._wrong_columns(line, self.number)
        head = [field.decode("ascii", "replace") for field in fields[:5]]
        chromosome, position, _, reference, alternate = head
        if not (position.isdecimal() and position.isascii() and len(position) <= _PLACES):
            self.fail(f"position {position[:40]!r} is not a whole number")
        if not (chromosome and reference and alternate):
            self.fail("chromosome, reference or alternate allele is empty")
        if fields[8] != b"GT" and not fields[8].startswith(b"GT:"):
            self.fail(f"format {fields[8].decode('ascii', 'replace')!r} does not start with GT")
        if alternate == "." or "," in alternate:
            if line.count(b"\t") != len(_COLUMNS) + len(self.people) - 1:
                self._wrong_columns(line, self.number)
            return None
        return (chromosome, int(position), reference, alternate), fields[9]

    def _wrong_columns(self, line: bytes, number: int) -> NoReturn:
        expected, found = len(_COLUMNS) + len(self.people), line.count(b"\t") + 1
        self.fail(f"expected {expected} columns separated by tabs, found {found}", number)

    def _decode(self, numbers: list[int], calls: list[bytes]) -> Counts:
        """Return allele counts (sites, people): at once where all calls have three letters."""
        people = len(self.people)
        counts = np.empty((len(calls), people), np.int8)
        plain = np.array([len(call) == 4 * people - 1 for call in calls], np.bool_)
        text = b"".join(call + b"\t" for call, same in zip(calls, plain, strict=True) if same)
        table = np.frombuffer(text, np.uint8).reshape(-1, people, 4)
        copies = _COPIES[table[..., 0]] + _COPIES[table[..., 2]]
        valid = _SEPARATES[table[..., 1]] & (table[..., 3] == ord("\t")) & (copies < _INVALID)
        copies[copies >= _UNKNOWN] = MISSING
        counts[plain] = copies
        plain[plain] = valid.all(axis=1)
        for i in np.flatnonzero(~plain):
            counts[i] = self._decode_one(numbers[i], calls[i])
        return counts

    def _decode_one(self, number: int, calls: bytes) -> list[int]:
        """Return the allele counts of a site whose calls differ in length, or name the error."""
        words = [call.partition(":")[0] for call in calls.decode("ascii", "replace").split("\t")]
        if len(words) != len(self.people):
            self._wrong_columns(b"\t" * len(_COLUMNS) + calls, number)
        try:
            return [_CALLS[word] for word in words]
        except KeyError as error:
            word = error.args[0]
            name = self.people[words.index(word)]
            self.fail(
                f"genotype {word!r} of {name} is not of the form 0/1 or 0|1, with alleles 0, 1 "
                "or . (missing)",
                number,
            )


def merge(first: Genotypes, second: Genotypes) -> Genotypes:
    """Combine the people of two files, at the variants that both have."""
    shared = set(first.people) & set(second.people)
    if shared:
        raise ValueError(f"{min(shared)} is in both files: a person must be in one of them only")
    places = _places(second)
    _places(first)
    columns = [j for j, variant in enumerate(first.variants) if variant in places]
    others = [places[first.variants[j]] for j in columns]
    return Genotypes(
        first.people + second.people,
        tuple(first.variants[j] for j in columns),
        np.concatenate([first.counts[:, columns], second.counts[:, others]]),
        first.skipped + second.skipped,
    )


def _places(genotypes: Genotypes) -> dict[Variant, int]:
    """Return the column of each variant."""
    places = {variant: j for j, variant in enumerate(genotypes.variants)}
    for j, variant in enumerate(genotypes.variants):
        if places[variant] != j:
            raise ValueError(f"variant {' '.join(map(str, variant))} occurs twice in a file")
    return places
