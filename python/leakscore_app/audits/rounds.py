"""Rounds as they arrive: whole lines of a stream or of a growing file, and their scores."""

from __future__ import annotations

import csv
import math
import os
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from leakscore.typing import Doubles, Flags
from leakscore_app._visible import listed, visible
from leakscore_app.audits.scores import (
    BITS,
    LOSS_NAMES,
    MEMBER_NAMES,
    SCORE_NAMES,
    column_of,
    plain_name,
)
from leakscore_app.tables import files

STANDARD_INPUT = "-"

_CHUNK = 1 << 16
_LONGEST_LINE = 1 << 20  # bytes of a line
_PAUSE = 0.1  # seconds between two looks at a file that has not grown


@contextmanager
def open_lines(path: str) -> Iterator[LineStream]:
    """Open a file, or the standard input for ``-``, as a stream of lines."""
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise ValueError("standard input is closed")
        yield LineStream(sys.stdin.buffer, "standard input", grows=False)
        return
    with Path(path).open("rb") as file:
        grows = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        yield LineStream(file, visible(Path(path).name), grows=grows)


class LineStream:
    """Yields whole lines as soon as they are complete.

    Attributes
    ----------
    name : str
        Name of the file, for messages.
    grows : bool
        Whether lines may be appended later: true for a file, false for a stream.
    """

    def __init__(self, stream: Any, name: str, *, grows: bool) -> None:
        self.name, self.grows = name, grows
        self._stream = stream
        self._partial = b""
        self._bytes_read = 0

    @property
    def unfinished(self) -> bool:
        """Whether the last line is still incomplete."""
        return bool(self._partial)

    def read_counted(self, length: int) -> bytes:
        """Return the first `length` bytes of a file, which must be whole lines."""
        data: bytes = self._stream.read(length)
        if len(data) < length:
            raise ValueError(f"{self.name} is shorter than it was: {len(data)} bytes of {length}")
        self._bytes_read = length
        return data

    def __call__(self, idle: float) -> Iterator[list[bytes]]:
        """Yield lines with their ends, until none comes for `idle` seconds or the stream ends."""
        last_data = time.monotonic()
        while True:
            data = self._read_chunk()
            if data:
                last_data = time.monotonic()
                *whole, self._partial = (self._partial + data).splitlines(keepends=True) or [b""]
                if self._partial.endswith(b"\n"):
                    whole, self._partial = [*whole, self._partial], b""
                self._require_text(whole[0] if whole else self._partial)
                if whole:
                    yield whole
            elif not self.grows:
                if self._partial:
                    yield [self._partial]
                self._partial = b""
                return
            elif time.monotonic() - last_data >= idle:
                return
            else:
                time.sleep(min(_PAUSE, max(idle, 0.0)))

    def _read_chunk(self) -> bytes:
        read = getattr(self._stream, "read1", self._stream.read)
        data: bytes = read(_CHUNK)
        self._bytes_read += len(data)
        if not data and self.grows and os.fstat(self._stream.fileno()).st_size < self._bytes_read:
            raise ValueError(f"{self.name} became shorter while it was read")
        return data

    def _require_text(self, line: bytes) -> None:
        if files.is_compressed(line) or files.is_zip(line):
            raise ValueError(
                f"{self.name} is compressed, and --watch reads lines as they come: unpack it into "
                "a pipe, as in 'gzip -dc FILE | leakscore audit - --watch'"
            )
        if b"\0" in line or files.File(self.name, line[:64]).kind != "text":
            raise ValueError(
                f"{self.name} is no text: --watch reads csv, or JSON lines, a round in each; other "
                "tables are read whole, without --watch"
            )
        if len(line) > _LONGEST_LINE:
            raise ValueError(f"{self.name} has a line of more than {_LONGEST_LINE} bytes")


_DELIMITERS = (",", ";", "\t", " ")


class RoundParser:
    """Parses lines into scores and memberships.

    Attributes
    ----------
    format : str
        "csv" or "json lines"; "" before the first line.
    columns : dict
        Role (score, member) -> name of the column.
    lines : int
        Number of lines so far.
    places : list of int
        For each round of the last call, the index of its line in that call.
    """

    def __init__(
        self,
        name: str,
        *,
        score: str | None = None,
        member: str | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
    ) -> None:
        self.format = ""
        self.columns: dict[str, str] = {}
        self.lines = 0
        self.places: list[int] = []
        self._name = name
        self._chosen_columns = {"score": score, "member": member}
        self._delimiter, self._decimal = delimiter, decimal or "."
        self._names: list[str] = []

    def __call__(self, lines: Sequence[bytes]) -> tuple[Doubles, Flags]:
        """Return the rounds of the next lines; blank lines are skipped."""
        texts = [(self.lines + i, self._text(line)) for i, line in enumerate(lines, 1)]
        texts = [(line, text) for line, text in texts if text.strip()]
        if texts and not self.format:
            texts = texts[self._parse_header(*texts[0]) :]
        self.places = [line - self.lines - 1 for line, _ in texts]
        self.lines += len(lines)
        rounds = [(line, *self._cells(text, line)) for line, text in texts]
        scores = [self._score(score, line) for line, score, _ in rounds]
        member = [self._member_bit(bit, line) for line, _, bit in rounds]
        return np.array(scores, dtype=np.float64), np.array(member, dtype=bool)

    def resume(self, counted: bytes) -> None:
        """Continue after lines of an earlier run; the first of them names the columns."""
        for line in counted.splitlines():
            self.lines += 1
            if (text := self._text(line)).strip():
                self._parse_header(self.lines, text)
                break
        self.lines = counted.count(b"\n")

    def _text(self, line: bytes) -> str:
        try:
            return line.decode("utf-8" if self.format else "utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise ValueError(f"{self._name} is not UTF-8: {error.reason}") from None

    def _parse_header(self, line: int, first: str) -> int:
        """Set format and columns by the first line; return 1 if it is a header, 0 if a round."""
        if first.lstrip().startswith("{"):
            kind, names = "json lines", list(self._from_json(first, line))
        else:
            present = [mark for mark in _DELIMITERS if mark in first]
            self._delimiter = self._delimiter or (present[0] if present else ",")
            if self._delimiter == "space":
                self._delimiter = " "
            kind, names = "csv", [name.strip() for name in self._split(first, line)]
        has_score = any(plain_name(name) in SCORE_NAMES for name in names)
        usual = {"score": SCORE_NAMES if has_score else LOSS_NAMES, "member": MEMBER_NAMES}
        for role, accepted in usual.items():
            column = column_of(self._name, names, role, accepted, given=self._chosen_columns[role])
            if column is None or names.count(column) > 1:
                raise ValueError(
                    f"{self._name}: the first line must name the columns, {role} among them once, "
                    f"not {listed(names)}: name them, or say --{role} COLUMN"
                )
            self.columns[role] = column
        if self.columns["score"] == self.columns["member"]:
            raise ValueError(f"{self._name}: one column is named as score and as membership")
        self.format, self._names = kind, names
        return int(kind == "csv")

    def _split(self, text: str, line: int) -> list[str]:
        if self._delimiter == " ":
            return text.split()
        try:
            return next(csv.reader([text], delimiter=self._delimiter or ",", strict=True))
        except csv.Error as error:
            raise ValueError(f"{self._name}, line {line}: {error}") from None

    def _cells(self, text: str, line: int) -> tuple[Any, Any]:
        parse = self._from_csv if self.format == "csv" else self._from_json
        entries = parse(text, line)
        try:
            return entries[self.columns["score"]], entries[self.columns["member"]]
        except KeyError as error:
            raise ValueError(f"{self._name}, line {line}: there is no {error}") from None

    def _from_csv(self, text: str, line: int) -> dict[str, Any]:
        cells, width = self._split(text, line), len(self._names)
        if len(cells) != width:
            raise ValueError(
                f"{self._name}, line {line}: {len(cells)} cells, where the first line has {width}"
            )
        return dict(zip(self._names, cells, strict=True))

    def _from_json(self, text: str, line: int) -> dict[str, Any]:
        entries = files.load_json(files.File(f"{self._name}, line {line}", text.encode()))
        if not isinstance(entries, dict):
            raise ValueError(f"{self._name}, line {line}: no JSON object")
        return entries

    def _score(self, cell: Any, line: int) -> float:
        try:
            if isinstance(cell, (bool, list, dict)) or cell is None:
                raise ValueError
            if isinstance(cell, str):
                text = cell.strip()
                if "_" in text or (self._decimal == "," and "." in text):
                    raise ValueError
                cell = text.replace(",", ".") if self._decimal == "," else text
            score = float(cell)
        except (ValueError, OverflowError):
            raise ValueError(self._cell_error(cell, line, "no number")) from None
        if math.isnan(score):
            raise ValueError(self._cell_error(cell, line, "no score"))
        return score

    def _member_bit(self, cell: Any, line: int) -> bool:
        if isinstance(cell, str):
            bit = BITS.get(cell.strip().lower())
        else:
            bit = float(cell) if isinstance(cell, (bool, int, float)) and cell in (0, 1) else None
        if bit is None:
            raise ValueError(self._cell_error(cell, line, "neither 1 (member) nor 0 (non-member)"))
        return bit == 1.0

    def _cell_error(self, cell: Any, line: int, problem: str) -> str:
        return f"{self._name}, line {line}: {visible(repr(cell)[:40])} is {problem}"
