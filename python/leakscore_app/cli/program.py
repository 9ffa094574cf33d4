"""What the programs of this project share: errors of one line, and the exit codes."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from leakscore_app._visible import nearest, visible
from leakscore_app.tables import outputs

_EXPECTED = (ValueError, OSError, ImportError, MemoryError, RuntimeError)
_LONGEST = 2000  # characters of a message


class Parser(argparse.ArgumentParser):
    """Errors are one line and exit code 1, as everywhere in this program.

    Values may begin with a minus, lists of numbers such as -999,-99 too.
    """

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        # argparse takes what matches for a value, not for an option; its own pattern is one number.
        self._negative_number_matcher = re.compile(r"-\.?[0-9]")

    def _print_message(self, message: str, file: Any = None) -> None:
        if message and file is sys.stdout:  # report a full disk, which argparse does not
            outputs.write(outputs.STANDARD_OUTPUT, message)
        else:
            super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        words = message.removeprefix("unrecognized arguments: ").split()
        if len(words) < len(message.split()) and words[0].startswith("--"):
            near = nearest(words[0].partition("=")[0], self._options())
            message += f"; {near}" if near else ""
        self.exit(1, f"{self.prog}: error: {_shortened(message)} (see {self.prog} --help)\n")

    def _options(self) -> set[str]:
        """Return the names of all options, those of the command too."""
        names = set(self._option_string_actions)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                names.update(*(parser._option_string_actions for parser in action.choices.values()))
        return names


def run(parser: Parser, argv: Sequence[str] | None) -> int:
    """Run the command that the arguments name: its parser has set `run` to the function.

    Returns its exit code; 1 after an error, reported in one line, and 130 after an interruption.
    """
    try:
        code = _run(parser, argv)
        outputs.flush()  # of --help, too
        return code
    except BrokenPipeError:
        outputs.abandon_output()
        return 0
    except KeyboardInterrupt:
        _tell(parser.prog, "interrupted")
        return 130
    except _EXPECTED as error:
        if isinstance(error, OSError) and error.filename is None:
            outputs.abandon_output()
        _tell(parser.prog, f"error: {_one_line(error)}")
        return 1


def _run(parser: Parser, argv: Sequence[str] | None) -> int:
    try:
        options = parser.parse_args(argv)
    except SystemExit as stop:  # argparse: --help, --version, a wrong argument
        return stop.code if isinstance(stop.code, int) else 1
    return int(options.run(options))


def _tell(program: str, message: str) -> None:
    """Write one line to the standard error, if there is one."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(f"{program}: {message}", file=sys.stderr)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{_shortened(str(error.filename))}: {error.strerror}"
    line = _shortened(" ".join(str(error).split()))
    if isinstance(error, MemoryError):
        return f"too little memory: {line}" if line else "too little memory"
    return line or type(error).__name__


def _shortened(message: str) -> str:
    """Return a message on one line, of a length that can be read."""
    shown = visible(message)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]} ..."
