"""The command line: ``leakscore report``, ``leakscore audit`` and ``leakscore reproduce``.

Exit codes: 0 done, 1 an error (one line on standard error), for ``reproduce`` also a check that
failed, for ``audit`` 2 a claim that is refuted and 3 one that so few scores could not refute, 130
interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

import leakscore
from leakscore._cli_audit import add_audit
from leakscore._cli_report import add_report
from leakscore._cli_reproduce import add_reproduce
from leakscore._cli_shared import abandon_output

__all__ = ["main"]

_EXPECTED = (ValueError, OSError, ImportError, MemoryError, RuntimeError)


class _Parser(argparse.ArgumentParser):
    """Errors are one line and exit code 1, as everywhere in this program."""

    def error(self, message: str) -> NoReturn:
        self.exit(1, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.

    Returns
    -------
    int
        0 done, 1 error or failed check, 2 claim refuted, 3 claim out of reach, 130 interrupted.

    Examples
    --------
    >>> from leakscore.cli import main
    >>> main(["--version"])  # doctest: +ELLIPSIS
    leakscore ...
    0
    """
    try:
        options = _parser().parse_args(argv)
        return int(options.run(options))
    except SystemExit as stop:  # argparse: --help, --version, a wrong argument
        return stop.code if isinstance(stop.code, int) else 1
    except BrokenPipeError:
        abandon_output()
        return 0
    except KeyboardInterrupt:
        return 130
    except _EXPECTED as error:
        print(f"leakscore: error: {_one_line(error)}", file=sys.stderr)
        return 1


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def _parser() -> _Parser:
    parser = _Parser(
        prog="leakscore",
        description="How surely can an attacker tell that a record was in the data?",
    )
    version = f"leakscore {leakscore.__version__}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    add_report(commands)
    add_audit(commands)
    add_reproduce(commands)
    return parser
