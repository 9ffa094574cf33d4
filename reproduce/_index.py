"""The list of all figures and tables of the papers, from the registry: as text, and as a page."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from reproduce import _data
from reproduce._registry import FIGURES, NUMBERED, PAPERS, Figure

__all__ = ["missing", "page", "text"]

_WRAPPED = textwrap.TextWrapper(
    96, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
)
_HEAD = """# Figures of the papers

Written from the registry of `reproduce` by `scripts/write_figures_page.py`. Each command prints
the numbers of its figure beside theory, with a tolerance, says what the paper claims, draws the
figure, and ends with exit code 1 if a number is outside its tolerance. Seconds are of one core.
`python -m reproduce --list` prints the same list. [Reproduce a published
figure](../how-to/reproduce-a-figure.md) says where the data come from, and
[errata](../explanation/errata.md) has every formula that differs from print.
"""


def missing() -> dict[str, list[str]]:
    """Return the numbered figures and tables of each paper that no entry reproduces."""
    return {
        paper: sorted(set(numbers) - _covered(paper))
        for paper, numbers in NUMBERED.items()
        if set(numbers) - _covered(paper)
    }


def _covered(paper: str) -> set[str]:
    found = set()
    for _, figure in _of(paper):
        for kind, numbers in re.findall(r"(figure|table)s? (\d+(?:, \d+)*)", figure.numbers):
            found |= {f"{kind} {number}" for number in numbers.split(", ")}
    return found


def _of(paper: str) -> Iterator[tuple[str, Figure]]:
    """Yield a paper's entries, by their first number."""

    def place(entry: tuple[str, Figure]) -> tuple[int, str, str]:
        number = re.search(r"\d+", entry[1].numbers)
        return int(number[0]) if number else 0, entry[1].numbers, entry[0]

    mine = [(name, figure) for name, figure in FIGURES.items() if figure.paper == paper]
    yield from sorted(mine, key=place)


def _reads(name: str) -> str:
    return _data.PACKAGES[name].name if name in _data.PACKAGES else ""


def _came(figure: Figure) -> str:
    """Return the verdict and its reason; figures of ours have no paper to hold."""
    verdict = "" if figure.verdict == "ours" else figure.verdict
    return ": ".join(word for word in (verdict, figure.why) if word)


def text() -> str:
    """Return the list for a terminal."""
    lines = []
    for paper, title in PAPERS.items():
        lines += ["", title]
        for name, figure in _of(paper):
            data = f", reads {_reads(name)}" if _reads(name) else ""
            what = f"{figure.numbers}: {figure.shows}" if figure.numbers else figure.shows
            lines.append(f"  {what} (python -m reproduce {name}, {figure.seconds} s{data})")
            lines += _WRAPPED.wrap(_came(figure))
        lines += [f"  {number}: not reproduced" for number in missing().get(paper, [])]
    return "\n".join(lines[1:])


def page() -> str:
    """Return the page of the documentation."""
    parts = [_HEAD]
    for paper, title in PAPERS.items():
        first = "figure" if paper else "what"
        parts.append(f"## {title}\n")
        parts.append(
            f"| {first} | shows | command | data | seconds | verdict |\n| --- {'| --- ' * 5}|"
        )
        for name, figure in _of(paper):
            cells = (
                figure.numbers or name,
                figure.shows,
                f"`python -m reproduce {name}`",
                _reads(name) or "none",
                str(figure.seconds),
                _came(figure) or "beside theory",
            )
            parts.append(f"| {' | '.join(cells)} |")
        parts += [f"| {number} | | | | | not reproduced |" for number in missing().get(paper, [])]
        parts.append("")
    return "\n".join(parts)
