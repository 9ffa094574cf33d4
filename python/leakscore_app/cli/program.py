"""The command line: ``leakscore report``, ``audit``, ``risk``, ``ask`` and the other commands.

The program finds the command that is named, and reports errors in one line. What the commands share
is here, too: how options are added and read, how results are printed and written.

Exit codes: 0 done, 1 an error (one line on standard error), 130 interrupted; for ``audit`` also 2
if the claim is refuted, and 3 if these scores could not refute it; for ``audit-synthetic`` 2 if a
leak is shown, and 3 if none could be; for ``risk --check`` also 2 if
a record is certified, and 3 if none could have been; for ``ask`` 2 if the question is refused.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from inspect import signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import leakscore
from leakscore_app._visible import nearest, visible
from leakscore_app.tables import files, outputs
from leakscore_app.tables.cells import ReadingOptions, names_in
from leakscore_app.tables.doubts import option

if TYPE_CHECKING:
    from leakscore_app.document.document import Findings

_COMMANDS = {
    "report": "_report",
    "audit": "_audit",
    "audit-synthetic": "_audit",
    "risk": "_audit",
    "ask": "_ask",
    "epsilon": "_epsilon",
}
"""The modules of the commands: loaded when they are named."""

CODES = {"consistent": 0, "refuted": 2, "cannot-tell": 3}
"""Exit codes of verdicts on a claim."""

_EXPECTED = (ValueError, OSError, ImportError, MemoryError, RuntimeError)
_LONGEST = 2000  # characters of a message
_OUTPUTS = ("json", "html", "sarif", "junit", "csv")
_SECONDS = 5.0  # between lines on how far the work is

_Value = TypeVar("_Value")


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
        getattr(_module_of(each), f"add_{each.replace('-', '_')}")(commands)
    if command is None and argv and not argv[0].startswith("-"):
        _refuse(commands, argv[0], _no_command(argv[0]))
    return parser


def _module_of(command: str) -> Any:
    return import_module(f"leakscore_app.cli.{_COMMANDS[command]}")


def _no_command(word: str) -> str:
    """Say which command was meant: by its letters, a statistic, or a file in its place."""
    near = get_close_matches(word, _COMMANDS, 1, 0.75)
    statistic = get_close_matches(word, _module_of("report").STATISTICS, 1, 0.8)
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
    value = r"\[[^\]]*\]|\([^)]*\)|'[^']*'|[^\s,;:]+"
    for name in (name for name, value in options.items() if not callable(value)):
        written, spelt = rf"(?<![\w.-]){name}", f"--{name.replace('_', '-')}"
        message = re.sub(f"{written}=({value})", partial(_typed, spelt), message)
        if "_" in name:
            message = re.sub(rf"{written}(?!\w)", spelt, message)
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


def _typed(spelt: str, argument: re.Match[str]) -> str:
    """Return an option and its value as they are typed: lists without brackets."""
    value = re.sub(r",\s*", ",", argument[1].strip("[]()")).rstrip(",")
    return f"{spelt} {value}"


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


def converted(read: Callable[[str], _Value], why: str = "") -> Callable[[str], _Value]:
    """Return a type of arguments: what `read` refuses is an error that says why."""

    def convert(text: str) -> _Value:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r} {why}" if why else str(error)) from None

    return convert


names = converted(names_in)
"""Split a list of names: one line of csv."""


def counts(text: str) -> list[int]:
    """Split a list of whole numbers at its commas."""
    return [int(part) for part in text.split(",")]


def _character(text: str) -> str:
    """Return a delimiter; a tab and runs of spaces are spelled out."""
    text = {"tab": "\t", "\\t": "\t", " ": "space"}.get(text, text)
    if text != "space" and len(text) != 1:
        raise ValueError
    return text


def adder(group: Any) -> Callable[..., None]:
    """Return what adds options to a group, each spelt as its help shows it: "--delta D".

    Without a value it is a flag; "a|b" are choices. A number by default says what type the value
    is, and stands behind the text.
    """

    def add(spelt: str, text: str, default: Any = None, **more: Any) -> None:
        name, _, value = spelt.partition(" ")
        if "|" in value:
            more["choices"] = tuple(value.split("|"))
        elif value:
            more["metavar"] = value
        else:
            more["action"] = "store_true"
        if isinstance(default, int | float):
            more = {"type": type(default), **more}
            text = f"{text} ({default:g})".replace("e-0", "e-").lstrip()
        if default is not None:
            more["default"] = default
        group.add_argument(name, help=text, **more)

    return add


def add_names(group: Any, option: str, text: str) -> None:
    """Add an option for a list of names, which may be given several times."""
    group.add_argument(option, type=names, action="extend", metavar="A,B,...", help=text)


def add_reading(parser: Any) -> None:
    """Add the options for how a file is read, which is found out where they are not given."""
    group = parser.add_argument_group(
        "reading the file", "What is not given is found out; where it cannot be, nothing is judged."
    )
    add = adder(group)
    add(
        "--delimiter C",
        "between cells: a character, tab or space",
        type=converted(_character, "is neither one character nor tab nor space"),
    )
    add("--decimal MARK", "the decimal mark", choices=(".", ","))
    add(
        "--thousands MARK",
        "the mark between thousands: , . ' or a space; or none",
        choices=(",", ".", "'", " ", "none"),
    )
    add("--encoding NAME", "of a text: utf-8, cp1252, ...")
    _add_parts(group)
    _add_meaning(group)
    add_memory(group)


def add_models(group: Any) -> None:
    """Add the options for archives of the outputs of shadow models."""
    add = adder(group)
    add(
        "--attack choose|base|one-step|paired|bayes|lira",
        "by which to score the outputs of shadow models, see below (choose: the best of base, "
        "one-step and paired on shadow models that are left out)",
    )
    add(
        "--few-records",
        "there are fewer records than models, which otherwise is refused as transposed",
    )


def _add_parts(group: Any) -> None:
    """Add the options for which part of a file is the table."""
    add = adder(group)
    add("--header auto|yes|no", "whether the first line names the columns", default="auto")
    add("--skip-lines K", "leave out the first K lines", 0)
    add(
        "--skip-last K",
        "leave out the last K records; 0: keep a last one that is the others' sum or mean",
        type=int,
    )
    add("--sheet NAME", "which sheet of a workbook")
    add("--key NAME", "which array or file of an archive")


def _add_meaning(group: Any) -> None:
    """Add the options for what cells and columns mean."""
    add = adder(group)
    add_names(
        group,
        "--missing-values",
        "what stands for a missing value, -999 for example; none: every number is a value",
    )
    add(
        "--bad-cells refuse|missing",
        "what to do where cells of a column of numbers are no numbers (default: refuse)",
        default="refuse",
    )
    add("--id COLUMN", "tells who a record belongs to; it is not published")
    add_names(group, "--proportions", "columns of categories: the share of each one is published")


def given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return options by name, as arguments of functions that call them so."""
    return {name: getattr(options, name) for name in names}


def arguments(options: argparse.Namespace, function: Callable[..., Any]) -> dict[str, Any]:
    """Return the options that a function takes by their names."""
    return given(options, *(name for name in signature(function).parameters if name in options))


def reading(
    options: argparse.Namespace, refused: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """Return what `add_reading` was told; options that are `refused` have another remedy here."""
    for name, remedy in refused.items():
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} means nothing here: {remedy}")
    names = {field.name for field in fields(ReadingOptions)} & vars(options).keys()
    return given(options, *(names - {"columns", "exclude", *refused}))


def add_outputs(group: Any, quiet: str = "no text") -> None:
    """Add the options for the files of the numbers and the page, and for no text."""
    add = adder(group)
    add("--json PATH", "write all numbers as JSON (- for stdout)")
    add("--html PATH", "write one self-contained page (- for stdout)")
    add("--quiet", quiet)


def add_memory(group: Any) -> None:
    """Add the option for the memory that an input may take."""
    group.add_argument(
        "--max-memory",
        type=converted(files.parse_size),
        default=files.MAX_MEMORY,
        metavar="SIZE",
        help="bytes that a file that is read at once, and what it unpacks to, may take: 500M, 4G "
        "(default: 1G); long csv, parquet and npy files are read block by block",
    )


def require_writable(options: argparse.Namespace, *read: str | None) -> None:
    """Refuse, before the work, outputs that cannot be written or are one of the files `read`."""
    for name in _OUTPUTS:
        if name in options:
            setattr(options, name, outputs.destination(getattr(options, name)))
    outputs.require_writable(*_written(options), read=read, printed=prints_text(options))


def prints_text(options: argparse.Namespace) -> bool:
    """Whether the text goes to the standard output: nothing else does, and it was not declined."""
    return not options.quiet and outputs.STANDARD_OUTPUT not in _written(options)


def _written(options: argparse.Namespace) -> list[str | None]:
    return [getattr(options, name, None) for name in _OUTPUTS]


def deliver_verdict(findings: Findings, options: argparse.Namespace) -> None:
    """Warn of what is doubtful, then `deliver`; the exit code holds even if nobody reads it all."""
    for doubt in findings.doubts:
        print(f"leakscore: warning: {doubt.message}", file=sys.stderr)
    try:
        deliver(findings, options)
    except BrokenPipeError:
        outputs.abandon_output()


def deliver(result: Findings, options: argparse.Namespace) -> None:
    """Print the text and write the requested files."""
    if prints_text(options):
        terminal = sys.stdout is not None and sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if terminal else 80
        outputs.write(outputs.STANDARD_OUTPUT, result.to_text(min(width, 100)))
    if options.json is not None:
        outputs.write(options.json, result.to_json() + "\n")
    if options.html is not None:
        outputs.write(options.html, result.to_html())


@contextlib.contextmanager
def progress(quiet: bool, always: bool = False) -> Iterator[Callable[[str, float], None] | None]:
    """Show how far the work is on standard error: on a terminal, or `always`.

    On a terminal it is a bar, if tqdm is installed; elsewhere a line at most every five seconds.
    """
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if quiet or sys.stderr is None or not (terminal or always):
        yield None
        return
    try:
        if not terminal:
            raise ImportError
        from tqdm import tqdm
    except ImportError:
        yield _lines() if always else None
        return
    layout = "{percentage:3.0f} % |{bar:20}| {desc}"
    with tqdm(total=1.0, bar_format=layout, leave=False, file=sys.stderr) as bar:

        def show(step: str, done: float) -> None:
            bar.set_description_str(step, refresh=False)
            bar.update(done - bar.n)
            bar.refresh()

        yield show


def _lines() -> Callable[[str, float], None]:
    """Return what prints a step, if the last one was printed some seconds ago."""
    last = -_SECONDS

    def show(step: str, done: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS:
            last = now
            print(f"{100 * done:3.0f} % {step}", file=sys.stderr, flush=True)

    return show
