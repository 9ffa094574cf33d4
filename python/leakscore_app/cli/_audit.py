"""``leakscore audit``, ``audit-synthetic`` and ``risk``: their options and their functions."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leakscore_app.cli import program as _cli
from leakscore_app.tables import outputs

if TYPE_CHECKING:
    from leakscore_app.audits import Claim
    from leakscore_app.document import Check

_AUDIT_EPILOG = """\
exit codes
  0  the claim is consistent with the scores (which does not prove it), or there
     is none
  1  an error: nothing was judged
  2  the claim is refuted
  3  inconclusive: so few scores could not refute it even if they were separated
     perfectly; or members score lower than non-members, as if reversed; or,
     with a claim or without, all scores are equal, or there is none

methods
  four-outcomes (the default for one delta and up to 5,000 rounds, if delta
  times rounds is at most 0.1; takes up to 20,000), weighted-ell (the default
  otherwise, and with --claimed-mu), ell, berk-jones, bonferroni, ks, dkw,
  dkw-two-sided; sorted-bits (experimental, needs --random-bits); split and
  credible (at one threshold; credible is no confidence bound)

files
  csv, npz, npy, parquet, JSON, workbooks and more; nothing is ever unpickled
  columns score and member (1 and 0, true and false, yes and no, in and out,
  member and non-member), a row a round; or members and nonmembers; or edges,
  member_counts and nonmember_counts, the edges from -inf to inf ("inf" in JSON)
  or with below and above: how many members and non-members score outside
  Privacy Meter's and SACRO-ML's npz archives and LeakPro's JSON are read as
  they are

outputs of shadow models
  an npz with signals (K, N[, A]), logit margins of K models at N records, and
  included (K, N), 1 where a model was trained on a record; of the target
  observed ([S, ]N[, A]) and member (N) or (S, N). Or logits (K, N, C), labels
  (N) and observed_logits ([S, ]N, C). Without member each shadow model is the
  target of the others, complementary pairs left out together

looking at rounds as they come
  Every other audit fixes its number of rounds before a score is seen. With
  --watch the confidence holds however often one looks: rounds are read from a
  file that grows or from standard input until the claim is refuted (2), or none
  comes any more (0, or 3). --state PATH keeps what was counted, also when
  Ctrl-C ends the program (130).

are they alike?
  Members and non-members that were collected apart differ before any training,
  and no audit of their scores holds. --blind date,length asks it first, of a
  file with a column of memberships, with exact p-values: 2 if they differ, 0 if
  that is not shown, 3 if it could not have been.

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
        epilog=_AUDIT_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_audit, default=parser.get_default)
    parser.add_argument("file", metavar="FILE", help="the scores (- reads standard input)")
    _add_claim_options(parser.add_argument_group("the claim and the bound"))
    _add_file_options(parser.add_argument_group("the file"))
    _cli.add_reading(parser)
    _add_setting_options(parser.add_argument_group("what the file does not say"))
    _add_kind_options(parser.add_argument_group("other audits than of a fixed number of rounds"))
    group = parser.add_argument_group("the output")
    add = _cli.option_adder(group)
    _cli.add_outputs(group, "no text: the exit code says it")
    add("--sarif PATH", "write the verdict as SARIF, for code scanning")
    add("--junit PATH", "write the verdict as JUnit's XML, for test reports")


def _add_claim_options(group: Any) -> None:
    add = _cli.option_adder(group)
    claim = _cli.option_adder(group.add_mutually_exclusive_group())
    claim("--claimed-epsilon E", "the claim is (E, D)-DP, D of --delta", type=float)
    claim("--claimed-mu MU", "the claim is MU-GDP", type=float)
    add(
        "--delta D[,D...]",
        "of the bounds; the first is that of the claim (1e-5)",
        default=[1e-5],
        type=_cli.argument_type(_deltas, "is no list of numbers in [0, 1)"),
    )
    add("--confidence C", "of every bound", 0.95)
    add("--method M", "of the bound, chosen before the scores are seen: see below")
    add(
        "--threshold T",
        'one that was fixed before the scores were seen, for the methods "split" and "credible"',
        type=float,
    )
    add(
        "--orientation high|both",
        "both: try tests that flag low scores, too, and pay for it",
        default="high",
    )
    add("--only-method", "no other methods for comparison: quicker")


def _add_file_options(group: Any) -> None:
    add = _cli.option_adder(group)
    add("--score COLUMN", "the scores")
    add("--member COLUMN", "the memberships")
    add("--nonmembers FILE", "the non-members' scores; the other file holds the members'")
    _cli.add_models(group)
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
        default=None,
        dest="lower_is_member",
        help="large scores mean a member: the default; required for a column that its name calls a "
        "loss",
    )


def _add_setting_options(group: Any) -> None:
    add = _cli.option_adder(group)
    add(
        "--neighbours replace|add-remove",
        "what rounds without the record hold instead: another record, or none. The bound and "
        "the claim are about this relation",
    )
    add("--threat-model TEXT", "what the attacker sees and knows")
    add(
        "--random-bits",
        "the memberships were fair coins, each score a function of its own round: allows "
        "methods that need it",
    )
    add("--seed S", "of the order of ties", 0)


def _add_kind_options(group: Any) -> None:
    add = _cli.option_adder(group)
    kind = group.add_mutually_exclusive_group()
    add_kind = _cli.option_adder(kind)
    add_kind(
        "--one-run",
        "the rows are canaries of one training, each in or out by a fair coin: right guesses "
        "are counted at every size, of the highest and the lowest scores in turn and of each end "
        "alone, and none is to be chosen",
    )
    add_kind(
        "--watch",
        "rounds are read as they come, csv with a first line of names or JSON lines, and "
        "looked at after each; the program ends when the claim is refuted. Without --random-bits "
        "the i-th member is paired with the i-th non-member",
    )
    _cli.add_names(
        kind,
        "--blind",
        "before any audit: can these columns (dates, lengths, sources), which are known without "
        "the model, tell members from non-members? Then scores say nothing of the model",
    )
    add("--state PATH", "with --watch: keep there what is counted, and go on from it the next time")
    group.add_argument(
        "--idle",
        type=float,
        default=60.0,
        metavar="S",
        help="with --watch: a file to which nothing was added for so many seconds is at its end "
        "(60; 0: read what is there; inf: wait)",
    )
    add(
        "--inclusion P",
        "with --watch and --random-bits: the probability that a coin says member",
        0.5,
    )


def _deltas(text: str) -> list[float]:
    deltas = [float(part) for part in text.split(",")]
    if not all(0 <= delta < 1 for delta in deltas):
        raise ValueError
    return deltas


def _claim(options: argparse.Namespace) -> Claim | None:
    from leakscore_app.audits import Claim

    if options.claimed_mu is not None:
        return Claim(mu=options.claimed_mu)
    if options.claimed_epsilon is not None:
        return Claim(options.claimed_epsilon, options.delta[0])
    return None


def _audit(options: argparse.Namespace) -> int:
    _cli.require_writable(options, options.file, options.nonmembers, options.state)
    outputs.require_writable(options.state, read=(options.file,))
    findings = _AUDITS[_kind(options)](options)
    check = findings.check()
    _cli.deliver_verdict(findings, options)
    _deliver_check(check, options)
    if options.watch and findings.interrupted:
        raise KeyboardInterrupt
    return 0 if check.verdict is None else _cli.CODES[check.verdict]


def _kind(options: argparse.Namespace) -> str:
    """Return the kind of audit; refuse options of other kinds."""
    kind = "watch" if options.watch else "one-run" if options.one_run else "rounds"
    kind = "blind" if options.blind else kind
    if options.watch and options.orientation == "both":
        share = 0.5 * (1.0 - options.confidence)
        raise ValueError(
            "--watch bets on one direction: choose it from other rounds, or watch twice, once with "
            f"--lower-is-member, each with --confidence {1.0 - share:.12g}"
        )
    others = [name for kinds, names in _KIND_OPTIONS.items() if kind not in kinds for name in names]
    for name in others:
        if getattr(options, name) != options.default(name):
            where = f"with --{kind}" if kind != "rounds" else "without --watch"
            raise ValueError(f"--{name.replace('_', '-')} means nothing {where}")
    if options.watch and not options.random_bits and options.inclusion != 0.5:
        raise ValueError("--inclusion means nothing without --random-bits")
    if options.watch and len(options.delta) > 1:
        raise ValueError("--watch takes one --delta: bounds of several do not hold together")
    return kind


def _setting(options: argparse.Namespace) -> Any:
    from leakscore_app.audits import Setting

    return Setting(**_cli.arguments(options, Setting))


def _read(options: argparse.Namespace) -> Any:
    from leakscore_app.audits.scores import read_scores
    from leakscore_app.tables import ReadingOptions

    loaded = read_scores(
        options.file,
        **_cli.arguments(options, read_scores),
        options=ReadingOptions.of(_cli.reading_options(options)),
    )
    if loaded.attack is not None and options.lower_is_member:
        raise ValueError(
            "--lower-is-member means nothing for outputs of shadow models: signals are margins, "
            "and the scores of an attack are larger for members"
        )
    return loaded


def _rounds(options: argparse.Namespace) -> Any:
    from leakscore_app.audits.judge import judge, judge_training

    judgement = judge_training if options.one_run else judge
    chosen = _cli.arguments(options, judgement)
    chosen |= {"claim": _claim(options), "setting": _setting(options)}
    if not options.one_run:
        chosen["all_methods"] = not options.only_method
    return judgement(_read(options), deltas=options.delta, **chosen)


def _watch(options: argparse.Namespace) -> Any:
    from leakscore_app.audits.watch import WatchOptions, watch

    settings = _cli.arguments(options, WatchOptions) | {
        "form": _cli.selected(options, "score", "member", "delimiter", "decimal"),
        "claim": _claim(options),
        "delta": options.delta[0],
        "setting": _setting(options),
    }
    printing = _cli.prints_text(options)

    def show(line: str) -> None:
        if printing:
            try:
                outputs.write(outputs.STANDARD_OUTPUT, line + "\n")
            except BrokenPipeError:
                outputs.abandon_output()

    evidence = watch(options.file, WatchOptions(**settings), show)
    if printing:
        show("")
    return evidence


def _deliver_check(check: Check, options: argparse.Namespace) -> None:
    """Write the verdict for other programs, with the paths of the files."""
    if options.sarif is None and options.junit is None:
        return
    from leakscore_app.document import checks

    paths = [path for path in (options.file, options.nonmembers) if path is not None]
    check = replace(check, files=tuple("standard input" if p == "-" else p for p in paths))
    if options.sarif is not None:
        outputs.write(options.sarif, checks.sarif(check))
    if options.junit is not None:
        outputs.write(options.junit, checks.junit(check))


def _blind(options: argparse.Namespace) -> Any:
    from leakscore_app.audits.alike import blind
    from leakscore_app.tables import ReadingOptions

    return blind(
        options.file,
        options.blind,
        **_cli.arguments(options, blind),
        options=ReadingOptions.of(_cli.reading_options(options)),
    )


_AUDITS = {"blind": _blind, "rounds": _rounds, "one-run": _rounds, "watch": _watch}

_READING = ("thousands", "encoding", "header", "skip_lines", "skip_last", "sheet", "key")
# Kinds of audits, and the options that these kinds alone take.
_KIND_OPTIONS = {
    ("rounds",): ("method", "threshold", "orientation", "only_method", "nonmembers"),
    ("watch",): ("state", "idle", "inclusion"),
    ("rounds", "one-run"): ("attack", "few_records"),
    ("rounds", "one-run", "blind"): (
        *(*_READING, "missing_values", "bad_cells", "id", "proportions"),
    ),
    ("rounds", "one-run", "watch"): (
        *("claimed_epsilon", "claimed_mu", "delta", "score", "lower_is_member", "neighbours"),
        *("threat_model", "random_bits"),
    ),
}


_NOT_IN_SYNTHETIC = dict.fromkeys(("id", "proportions"), "--exclude or --categories does")

_SYNTHETIC_EPILOG = """\
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
        epilog=_SYNTHETIC_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_audit_synthetic)
    parser.add_argument("train", metavar="TRAIN", help="the records that were trained on")
    parser.add_argument("holdout", metavar="HOLDOUT", help="others of the same population")
    parser.add_argument("synthetic", metavar="SYNTH", help="the synthetic records")
    group = parser.add_argument_group("the tables")
    add = _cli.option_adder(group)
    add(
        "--reference OTHER",
        "more records of the population (default: half of HOLDOUT, which is not judged then)",
    )
    _cli.add_names(group, "--categories", "columns of numbers that are categories")
    _cli.add_names(group, "--columns", "look at these columns only")
    _cli.add_names(group, "--exclude", "do not look at these columns")
    add = _cli.option_adder(parser.add_argument_group("the verdict and the bounds"))
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
    reading = _cli.reading_options(options, _NOT_IN_SYNTHETIC)
    _cli.require_writable(options, *paths)
    chosen = _cli.arguments(options, audit_synthetic)
    chosen |= {name: chosen[name] or () for name in ("categories", "exclude")}
    findings = audit_synthetic(**chosen, reading=reading)
    _cli.deliver_verdict(findings, options)
    return _cli.CODES[findings.verdict]


_RISK_EPILOG = """\
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
        epilog=_RISK_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_risk)
    parser.add_argument("file", metavar="FILE", help="the scores (- reads standard input)")
    _add_judging_options(parser.add_argument_group("how records are judged"))
    group = parser.add_argument_group("reading the file")
    _cli.add_models(group)
    _cli.add_memory(group)
    group = parser.add_argument_group("the output")
    add = _cli.option_adder(group)
    add("--worst K", "records that are listed", 20)
    add("--order-by A", "of scores of several attacks, which puts the records in order, from 0", 0)
    _cli.add_outputs(group)
    add("--check", "the exit code says whether a record is certified")


def _add_judging_options(group: Any) -> None:
    add = _cli.option_adder(group)
    share = _cli.argument_type(_proportion, "is not a number in (0, 1)")
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


def _proportion(text: str) -> float:
    if not 0.0 < (value := float(text)) < 1.0:
        raise ValueError
    return value


def _risk(options: argparse.Namespace) -> int:
    from leakscore_app.audits.risk import judge, read_records

    _cli.require_writable(options, options.file)
    report = judge(
        read_records(options.file, **_cli.arguments(options, read_records)),
        fpr=options.false_positive_rate,
        **_cli.arguments(options, judge),
    )
    _cli.deliver_verdict(report, options)
    if not options.check:
        return 0
    return 2 if report.n_certified else 3 if report.inconclusive else 0
