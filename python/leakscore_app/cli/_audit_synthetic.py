"""``leakscore audit-synthetic``: its options, and what they do."""

from __future__ import annotations

import argparse
from typing import Any

from leakscore_app.cli import _shared as _cli

_REFUSED = dict.fromkeys(("id", "proportions"), "--exclude or --categories does")

_EPILOG = """\
exit codes
  0  no leak is shown, which does not prove that there is none
  1  an error: nothing was judged
  2  the synthetic table shows who is in TRAIN
  3  inconclusive: TRAIN and HOLDOUT differ without the synthetic table, or all
     records have the same score

All tables have the same columns, a record a row, and at least 50 records, one of each
person. Columns of words are categories, one apart if they differ; numbers and dates
(2024-05-31) count in standard deviations, and a missing value is a value of its own.
"""


def add_audit_synthetic(commands: Any) -> None:
    """Add the command to the program."""
    parser = commands.add_parser(
        "audit-synthetic",
        help="whether a synthetic table shows which records its generator was trained on",
        description=(
            "Attack a synthetic table three ways, and tell whether it shows which records its "
            "generator was trained on."
        ),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_audit_synthetic)
    parser.add_argument("train", metavar="TRAIN", help="the records that were trained on")
    parser.add_argument("holdout", metavar="HOLDOUT", help="others of the same population")
    parser.add_argument("synthetic", metavar="SYNTH", help="the synthetic records")
    group = parser.add_argument_group("the tables")
    add = _cli.adder(group)
    add(
        "--reference OTHER",
        "more records of the population (default: half of HOLDOUT, which is not judged then)",
    )
    _cli.add_names(group, "--categories", "columns of numbers that are categories")
    _cli.add_names(group, "--columns", "look at these columns only")
    _cli.add_names(group, "--exclude", "do not look at these columns")
    add = _cli.adder(parser.add_argument_group("the verdict and the bounds"))
    add(
        "--confidence C",
        "a table that shows nothing is said to leak at most 1 - C of the time",
        0.95,
    )
    add("--delta D", "of the bounds on epsilon", 1e-5)
    add(
        "--random-bits",
        "a fair coin of its own put each record into TRAIN or HOLDOUT: certify a lower bound "
        "on the generator's epsilon; needs --reference",
    )
    add("--seed S", "of the halves", 0)
    _cli.add_reading(parser)
    _cli.add_outputs(parser.add_argument_group("the output"), "no text: the exit code says it")


def _audit_synthetic(options: argparse.Namespace) -> int:
    from leakscore_app.audits.synthetic import audit_synthetic

    paths = (options.train, options.holdout, options.synthetic, options.reference)
    if "-" in paths:
        raise ValueError("the tables must be files: TRAIN is read twice")
    reading = _cli.reading(options, _REFUSED)
    _cli.require_writable(options, *paths)
    names = ("reference", "columns", "delta", "confidence", "random_bits", "seed")
    given = _cli.given(options, *names)
    given |= {name: getattr(options, name) or () for name in ("categories", "exclude")}
    findings = audit_synthetic(
        options.train, options.holdout, options.synthetic, **given, reading=reading
    )
    _cli.deliver_verdict(findings, options)
    return _cli.CODES[findings.verdict]
