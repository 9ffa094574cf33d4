"""``leakscore risk``: its options, and what they do."""

from __future__ import annotations

import argparse
from typing import Any

from leakscore_app.cli import _shared as _cli

_EPILOG = """\
files
  an npz with scores (S, N), an attack's scores of N records in S target models
  (or (A, S, N), of A attacks), and included (S, N), 1 where a model was trained
  on a record; it may have any name of a column of members that leakscore audit
  knows (member, membership, memberships, is_member, train, in_train, is_train,
  true_labels, true_membership, individual.member). Or with the outputs of K
  shadow models: signals (K, N[, A]), logit margins, or logits (K, N, C) and
  labels (N), and included (K, N) by this name; each model is the target of the
  others, complementary pairs left out together. prediction (N) may say what was
  expected of each record, larger for more at risk. Nothing is ever unpickled.

exit codes
  0  done; with --check: no record is certified, which does not show privacy
  1  an error: nothing was judged
  2  with --check: a record is certified
  3  with --check, inconclusive: no record could have been certified, as there are
     too few models, or all scores are equal or reversed
"""


def add_risk(commands: Any) -> None:
    """Add the command to the program."""
    parser = commands.add_parser(
        "risk",
        help="which records an attack finds: a table of records from its scores in many models",
        description=(
            "Judge every record by its scores in many target models: how far being in moves\n"
            "them, in what share of the models it is found, and which records are certified\n"
            "to be found, all at once."
        ),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_risk)
    parser.add_argument("file", metavar="FILE", help="the scores (- reads standard input)")
    _add_judging(parser.add_argument_group("how records are judged"))
    group = parser.add_argument_group("reading the file")
    _cli.add_models(group)
    _cli.add_memory(group)
    group = parser.add_argument_group("the output")
    add = _cli.adder(group)
    add("--worst K", "records that are listed", 20)
    add("--order-by A", "of scores of several attacks, which puts the records in order, from 0", 0)
    _cli.add_outputs(group)
    add("--check", "the exit code says whether a record is certified")


def _add_judging(group: Any) -> None:
    add = _cli.adder(group)
    share = _cli.converted(_between, "is not a number in (0, 1)")
    add(
        "--false-positive-rate P",
        "of the attack's common threshold, over all records",
        0.01,
        type=share,
    )
    add(
        "--least-power P",
        "a record is certified if it is found in more than this share of the models that were "
        "trained on it",
        0.5,
        type=share,
    )
    add(
        "--confidence C",
        "of each interval, and of all certified records together",
        0.95,
        type=share,
    )
    add(
        "--delta D",
        "certify a lower bound on each record's epsilon at this delta, too, all at once",
        type=float,
    )


def _between(text: str) -> float:
    if not 0.0 < (value := float(text)) < 1.0:
        raise ValueError
    return value


def _risk(options: argparse.Namespace) -> int:
    from leakscore_app.audits.risk import judge, read

    _cli.require_writable(options, options.file)
    report = judge(
        read(options.file, **_cli.given(options, "attack", "few_records", "max_memory")),
        fpr=options.false_positive_rate,
        **_cli.given(options, "least_power", "confidence", "delta", "worst", "order_by"),
    )
    _cli.deliver_verdict(report, options)
    if not options.check:
        return 0
    return 2 if report.n_certified else 3 if report.inconclusive else 0
