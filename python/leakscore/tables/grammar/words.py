"""Words in the place of numbers: for what is missing, for yes and no, for sums below a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

MISSING = frozenset(
    (
        *(
            "na",
            "n/a",
            "n.a.",
            "nan",
            "-nan",
            "+nan",
            "null",
            "none",
            "nil",
            "nd",
            "n.d.",
            "missing",
        ),
        *(
            "unknown",
            ".",
            "..",
            "...",
            "-",
            "--",
            "---",
            "?",
            "*",
            "\u2013",
            "\u2014",
            "k.a.",
            "s/d",
        ),
        *("<na>", "(null)", "#n/a", "#na", "#n/a!", "#nv", "#value!", "#div/0!", "#ref!"),
        *("#name?", "#num!", "#null!"),
    )
)
"""In lower case: usual words for a missing value, and the errors of spreadsheets."""

_PAIRS = (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"))


def booleans_of(words: Iterable[str]) -> Mapping[str, float] | None:
    """Return what the words of a column stand for if they are yes and no; None if they are not."""
    present = {word.lower() for word in words}
    for yes, no in _PAIRS:
        if present and present <= {yes, no}:
            return {yes: 1.0, no: 0.0}
    return None


_SUMMARY = re.compile(
    r"(?:grand |sub)?totals?|sums?|means?|averages?|summe|gesamt|gesamtsumme|insgesamt|mittelwert|"
    r"mittel|durchschnitt|somme|moyenne|totale|media|promedio|suma|total g[e\u00e9]n[e\u00e9]ral|"
    r"st(?:an)?d\.? ?dev(?:iation|\.)?|median|overall|all|sd",
    re.IGNORECASE,
)


def is_summary(cell: str) -> bool:
    """Whether a cell labels a row of sums or means."""
    return _SUMMARY.fullmatch(cell.strip().rstrip(":").strip()) is not None
