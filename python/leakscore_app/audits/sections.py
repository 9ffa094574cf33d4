"""What an audit of a file says: its sections, built once for the text and the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, Decimal

import leakscore
from leakscore.audit import EpsilonBound
from leakscore_app.audits import charts, words
from leakscore_app.audits.model import Certificates
from leakscore_app.document import document as doc
from leakscore_app.document.document import Notice
from leakscore_app.document.text import counted

_DELTAS = 3  # in a table of methods: any of them fit into 80 characters


def document(findings: Certificates, notices: Sequence[Notice]) -> doc.Document:
    """Return the sections of an audit, in their order."""
    assumptions = [Notice("note", "assumption", sentence) for sentence in findings.assumptions]
    return doc.Document(
        f"leakscore audit: {' and '.join(file['name'] for file in findings.input.files)}",
        list(_head(findings, words.doubts(notices))),
        (
            _bounds(findings),
            doc.Section("The confidence holds if", [doc.Notices(assumptions)]),
            *_methods(findings),
            _shown(findings),
            doc.Section("What this does not show", [doc.Notices(notices)]),
            doc.Section("What was read", [doc.Definitions(list(_read(findings)))]),
        ),
    )


def heading(findings: Certificates) -> str:
    """Return the first bound as a sentence."""
    bound = findings.bounds.bounds[0]
    return (
        f"epsilon >= {words.lower_bound(float(bound.epsilon))} at delta = "
        f"{words.number(float(bound.delta), 10)}, with {findings.percent} "
        f"{words.certainty(findings.method)}"
    )


def said_of_claim(findings: Certificates) -> str:
    """Say what becomes of the claim; nothing without one."""
    if findings.verdict is None or findings.claim is None:
        return ""
    return words.verdict(
        findings.verdict, findings.claim, method=findings.method, void=findings.void
    )


def _head(findings: Certificates, doubts: Sequence[Notice]) -> Iterator[list[doc.Part]]:
    """The bound, or the first of several; before it what makes it worthless or doubtful."""
    seen, bound = findings.input, findings.bounds.bounds[0]
    most = words.lower_bound(float(bound.max_certifiable))
    zero = " A bound of 0 is no evidence; it is not privacy." if bound.epsilon == 0 else ""
    first: list[doc.Part] = [
        doc.Heading(heading(findings)),
        doc.Paragraph(
            f"{counted(seen.members, 'member')} and {counted(seen.nonmembers, 'non-member')}; "
            f"perfectly separated, so many could certify {most}.{zero}",
            "lead",
        ),
    ]
    yield [doc.Notices(doubts), *first] if doubts else first
    if said := said_of_claim(findings):
        yield [doc.Paragraph(said, "lead")]
    limits = (
        "A lower bound does not show privacy. It says what this attack proved with these scores, "
        "if they are of independent rounds; another attack may prove more."
    )
    yield [doc.PageOnly([doc.Cards(list(_cards(findings))), doc.Paragraph(limits, "plain")])]


def _cards(findings: Certificates) -> Iterator[doc.Card]:
    bound = findings.bounds.bounds[0]
    yield doc.Card(
        "informed",
        "Certified",
        words.lower_bound(float(bound.epsilon)),
        "epsilon at least",
        f"At delta = {words.number(float(bound.delta), 10)}, method {findings.method}.",
    )
    yield doc.Card(
        "",
        "Most possible",
        words.lower_bound(float(bound.max_certifiable)),
        "epsilon",
        "If the attack separated all members from all non-members.",
    )
    if findings.verdict is not None and findings.claim is not None:
        word = findings.verdict.verdict
        yield doc.Card(
            "weaker",
            "The claim",
            "inconclusive" if word == "cannot-tell" else word,
            "",
            f"{words.claim(findings.claim)}; "
            f"neighbours {words.relation(findings.setting.neighbours)}.",
        )


def _bounds(findings: Certificates) -> doc.Section:
    parts: list[doc.Part] = [bounds_table(findings)]
    for bound in findings.bounds.bounds:
        parts.append(doc.Paragraph(words.certificate(findings, bound), "soft"))
    if findings.mu is not None:
        mu, most = words.lower_bound(findings.mu.mu), words.lower_bound(findings.mu.max_certifiable)
        parts.append(
            doc.Paragraph(
                f"mu >= {mu} of mu-GDP, of at most {most}, by flagging "
                f"{words.rule(findings, findings.mu)}. That holds for every mechanism; an epsilon "
                "follows from a mu only if the mechanism is known to be Gaussian.",
                "soft",
            )
        )
    parts.append(doc.Figures([charts.roc(findings), charts.thresholds(findings)]))
    return doc.Section(f"Certified bounds, method {findings.method}", parts)


def bounds_table(findings: Certificates) -> doc.TextTable:
    """Return the table of the bounds, one a delta."""
    header = ["delta", "epsilon\nat least", "most\npossible", "threshold", "FPR", "FPR\nat most"]
    return doc.TextTable(
        [*header, "FNR", "FNR\nat most", "proves"],
        [_row(findings, bound) for bound in findings.bounds.bounds],
        f"With {findings.percent} {words.certainty(findings.method)}",
        page_only=["FPR", "FNR"],
    )


def _row(findings: Certificates, bound: EpsilonBound) -> list[str]:
    fpr_upper = fnr_upper = "-"
    if findings.by_rates(bound):
        fpr_upper = words.upper_bound(float(bound.fpr_upper), 3)
        fnr_upper = words.upper_bound(float(bound.fnr_upper), 3)
    return [
        words.number(float(bound.delta), 10),
        words.lower_bound(float(bound.epsilon)),
        words.lower_bound(float(bound.max_certifiable)),
        words.number(findings.threshold(bound)),
        words.number(float(bound.fpr), 3),
        fpr_upper,
        words.number(float(bound.fnr), 3),
        fnr_upper,
        str(bound.direction),
    ]


def _methods(findings: Certificates) -> Iterator[doc.Section]:
    if not findings.others:
        return
    starts = range(0, len(findings.deltas), _DELTAS)
    parts: list[doc.Part] = [
        *(_compared(findings, slice(start, start + _DELTAS)) for start in starts),
        doc.Paragraph(
            "The verdict is that of the chosen method; the largest of several bounds does not "
            "have the confidence of any.",
            "soft",
        ),
    ]
    for other in findings.others:
        if other.refused is not None:
            parts.append(doc.Paragraph(other.refused, "soft"))
    yield doc.Section("Other methods on the same scores, not part of the verdict", parts)


def _compared(findings: Certificates, part: slice) -> doc.TextTable:
    """Compare the methods at some of the deltas."""
    methods = [method for method in (findings.bounds, *findings.others) if method.refused is None]
    first = [method.bounds[part][0] for method in methods]
    widest = max(float(bound.max_certifiable) for bound in first)
    rows: list[list[str | doc.Bar]] = [
        [
            f"{method.method} (chosen)" if method is findings.bounds else method.method,
            doc.Bar(float(bound.epsilon) / widest if widest else 0.0),
            *(words.lower_bound(float(of.epsilon)) for of in method.bounds[part]),
            words.lower_bound(float(bound.max_certifiable)),
        ]
        for method, bound in zip(methods, first, strict=True)
    ]
    deltas = [f"delta\n{words.number(delta, 6)}" for delta in findings.deltas[part]]
    return doc.TextTable(
        ["method", "", *deltas, "most\npossible"], rows, "Epsilon at least, by delta"
    )


def _shown(findings: Certificates) -> doc.Section:
    shown = findings.shown
    rates = [("AUC", shown.auc), ("advantage", shown.advantage)]
    rates += [(f"TPR at {100 * fpr:g}\u00a0% FPR", rate) for fpr, rate in shown.tpr_at_fpr]
    rows = [
        [
            name,
            f"{rate.observed:.4f}",
            words.lower_bound(rate.lower, 4),
            str(Decimal(rate.upper).quantize(Decimal("0.0001"), ROUND_CEILING)),
        ]
        for name, rate in rates
    ]
    caption = f"All bounds at once with {findings.percent} confidence"
    table = doc.TextTable(["of the attack", "observed", "at least", "at most"], rows, caption)
    return doc.Section(f"The ROC curve, bounds by {shown.method}", [table])


def _read(findings: Certificates) -> Iterator[tuple[str, str]]:
    """List what was read and what is taken for granted."""
    seen, setting = findings.input, findings.setting
    for file in seen.files:
        yield "file", file["name"]
        yield "sha256", file["sha256"]
    writer = f", as {seen.writer} writes it" if seen.writer else ""
    columns = ", ".join(
        role if role == name else f"{role} from {name!r}" for role, name in seen.columns.items()
    )
    yield (
        "format",
        f"{seen.format}{writer}; {columns}; {words.values(seen.attack is not None)} are {seen.dtype}",
    )
    if seen.attack is not None:
        yield "attack", words.attack(seen.attack)
    yield "member if", f"the score is {'small' if seen.lower_is_member else 'large'}"
    yield "neighbours", words.relation(findings.setting.neighbours)
    yield "threat model", setting.threat_model or "not stated (--threat-model)"
    for note in seen.notes:
        yield "note", note
    yield "made by", f"leakscore {leakscore.__version__}, seed {setting.seed}"
