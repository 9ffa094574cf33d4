"""``leakscore audit``: its options, and what they do."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from leakscore.cli import _shared as _cli
from leakscore.tables import outputs

if TYPE_CHECKING:
    from leakscore.audit_file.model import Claim

_EXIT_CODES = {"consistent": 0, "refuted": 2, "cannot-tell": 3}

_EPILOG = """\
exit codes
  0  the claim is consistent with the scores (which does not prove it), or there
     is none
  1  an error: nothing was judged
  2  the claim is refuted
  3  inconclusive: so few scores could not refute it even if they were separated
     perfectly; or, with a claim or without, all scores are equal: no evidence

methods
  weighted-ell (the default: the tightest where the attack is strong), ell,
  berk-jones, bonferroni, ks, dkw, dkw-two-sided; sorted-bits (experimental,
  needs --random-bits); split and credible (at one threshold; credible is no
  confidence bound)

files
  csv, npz, npy, parquet, JSON, workbooks and more; nothing is ever unpickled
  columns score and member (1 and 0, true and false, yes and no, in and out,
  member and non-member), a row a round; or members and nonmembers; or edges,
  member_counts and nonmember_counts, the edges from -inf to inf ("inf" in JSON)
  or with below and above: how many members and non-members score outside
  Privacy Meter's npz archives and LeakPro's JSON are read as they are

A lower bound does not show privacy. It is about this attack and this canary,
and its confidence is that of independent rounds.
"""


def add_audit(commands: Any) -> None:
    """Add the command to the program."""
    parser = commands.add_parser(
        "audit",
        help="what attack scores certify: a lower bound on epsilon, and the verdict on a claim",
        description=(
            "Certify a lower bound on the epsilon of a mechanism from the scores of a\n"
            "membership attack, and test a claim with it."
        ),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_audit)
    parser.add_argument("file", metavar="FILE", help="the scores (- reads standard input)")
    _add_claim_options(parser.add_argument_group("the claim and the bound"))
    _add_file_options(parser.add_argument_group("the file"))
    _cli.add_reading(parser)
    _add_setting_options(parser.add_argument_group("what the file does not say"))
    group = parser.add_argument_group("the output")
    _cli.add_outputs(group)
    group.add_argument("--quiet", action="store_true", help="no text: the exit code says it")


def _add_claim_options(group: Any) -> None:
    claim = group.add_mutually_exclusive_group()
    claim.add_argument(
        "--claimed-epsilon", type=float, metavar="E", help="the claim is (E, D)-DP, D of --delta"
    )
    claim.add_argument("--claimed-mu", type=float, metavar="MU", help="the claim is MU-GDP")
    group.add_argument(
        "--delta",
        type=_deltas,
        default=[1e-5],
        metavar="D[,D...]",
        help="of the bounds; the first is that of the claim (1e-5)",
    )
    group.add_argument(
        "--confidence", type=float, default=0.95, metavar="C", help="of every bound (0.95)"
    )
    group.add_argument(
        "--method", metavar="M", help="of the bound, chosen before the scores are seen: see below"
    )
    group.add_argument(
        "--threshold",
        type=float,
        metavar="T",
        help='one that was fixed before the scores were seen, for the methods "split" and '
        '"credible"',
    )
    group.add_argument(
        "--orientation",
        choices=("high", "both"),
        default="high",
        help="both: try tests that flag low scores, too, and pay for it",
    )
    group.add_argument(
        "--only-method", action="store_true", help="no other methods for comparison: quicker"
    )


def _add_file_options(group: Any) -> None:
    group.add_argument("--score", metavar="COLUMN", help="the scores")
    group.add_argument("--member", metavar="COLUMN", help="the memberships")
    group.add_argument(
        "--nonmembers",
        metavar="FILE",
        help="the non-members' scores; the other file holds the members'",
    )
    direction = group.add_mutually_exclusive_group()
    direction.add_argument(
        "--lower-is-member",
        action="store_true",
        default=None,
        help="small scores mean a member (losses, distances); decide it before you see them",
    )
    direction.add_argument(
        "--higher-is-member",
        action="store_false",
        dest="lower_is_member",
        help="large scores mean a member: the default; required for a column that its name calls a "
        "loss",
    )


def _add_setting_options(group: Any) -> None:
    group.add_argument(
        "--neighbours",
        choices=("replace", "add-remove"),
        help="what rounds without the record hold instead: another record, or none. The bound and "
        "the claim are about this relation",
    )
    group.add_argument("--threat-model", metavar="TEXT", help="what the attacker sees and knows")
    group.add_argument(
        "--random-bits",
        action="store_true",
        help="the memberships were fair coins, each score a function of its own round: allows "
        "methods that need it",
    )
    group.add_argument("--seed", type=int, default=0, metavar="S", help="of the order of ties (0)")


def _deltas(text: str) -> list[float]:
    try:
        deltas = [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers") from None
    if not all(0 <= delta < 1 for delta in deltas):
        raise argparse.ArgumentTypeError(f"{text!r} is not in [0, 1)")
    return deltas


def _claim(options: argparse.Namespace) -> Claim | None:
    from leakscore.audit_file.model import Claim

    if options.claimed_mu is not None:
        return Claim(mu=options.claimed_mu)
    if options.claimed_epsilon is not None:
        return Claim(options.claimed_epsilon, options.delta[0])
    return None


def _audit(options: argparse.Namespace) -> int:
    from leakscore.audit_file.judge import judge
    from leakscore.audit_file.model import Setting
    from leakscore.audit_file.scores import read_scores
    from leakscore.audit_file.words import doubts
    from leakscore.tables.cells import Options

    _cli.require_writable(options, options.file, options.nonmembers)
    read = read_scores(
        options.file,
        nonmembers=options.nonmembers,
        score=options.score,
        member=options.member,
        options=Options(**_cli.reading(options)),
        max_memory=options.max_memory,
    )
    findings = judge(
        read,
        deltas=options.delta,
        confidence=options.confidence,
        method=options.method,
        orientation=options.orientation,
        all_methods=not options.only_method,
        claim=_claim(options),
        setting=Setting(
            neighbours=options.neighbours,
            threat_model=options.threat_model,
            random_bits=options.random_bits,
            seed=options.seed,
            threshold=options.threshold,
        ),
        lower_is_member=options.lower_is_member,
    )
    code = 0 if findings.verdict is None else _EXIT_CODES[findings.verdict.verdict]
    if findings.constant:
        code = _EXIT_CODES["cannot-tell"]
    for doubt in doubts(findings):
        print(f"leakscore: warning: {doubt.message}", file=sys.stderr)
    try:
        _cli.deliver(findings, options)
    except BrokenPipeError:  # the verdict holds even if nobody reads the rest
        outputs.abandon_output()
    return code
