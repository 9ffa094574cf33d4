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
        *("#name?", "#num!", "#null!", "#wert!", "#bezug!", "#zahl!", "#valeur!", "#n/d"),
        *("#valor!", "nat", "\\n", "1.#qnan", "1.#ind", "-1.#ind", "-nan(ind)", "nan(ind)"),
        *("(blank)", "(leer)", "(missing)", "k. a.", "keine angabe", "no data"),
        *(f".{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"),
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
    r"(?:(?:grand|column|row) |sub)?totals?|sums?|means?|averages?|avg|\u03a3|\u00f8|mw|"
    r"summe|gesamt|gesamtsumme|insgesamt|total g[e\u00e9]n[e\u00e9]ral|zwischensumme|"
    r"mittelwert|mittel|durchschnitt|somme|moyenne|totale|media|promedio|suma|totaal|gemiddelde|medelv\u00e4rde|"
    r"summa|razem|\u015brednia|\u0438\u0442\u043e\u0433\u043e|\u5408\u8ba1|"
    r"st(?:an)?d\.? ?(?:dev(?:iation|\.)?|error|err\.?)|stdabw|standardabweichung|median|overall|"
    r"all|sd|std|se|minimum|maximum|variance|varianz",
    re.IGNORECASE,
)
_BEHIND = re.compile(r"\s*(?:\([^()]*\)|\[[^\[\]]*\]|:)\s*$")


def is_summary(cell: str) -> bool:
    """Whether a cell labels a row of sums or means."""
    return _SUMMARY.fullmatch(_BEHIND.sub("", cell.strip()).strip()) is not None
