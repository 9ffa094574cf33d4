"""``leakscore ask``: its options and its function."""

from __future__ import annotations

import argparse
from typing import Any

from leakscore_app.cli import program as _cli
from leakscore_app.tables import outputs

_EPILOG = """\
selections
  sex = F and age >= 40
  city in (Rome, 'New York') or not (smoker = yes)
  Columns are compared with numbers (= != < <= > >=) or words (= !=). Names and
  words with spaces or signs stand in quotes; what stands in quotes is text. A
  record whose value is missing is selected neither by a comparison nor by its
  negation, and is in no statistic of that column.

the ledger
  A file that the first question makes and every answer is added to. It belongs to
  one table, and is as secret. PATH.lock beside it keeps a second program out.
  What follows from earlier answers is free and has the same noise again.

the rule
  exact   the values decide. Whether an answer is refused can tell of them.
  public  the selections, --bounds and --reference decide, so a refusal tells
          nothing. Questions are about columns with bounds, selections by others.

exit codes
  0  answered; with --preview: would be
  1  an error: nothing was answered
  2  refused; with --preview: would be
"""

_REMEDIES = {
    "id": "records are judged one by one. If persons have several, ask about a table with one row "
    "for each person",
    "proportions": "count the records of a category by --where",
}


def add_ask(commands: Any) -> None:
    """Add the command to the program."""
    parser = commands.add_parser(
        "ask",
        help="answer questions about a table until they would tell too much together",
        description=(
            "Answer a count, a sum or a mean over selected records, with noise if it must be,\n"
            "or refuse it, by what all answers so far tell together of each record."
        ),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_ask)
    parser.add_argument("table", metavar="TABLE", help="a table of one record a row")
    group = parser.add_argument_group("the question")
    add = _cli.option_adder(group)
    add("--where TEXT", "which records, see below (all)")
    add("--statistic mean|sum|count", "(mean; without --columns count)")
    _cli.add_names(group, "--columns", "of these columns")
    add("--preview", "tell, and answer nothing")
    _add_ledger_options(parser.add_argument_group("the ledger, when it is begun"))
    _cli.add_reading(parser)
    _cli.add_outputs(parser.add_argument_group("the output"))


def _add_ledger_options(group: Any) -> None:
    add = _cli.option_adder(group)
    add("--ledger PATH", "of all answers so far", required=True)
    add("--max-advantage A", "limit for every record, in (0, 1) (0.2)", type=float)
    power = "in its place: the power of an attack with 1 %% false alarms"
    add("--max-power P", power, type=float)
    add("--epsilon E", "in their place: a Gaussian epsilon, with --delta", type=float)
    add("--delta D", "with --epsilon (1e-5)", type=float)
    noise = "the most noise of an answer, in its own standard errors (1)"
    add("--max-noise X", noise, type=float)
    share = "what part of what remains to a record an answer with noise may take (0.5)"
    add("--share S", share, type=float)
    add("--rule exact|public", "see below (public with --bounds, else exact)")
    add(
        "--bounds A=LOW:HIGH,...",
        "of secret columns, what everybody knows to be the least and greatest value",
        action="extend",
        type=_cli.argument_type(_read_bounds, "is not as income=0:500000"),
    )
    add(
        "--reference FILE",
        "with --bounds: a public table of other records with these columns, or uniform",
    )


def _read_bounds(text: str) -> list[tuple[str, tuple[float, float]]]:
    bounds = []
    for part in _cli.names(text):
        name, _, ends = part.rpartition("=")
        low, _, high = ends.partition(":")
        bounds.append((name, (float(low), float(high))))
    return bounds


def _ask(options: argparse.Namespace) -> int:
    from leakscore_app.questions.answering import Question, ask

    if options.table == "-" or options.ledger == "-":
        raise ValueError("the table and the ledger must be files")
    reading = _cli.reading_options(options, _REMEDIES)
    _cli.require_writable(options, options.table, options.ledger, options.reference)
    inputs = (options.table, options.reference)
    outputs.require_writable(options.ledger, f"{options.ledger}.lock", read=inputs)
    columns = tuple(options.columns or ())
    if len(set(columns)) < len(columns):
        raise ValueError("--columns names a column twice")
    statistic = options.statistic or ("mean" if columns else "count")
    if (statistic == "count") == bool(columns):
        raise ValueError(
            f"--statistic {statistic} {'has no' if columns else 'needs'} --columns A,B,..."
        )
    reply = ask(
        options.table,
        options.ledger,
        Question(options.where, statistic, columns),
        limits=_limits(options),
        preview=options.preview,
        reading=reading,
    )
    _cli.deliver(reply, options)
    return 2 if reply.refused else 0


def _limits(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options on the limit and the noise that the user set."""
    names = ["max_advantage", "max_power", "epsilon", "delta", "max_noise", "share"]
    names += ["rule", "reference"]
    limits = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if options.epsilon is not None:
        limits.setdefault("delta", 1e-5)
    elif options.delta is not None:
        raise ValueError("--delta belongs to --epsilon")
    if options.bounds is not None:
        limits["bounds"] = dict(options.bounds)
        if len(limits["bounds"]) < len(options.bounds):
            raise ValueError("--bounds names a column twice")
    return limits
