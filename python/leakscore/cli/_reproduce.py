"""``leakscore reproduce``: its options, and what they do."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

__all__ = ["add_reproduce"]


def add_reproduce(commands: Any) -> None:
    """Add the command to the program."""
    parser = commands.add_parser(
        "reproduce",
        help="regenerate a figure of a paper and check it",
        description="Regenerate figures of the papers, print their numbers and check them.",
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
        "--data",
        metavar="PATH",
        help="file or folder of the real data (default: where their Debian package is installed)",
    )
    parser.add_argument("--rounds", type=int, metavar="R", help="of each game; splits of genotypes")
    parser.add_argument("--seed", type=int, metavar="S", help="of the games")
    parser.add_argument("--out", metavar="DIR", help="where the figures are written")


def _reproduce(options: argparse.Namespace) -> int:
    from leakscore import reproduce

    if not options.names:
        print("\n".join(reproduce.names()))
        return 0
    figures = _with_data(options.names, options.data)
    given = {"rounds": options.rounds, "seed": options.seed, "out": options.out}
    keywords = {name: value for name, value in given.items() if value is not None}
    passed = [reproduce.run(name, stream=sys.stdout, **data, **keywords) for name, data in figures]
    return 0 if all(passed) else 1


def _with_data(words: list[str], data: str | None) -> list[tuple[str, dict[str, Any]]]:
    """Return the figures and the path of the data of those that read some, found to be there."""
    from leakscore import reproduce
    from leakscore.reproduce import _data

    known = reproduce.names()
    figures: list[tuple[str, dict[str, Any]]] = []
    for word in words:
        if word in known:
            reads = word in _data.PACKAGES and data is not None
            figures.append((word, {"data": data} if reads else {}))
        elif figures and figures[-1][0] in _data.PACKAGES and Path(word).exists():
            if figures[-1][1]:
                raise ValueError(f"the data of {figures[-1][0]} are given twice")
            figures[-1][1]["data"] = word
        else:
            raise ValueError(f"nothing is called {word!r}; known: {', '.join(known)}")
    if data is not None and not any(name in _data.PACKAGES for name, _ in figures):
        raise ValueError(f"--data {data}: none of these figures reads data")
    for name, path in figures:
        if name in _data.PACKAGES:
            _data.find(name, path.get("data"))
    return figures
