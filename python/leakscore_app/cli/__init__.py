"""The command line: ``leakscore report``, ``audit``, ``risk``, ``ask`` and the other commands.

Exit codes: 0 done, 1 an error (one line on standard error), 130 interrupted; for ``audit`` also 2
if the claim is refuted, and 3 if these scores could not refute it; for ``audit-synthetic`` 2 if a
leak is shown, and 3 if none could be; for ``risk --check`` also 2 if
a record is certified, and 3 if none could have been; for ``ask`` 2 if the question is refused.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import leakscore
from leakscore_app._visible import visible
from leakscore_app.cli.program import Parser, run

__all__ = ["main"]

_COMMANDS = ("report", "audit", "audit-synthetic", "risk", "ask", "epsilon")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.

    Returns
    -------
    int
        0 done, 1 error, 130 interrupted. Of ``audit``: 2 claim refuted, 3 claim out of reach. Of
        ``audit-synthetic``: 2 leak shown, 3 inconclusive. Of
        ``report --check``: 0 publish, 2 publish with noise, 3 do not publish, 4 not before it is
        known whether records are of one person. Of ``risk --check``:
        2 if a record is certified. Of ``ask``: 2 refused.

    Examples
    --------
    >>> from leakscore_app.cli import main
    >>> main(["--version"])  # doctest: +ELLIPSIS
    leakscore ...
    0
    """
    given = list(sys.argv[1:] if argv is None else argv)
    if not given or given[0] == "help":  # as of a command that is named behind it
        given = [*given[1:2], "--help"]
    return run(_parser(given), given)


def _parser(argv: Sequence[str]) -> Parser:
    """Return the parser of the command that the arguments name, or of all."""
    command = argv[0] if argv and argv[0] in _COMMANDS else None
    parser = Parser(
        prog="leakscore",
        description="How surely can an attacker tell that a record was in the data?",
        epilog="The epsilon of a training with DP-SGD: leakscore epsilon --noise 1 --records 60000 "
        "--batch 256 --epochs 15 --scheme poisson",
    )
    version = f"leakscore {leakscore.__version__}"
    parser.add_argument("-V", "--version", action="version", version=version)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for each in _COMMANDS if command is None else [command]:
        name = each.replace("-", "_")
        module = import_module(f"leakscore_app.cli._{name}")
        getattr(module, f"add_{name}")(commands)
    if command is None and argv and not argv[0].startswith("-"):
        _refuse(commands, argv[0], _no_command(argv[0]))
    return parser


def _no_command(word: str) -> str:
    """Say which command was meant: by its letters, a statistic, or a file in its place."""
    from leakscore_app.cli._report import STATISTICS

    near = difflib.get_close_matches(word, _COMMANDS, 1, 0.75)
    statistic = difflib.get_close_matches(word, STATISTICS, 1, 0.8)
    meant = near[0] if near else ""
    if "." in word:
        meant = f"report {visible(word)}, of a table, or audit {visible(word)}, of scores"
    elif statistic and not near:
        meant = f"report FILE --statistic {statistic[0]}"
    hint = f": did you mean {meant}? The" if meant else "; the"
    return f"there is no command {word!r}{hint} commands are {', '.join(_COMMANDS)}"


def _refuse(commands: Any, name: str, message: str) -> None:
    """Say what is wrong with a command, for any arguments."""

    def run_refused(_options: argparse.Namespace) -> NoReturn:
        raise ValueError(message)

    parser = commands.add_parser(name, prefix_chars="\0", add_help=False)
    parser.add_argument("words", nargs="*")
    parser.set_defaults(run=run_refused)
