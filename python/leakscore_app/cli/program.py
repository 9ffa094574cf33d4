"""What the programs of this project share: errors of one line, and the exit codes."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import re
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from leakscore_app._visible import nearest, visible
from leakscore_app.tables import outputs
from leakscore_app.tables.doubts import option

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
        message = self._plain(message)
        self.exit(1, f"{self.prog}: error: {_shortened(message)} (see {self.prog} --help)\n")

    def parse_args(self, *args: Any) -> Any:  # type: ignore[override]
        """Refuse what the command does not know, before what it misses is asked for."""
        given = list(sys.argv[1:] if not args or args[0] is None else args[0])
        command = self._command(given)
        for word in itertools.takewhile(lambda word: word != "--", given):
            name = word.partition("=")[0]
            if re.match("--?[A-Za-z]", name) and " " not in name:
                command._require(name)
        options, others = self.parse_known_args(given)
        if others:
            known = command._option_string_actions
            ending = f"--{others[0].rpartition('.')[2]}"  # of a file to be written
            option = next((each for each in (ending, "--columns") if each in known), "")
            so = option and f", as {option} {others[0]}"
            command.error(f"{' '.join(others)!r} must follow the option that it is for{so}")
        return options

    def _command(self, given: Sequence[str]) -> Parser:
        """Return the parser of the command that the arguments name; itself without one."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and given:
                named: Parser = action.choices.get(given[0], self)
                return named
        return self

    def _require(self, name: str) -> None:
        options = self._option_string_actions
        if options and not any(option.startswith(name) for option in options):
            near = _meant(name, options)
            self.error(f"there is no option {name}{near and f'; did you mean {near}?'}")

    def _plain(self, message: str) -> str:
        """Return an error of argparse with what is to be written."""
        for name in re.findall("--[a-z-]+", message):
            action = self._option_string_actions.get(name)
            if action is None:
                continue
            values = "|".join(map(str, action.choices or [action.metavar]))
            if message.startswith("the following"):
                message = re.sub(rf"{name}(?![a-z-])", f"{name} {values}", message)
            message = message.replace("expected one argument", f"a value is missing: {values}")
            given = re.search(r"invalid choice: (.*?) \(choose from", message)
            if given is not None:
                more = [each for each in self._option_string_actions if f"{name}-" in each]
                word = given[1].strip("'").lower()
                near = nearest(_SYNONYMS.get(word, word), action.choices or ())
                near = near or (f"or did you mean {more[0]}?" if more else "")
                message = (
                    f"{name} must be one of {', '.join(action.choices or ())}, not {given[1]}"
                    f"{near and f'; {near}'}"
                )
        message = message.replace(": invalid int value: ", " must be a whole number, not ")
        return message.replace(": invalid float value: ", " must be a number, not ")


_SYNONYMS = {"sigma": "noise", "steps": "epochs", "sample": "batch", "alpha": "confidence"}
_SYNONYMS |= {"top": "worst", "eps": "epsilon", "ols": "regression", "logit": "glm"}
_SYNONYMS |= {"limit": "advantage", "n": "records", "target": "member", "logistic": "glm"}


def _meant(name: str, options: Mapping[str, argparse.Action]) -> str:
    """Return the options that share a word or their initials with a name, or else the nearest."""
    words = set(name.strip("-").replace("_", "-").split("-"))
    if words & {"o", "out", "output"}:  # every one that takes the path of a file to be written
        return " or ".join(option for option, each in options.items() if each.metavar == "PATH")
    parts = {option: option.strip("-").split("-") for option in options}
    if words.isdisjoint(itertools.chain(*parts.values())):
        words |= {_SYNONYMS[word] for word in words & set(_SYNONYMS)}
    shared = {option: len(words.intersection(each)) for option, each in parts.items()}
    most = max(shared.values())
    near = [option for option in options if shared[option] == most > 0]
    near += [o for o, each in parts.items() if each[1:] and "".join(w[:1] for w in each) in words]
    near += [option for option in options if re.fullmatch(r"-[a-z]", name) and option[1:3] == name]
    near = list(dict.fromkeys(near))
    return " or ".join(near[:3]) or " or ".join(get_close_matches(name, options, 1))


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
    try:
        return int(options.run(options))
    except (TypeError, ValueError) as error:
        raise ValueError(_in_options(str(error), vars(options))) from error


def _in_options(message: str, options: Mapping[str, Any]) -> str:
    """Name in an error the command's options instead of arguments of functions."""
    for name in (name for name, value in options.items() if not callable(value)):
        spelt = f"--{name.replace('_', '-')}"
        value = r"\[[^\]]*\]|\([^)]*\)|'[^']*'|[^\s,;:]+"
        pattern = rf"(?<![\w.-]){name}=({value})"
        while match := re.search(pattern, message):
            written = f"{spelt} {_plain(match[1])}"
            message = message[: match.start()] + written + message[match.end() :]
        if "_" in name:
            message = re.sub(rf"(?<![\w.-]){name}(?!\w)", spelt, message)
    chosen = re.search(r"'([^']*)' must be one of \(?([^();]*)\)?", message)
    if chosen and (near := nearest(chosen[1], chosen[2].replace("'", "").split(", "))):
        message = f"{message[: chosen.end()]} ({near}){message[chosen.end() :]}"
    message = re.sub(r"leave out '([^']*)'", lambda name: _left_out(name[1], options), message)
    message = re.sub(r"\bweights \('([^']*)'\)", r"--weights '\1'", message)
    category = ", a category out of --factors" if options.get("factors") else ""
    one_less = "leave one of them out"
    return message.replace(one_less, f"{one_less} with --exclude{category}")


def _left_out(name: str, options: Mapping[str, Any]) -> str:
    """Say which option leaves out a column, or that of which it is a category."""
    source = name.partition("=")[0]
    if source in (options.get("factors") or ()):
        return f"leave {source!r} out of --factors"
    of_shares = source in (options.get("proportions") or ())
    return f"leave the column out ({option('--exclude', source if of_shares else name)})"


def _plain(value: str) -> str:
    """Return a value as it stands on a command line: lists without brackets."""
    return re.sub(r",\s*", ",", value.strip("[]()")).rstrip(",")


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
