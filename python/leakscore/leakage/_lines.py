"""A ledger as lines of JSON, each with a digest of all before."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["chained", "digest_of", "text", "unchained"]


def digest_of(rows: npt.NDArray[Any]) -> str:
    """Return the digest of a table as float64, row after row."""
    digest = hashlib.sha256(repr(rows.shape).encode())
    for start in range(0, len(rows), 4096):
        digest.update(np.ascontiguousarray(rows[start : start + 4096], dtype="<f8").tobytes())
    return digest.hexdigest()


def text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def chained(last: str, content: dict[str, Any]) -> str:
    """Return a line: the content, and the digest of the line before with it."""
    body = json.dumps(content, allow_nan=False)
    digest = hashlib.sha256((last + body).encode()).hexdigest()
    return f'{body[:-1]}, "digest": "{digest}"}}'


def unchained(raw: bytes) -> list[dict[str, Any]]:
    """Return the content of every line but the last; refuse what is damaged, by its number."""
    lines = raw.decode("latin-1").split("\n")
    contents, last = [], ""
    for number, line in enumerate(lines[:-1], 1):
        try:
            content = json.loads(line)
            del content["digest"]
            whole = chained(last, content) == line
        except (ValueError, TypeError, KeyError, RecursionError):
            whole = False
        if not whole:
            raise ValueError(f"raw must be a whole ledger: line {number} is damaged")
        contents.append(content)
        last = line
    if lines[-1] or not contents or contents[-1] != {"end": len(contents) - 2}:
        raise ValueError(f"raw must be a whole ledger: it is cut after line {len(contents)}")
    return contents[:-1]
