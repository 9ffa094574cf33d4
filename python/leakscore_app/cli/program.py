"""The command line: ``leakscore report``, ``audit``, ``risk``, ``ask`` and the other commands.

The program runs the named command and reports an error in one line. The functions that commands
share are here, too: they add and read options, print results and write files.

Exit codes: 0 done, 1 an error (one line on standard error), 130 interrupted. ``audit`` also returns
2 if the claim is refuted and 3 if these scores could not refute it; ``audit-synthetic`` 2 if a leak
is shown and 3 if none could be; ``risk --check`` 2 if a record is certified and 3 if none could be;
``ask`` 2 if the question is refused.
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
"""The module of each command, loaded when the command is named."""

CODES = {"consistent": 0, "refuted": 2, "cannot-tell": 3}
"""Exit codes of verdicts on a claim."""

_REPORTED_ERRORS = (ValueError, OSError, ImportError, MemoryError, RuntimeError)
_MAX_LENGTH = 2000  # characters of a message
_OUTPUTS = ("json", "html", "sarif", "junit", "csv")
_SECONDS = 5.0  # between two lines of progress, at least

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
        0 done, 1 error, 130 interrupted. ``audit``: 2 claim refuted, 3 claim out of reach.
        ``audit-synthetic``: 2 leak shown, 3 inconclusive. ``report --check``: 0 publish, 2 publish
        with noise, 3 do not publish, 4 publish only if no two records are of one person.
        ``risk --check``: 2 a record is certified, 3 none could be. ``ask``: 2 refused.

    Examples
    --------
    >>> from leakscore_app.cli import main
    >>> main(["--version"])  # doctest: +ELLIPSIS
    leakscore ...
    0
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] == "help":  # "help report" is "report --help"
        words = [*words[1:2], "--help"]
    return run(_parser(words), words)


def _parser(argv: Sequence[str]) -> Parser:
    """Return the parser of the command that the arguments name, or of all commands."""
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
        _add_refused(commands, argv[0], _unknown_command(argv[0]))
    return parser


def _module_of(command: str) -> Any:
    return import_module(f"leakscore_app.cli.{_COMMANDS[command]}")


def _unknown_command(word: str) -> str:
    """Return the message for an unknown command, with a guess: a typo, a statistic, a file."""
    near = get_close_matches(word, _COMMANDS, 1, 0.75)
    statistic = get_close_matches(word, _module_of("report").STATISTICS, 1, 0.8)
    guess = near[0] if near else ""
    if "." in word:
        guess = f"report {visible(word)}, of a table, or audit {visible(word)}, of scores"
    elif statistic and not near:
        guess = f"report FILE --statistic {statistic[0]}"
    hint = f": did you mean {guess}? The" if guess else "; the"
    return f"there is no command {word!r}{hint} commands are {', '.join(_COMMANDS)}"


def _add_refused(commands: Any, name: str, message: str) -> None:
    """Add a command that fails with a message, whatever its arguments."""

    def run_refused(_options: argparse.Namespace) -> NoReturn:
        raise ValueError(message)

    parser = commands.add_parser(name, prefix_chars="\0", add_help=False)
    parser.add_argument("words", nargs="*")
    parser.set_defaults(run=run_refused)


def run(parser: Parser, argv: Sequence[str] | None) -> int:
    """Run the command that the arguments name: the function that its parser has set as `run`.

    Returns the exit code of the command, 1 after an error, which is reported in one line, or 130
    after an interruption.
    """
    try:
        code = _run(parser, argv)
        outputs.flush()  # a full disk is an error, after --help, too
        return code
    except BrokenPipeError:
        outputs.abandon_output()
        return 0
    except KeyboardInterrupt:
        _print_error(parser.prog, "interrupted")
        return 130
    except _REPORTED_ERRORS as error:
        if isinstance(error, OSError) and error.filename is None:
            outputs.abandon_output()
        _print_error(parser.prog, f"error: {_error_line(error)}")
        return 1


def _run(parser: Parser, argv: Sequence[str] | None) -> int:
    try:
        options = parser.parse_args(argv)
    except SystemExit as stop:  # argparse: --help, --version, a wrong argument
        return stop.code if isinstance(stop.code, int) else 1
    try:
        return int(options.run(options))
    except (TypeError, ValueError) as error:
        raise ValueError(_with_option_names(str(error), vars(options))) from error


def _with_option_names(message: str, options: Mapping[str, Any]) -> str:
    """Return an error that names options of the command instead of arguments of functions."""
    value = r"\[[^\]]*\]|\([^)]*\)|'[^']*'|[^\s,;:]+"
    for name in (name for name, value in options.items() if not callable(value)):
        argument, option_name = rf"(?<![\w.-]){name}", f"--{name.replace('_', '-')}"
        message = re.sub(f"{argument}=({value})", partial(_option_text, option_name), message)
        if "_" in name:
            message = re.sub(rf"{argument}(?!\w)", option_name, message)
    chosen = re.search(r"'([^']*)' must be one of \(?([^();]*)\)?", message)
    if chosen and (near := nearest(chosen[1], chosen[2].replace("'", "").split(", "))):
        message = f"{message[: chosen.end()]} ({near}){message[chosen.end() :]}"
    message = re.sub(r"leave out '([^']*)'", lambda name: _exclusion(name[1], options), message)
    message = re.sub(r"\bweights \('([^']*)'\)", r"--weights '\1'", message)
    category = ", a category out of --factors" if options.get("factors") else ""
    one_less = "leave one of them out"
    return message.replace(one_less, f"{one_less} with --exclude{category}")


def _exclusion(name: str, options: Mapping[str, Any]) -> str:
    """Return which option leaves out a column, or the column that has it as a category."""
    source = name.partition("=")[0]
    if source in (options.get("factors") or ()):
        return f"leave {source!r} out of --factors"
    of_shares = source in (options.get("proportions") or ())
    return f"leave the column out ({option('--exclude', source if of_shares else name)})"


def _option_text(name: str, argument: re.Match[str]) -> str:
    """Return an option and its value as the user types them: lists without brackets."""
    value = re.sub(r",\s*", ",", argument[1].strip("[]()")).rstrip(",")
    return f"{name} {value}"


def _print_error(program: str, message: str) -> None:
    """Write one line to the standard error, if there is one."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(f"{program}: {message}", file=sys.stderr)


def _error_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{_shorten(str(error.filename))}: {error.strerror}"
    line = _shorten(" ".join(str(error).split()))
    if isinstance(error, MemoryError):
        return f"too little memory: {line}" if line else "too little memory"
    return line or type(error).__name__


def _shorten(message: str) -> str:
    """Return a message on one line, cut to a readable length."""
    shown = visible(message)
    return shown if len(shown) <= _MAX_LENGTH else f"{shown[:_MAX_LENGTH]} ..."


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line with exit code 1, as everywhere in this program.

    Values may begin with a minus, also in lists of numbers such as -999,-99.
    """

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        # A match is a value, not an option; the pattern of argparse fits single numbers only.
        self._negative_number_matcher = re.compile(r"-\.?[0-9]")

    def _print_message(self, message: str, file: Any = None) -> None:
        if message and file is sys.stdout:  # argparse does not report a full disk
            outputs.write(outputs.STANDARD_OUTPUT, message)
        else:
            super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        message = self._readable_error(message)
        self.exit(1, f"{self.prog}: error: {_shorten(message)} (see {self.prog} --help)\n")

    def parse_args(self, *args: Any) -> Any:  # type: ignore[override]
        """Parse arguments; report unknown options before missing ones."""
        words = list(sys.argv[1:] if not args or args[0] is None else args[0])
        command = self._command(words)
        for word in itertools.takewhile(lambda word: word != "--", words):
            name = word.partition("=")[0]
            if re.match("--?[A-Za-z]", name) and " " not in name:
                command._require_option(name)
        options, others = self.parse_known_args(words)
        if others:
            actions = command._option_string_actions
            ending = f"--{others[0].rpartition('.')[2]}"  # "page.html" may be meant for --html
            option = next((each for each in (ending, "--columns") if each in actions), "")
            example = option and f", as {option} {others[0]}"
            command.error(f"{' '.join(others)!r} must follow the option that it is for{example}")
        return options

    def _command(self, words: Sequence[str]) -> Parser:
        """Return the parser of the command that the arguments name; this one without a name."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and words:
                command: Parser = action.choices.get(words[0], self)
                return command
        return self

    def _require_option(self, name: str) -> None:
        options = self._option_string_actions
        if options and not any(option.startswith(name) for option in options):
            near = _similar_options(name, options)
            self.error(f"there is no option {name}{near and f'; did you mean {near}?'}")

    def _readable_error(self, message: str) -> str:
        """Return an error of argparse in plain words, with the values of its options."""
        for name in re.findall("--[a-z-]+", message):
            action = self._option_string_actions.get(name)
            if action is None:
                continue
            values = "|".join(map(str, action.choices or [action.metavar]))
            if message.startswith("the following"):
                message = re.sub(rf"{name}(?![a-z-])", f"{name} {values}", message)
            message = message.replace("expected one argument", f"a value is missing: {values}")
            choice = re.search(r"invalid choice: (.*?) \(choose from", message)
            if choice is not None:
                more = [each for each in self._option_string_actions if f"{name}-" in each]
                word = choice[1].strip("'").lower()
                near = nearest(_SYNONYMS.get(word, word), action.choices or ())
                near = near or (f"or did you mean {more[0]}?" if more else "")
                message = (
                    f"{name} must be one of {', '.join(action.choices or ())}, not {choice[1]}"
                    f"{near and f'; {near}'}"
                )
        message = message.replace(": invalid int value: ", " must be a whole number, not ")
        return message.replace(": invalid float value: ", " must be a number, not ")


_SYNONYMS = {"sigma": "noise", "steps": "epochs", "sample": "batch", "alpha": "confidence"}
_SYNONYMS |= {"top": "worst", "eps": "epsilon", "ols": "regression", "logit": "glm"}
_SYNONYMS |= {"limit": "advantage", "n": "records", "target": "member", "logistic": "glm"}


def _similar_options(name: str, options: Mapping[str, argparse.Action]) -> str:
    """Return options that share a word or their initials with a name, otherwise the nearest."""
    words = set(name.strip("-").replace("_", "-").split("-"))
    if words & {"o", "out", "output"}:  # all options for output files
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


def argument_type(read: Callable[[str], _Value], why: str = "") -> Callable[[str], _Value]:
    """Return a type for argparse: `read`, whose refusal becomes an error with the reason."""

    def convert(text: str) -> _Value:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r} {why}" if why else str(error)) from None

    return convert


names = argument_type(names_in)
"""Split a list of names: one line of csv."""


def counts(text: str) -> list[int]:
    """Split a list of whole numbers at its commas."""
    return [int(part) for part in text.split(",")]


def _read_delimiter(text: str) -> str:
    """Return a delimiter; "tab" is a tab, "space" stands for runs of spaces."""
    text = {"tab": "\t", "\\t": "\t", " ": "space"}.get(text, text)
    if text != "space" and len(text) != 1:
        raise ValueError
    return text


def option_adder(group: Any) -> Callable[..., None]:
    """Return a function that adds options to a group, written as in the help: "--delta D".

    Without a value the option is a flag; "a|b" are choices. A number as default sets the type of
    the value, and the help shows it.
    """

    def add(name_and_value: str, text: str, default: Any = None, **more: Any) -> None:
        name, _, value = name_and_value.partition(" ")
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
    """Add an option for a list of names; users may repeat it."""
    group.add_argument(option, type=names, action="extend", metavar="A,B,...", help=text)


def add_reading(parser: Any) -> None:
    """Add the options for reading a file; without them the reader decides by the content."""
    group = parser.add_argument_group(
        "reading the file", "What is not given is found out; where it cannot be, nothing is judged."
    )
    add = option_adder(group)
    add(
        "--delimiter C",
        "between cells: a character, tab or space",
        type=argument_type(_read_delimiter, "is neither one character nor tab nor space"),
    )
    add("--decimal MARK", "the decimal mark", choices=(".", ","))
    add(
        "--thousands MARK",
        "the mark between thousands: , . ' or a space; or none",
        choices=(",", ".", "'", " ", "none"),
    )
    add("--encoding NAME", "of a text: utf-8, cp1252, ...")
    _add_part_options(group)
    _add_cell_options(group)
    add_memory(group)


def add_models(group: Any) -> None:
    """Add the options for archives of the outputs of shadow models."""
    add = option_adder(group)
    add(
        "--attack choose|base|one-step|paired|bayes|lira",
        "by which to score the outputs of shadow models, see below (choose: the best of base, "
        "one-step and paired on shadow models that are left out)",
    )
    add(
        "--few-records",
        "there are fewer records than models, which otherwise is refused as transposed",
    )


def _add_part_options(group: Any) -> None:
    """Add the options that select the table in a file."""
    add = option_adder(group)
    add("--header auto|yes|no", "whether the first line names the columns", default="auto")
    add("--skip-lines K", "leave out the first K lines", 0)
    add(
        "--skip-last K",
        "leave out the last K records; 0: keep a last one that is the others' sum or mean",
        type=int,
    )
    add("--sheet NAME", "which sheet of a workbook")
    add("--key NAME", "which array or file of an archive")


def _add_cell_options(group: Any) -> None:
    """Add the options for the meaning of cells and columns."""
    add = option_adder(group)
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


def selected(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the values of options by name, as arguments for a function."""
    return {name: getattr(options, name) for name in names}


def arguments(options: argparse.Namespace, function: Callable[..., Any]) -> dict[str, Any]:
    """Return the values of the options that are parameters of a function."""
    return selected(options, *(name for name in signature(function).parameters if name in options))


def reading_options(
    options: argparse.Namespace, refused: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the options of `add_reading`; raise for `refused` ones, with their remedy."""
    for name, remedy in refused.items():
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} means nothing here: {remedy}")
    names = {field.name for field in fields(ReadingOptions)} & vars(options).keys()
    return selected(options, *(names - {"columns", "exclude", *refused}))


def add_outputs(group: Any, quiet: str = "no text") -> None:
    """Add the options for the JSON and the page, and the one for no text."""
    add = option_adder(group)
    add("--json PATH", "write all numbers as JSON (- for stdout)")
    add("--html PATH", "write one self-contained page (- for stdout)")
    add("--quiet", quiet)


def add_memory(group: Any) -> None:
    """Add the option for the memory that an input may take."""
    group.add_argument(
        "--max-memory",
        type=argument_type(files.parse_size),
        default=files.MAX_MEMORY,
        metavar="SIZE",
        help="bytes that a file that is read at once, and what it unpacks to, may take: 500M, 4G "
        "(default: 1G); long csv, parquet and npy files are read block by block",
    )


def require_writable(options: argparse.Namespace, *read: str | None) -> None:
    """Refuse outputs that cannot be written or are one of the files `read`, before the work."""
    for name in _OUTPUTS:
        if name in options:
            setattr(options, name, outputs.destination(getattr(options, name)))
    outputs.require_writable(*_output_paths(options), read=read, printed=prints_text(options))


def prints_text(options: argparse.Namespace) -> bool:
    """Whether to print the text: not with --quiet, nor if another output is printed."""
    return not options.quiet and outputs.STANDARD_OUTPUT not in _output_paths(options)


def _output_paths(options: argparse.Namespace) -> list[str | None]:
    return [getattr(options, name, None) for name in _OUTPUTS]


def deliver_verdict(findings: Findings, options: argparse.Namespace) -> None:
    """Print warnings, then `deliver`; a closed pipe does not change the exit code."""
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
    """Yield a function that shows progress on standard error: on a terminal, or `always`.

    A terminal shows a bar, if tqdm is installed. Elsewhere a line appears every five seconds at
    most. Yields None if progress is not shown.
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
        yield _progress_printer() if always else None
        return
    layout = "{percentage:3.0f} % |{bar:20}| {desc}"
    with tqdm(total=1.0, bar_format=layout, leave=False, file=sys.stderr) as bar:

        def show(step: str, done: float) -> None:
            bar.set_description_str(step, refresh=False)
            bar.update(done - bar.n)
            bar.refresh()

        yield show


def _progress_printer() -> Callable[[str, float], None]:
    """Return a function that prints a step, if the last one was printed some seconds ago."""
    last = -_SECONDS

    def show(step: str, done: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS:
            last = now
            print(f"{100 * done:3.0f} % {step}", file=sys.stderr, flush=True)

    return show
