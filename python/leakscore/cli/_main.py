"""The command line: ``leakscore report``, ``leakscore audit`` and ``leakscore reproduce``.

Exit codes: 0 done, 1 an error (one line on standard error), for ``reproduce`` also a check that
failed, for ``audit`` 2 a claim that is refuted and 3 one that so few scores could not refute, 130
interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import leakscore
from leakscore import _outputs
from leakscore._cli_audit import add_audit
from leakscore._cli_report import add_report
from leakscore._cli_reproduce import add_reproduce
from leakscore._visible import visible

__all__ = ["main"]

_EXPECTED = (ValueError, OSError, ImportError, MemoryError, RuntimeError)
_LONGEST = 2000  # characters of a message


class _Parser(argparse.ArgumentParser):
    """Errors are one line and exit code 1, as everywhere in this program."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if message and file is sys.stdout:  # a full disk is told, which argparse does not
            _outputs.write(_outputs.STANDARD_OUTPUT, message)
        else:
            super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        self.exit(1, f"{self.prog}: error: {_shortened(message)} (see {self.prog} --help)\n")


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
        code = _run(argv)
        _outputs.flush()  # of --help, too
        return code
    except BrokenPipeError:
        _outputs.abandon_output()
        return 0
    except KeyboardInterrupt:
        _tell("interrupted")
        return 130
    except _EXPECTED as error:
        if isinstance(error, OSError) and error.filename is None:
            _outputs.abandon_output()
        _tell(f"error: {_one_line(error)}")
        return 1


def _run(argv: Sequence[str] | None) -> int:
    try:
        options = _parser().parse_args(argv)
    except SystemExit as stop:  # argparse: --help, --version, a wrong argument
        return stop.code if isinstance(stop.code, int) else 1
    return int(options.run(options))


def _tell(message: str) -> None:
    """Write one line to the standard error, if there is one."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(f"leakscore: {message}", file=sys.stderr)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{_shortened(str(error.filename))}: {error.strerror}"
    return _shortened(" ".join(str(error).split())) or type(error).__name__


def _shortened(message: str) -> str:
    """Return a message on one line, of a length that can be read."""
    shown = visible(message)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]} ..."


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
