"""``python -m reproduce NAME``: makes published figures again and checks their numbers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import reproduce
from leakscore_app.cli.program import Parser, run
from reproduce import _data, _index

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 if all checks hold, 1 if one fails and after an error."""
    return run(_parser(), argv)


def _parser() -> Parser:
    parser = Parser(
        prog="python -m reproduce",
        description="Make figures of the papers again, print their numbers and check them. Exit "
        "code 0: every number agrees with the theory.",
    )
    parser.set_defaults(run=_reproduce)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="figures; none lists them; the name of one that reads real data may be followed by "
        "their path",
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="list all figures and tables of the papers with data, seconds and verdict",
    )
    parser.add_argument(
        "--data",
        metavar="PATH",
        help="file or folder of the real data (default: where their Debian package is installed)",
    )
    parser.add_argument("--rounds", type=int, metavar="R", help="of each game; splits of genotypes")
    parser.add_argument("--seed", type=int, metavar="S", help="of the games")
    parser.add_argument("--out", metavar="DIR", help="where the figures are written")
    return parser


def _reproduce(options: argparse.Namespace) -> int:
    if options.list:
        if options.names:
            raise ValueError(f"--list takes no names: {', '.join(options.names)}")
        print(_index.text())
        return 0
    if not options.names:
        print(_listed())
        return 0
    figures = _with_data(options.names, options.data)
    given = {"rounds": options.rounds, "seed": options.seed, "out": options.out}
    keywords = {name: value for name, value in given.items() if value is not None}
    passed = [reproduce.run(name, stream=sys.stdout, **data, **keywords) for name, data in figures]
    return 0 if all(passed) else 1


def _listed() -> str:
    """One line a figure: its name, what it shows, its data, and its seconds on one core."""
    lines = []
    for name in reproduce.names():
        figure = reproduce.FIGURES[name]
        data = f", reads {_data.PACKAGES[name].name}" if name in _data.PACKAGES else ""
        lines.append(f"{name:20} {figure.shows} ({figure.seconds} s{data})")
    return "\n".join(lines)


def _with_data(words: list[str], data: str | None) -> list[tuple[str, dict[str, Any]]]:
    """Return the figures and the path of the data of those that read some, found to be there."""
    names = reproduce.names()
    figures: list[tuple[str, dict[str, Any]]] = []
    for word in words:
        if word in names:
            reads = word in _data.PACKAGES and data is not None
            figures.append((word, {"data": data} if reads else {}))
        elif figures and figures[-1][0] in _data.PACKAGES and Path(word).exists():
            if figures[-1][1]:
                raise ValueError(f"the data of {figures[-1][0]} are given twice")
            figures[-1][1]["data"] = word
        else:
            raise ValueError(f"nothing is called {word!r}; known: {', '.join(names)}")
    if data is not None and not any(name in _data.PACKAGES for name, _ in figures):
        raise ValueError(f"--data {data}: none of these figures reads data")
    for name, path in figures:
        if name in _data.PACKAGES:
            _data.find(name, path.get("data"))
    return figures


if __name__ == "__main__":
    sys.exit(main())
