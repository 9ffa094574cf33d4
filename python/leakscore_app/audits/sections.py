"""Sections of the report on an audited file, for text and page, and the page's charts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, Decimal

import numpy as np

import leakscore
from leakscore.audit import EpsilonBound, OneRunBound
from leakscore.typing import Doubles
from leakscore_app._visible import counted
from leakscore_app.audits import words
from leakscore_app.audits.model import AuditInput, Certificates, Setting
from leakscore_app.audits.scores import LOSS_NAMES, MEMBER_NAMES, SCORE_NAMES, plain_name
from leakscore_app.audits.words import lower_bound, number
from leakscore_app.document import Axis, Chart, decades, nice_ticks
from leakscore_app.document import document as doc

_DELTAS = 3  # columns of a table of methods: so many fit into 80 characters, whatever they hold


def document(
    findings: Certificates, notices: Sequence[doc.Notice], doubts: Sequence[doc.Notice]
) -> doc.Document:
    """Return the sections of an audit, in their order."""
    return doc.Document(
        f"leakscore audit: {' and '.join(file['name'] for file in findings.input.files)}",
        list(_head(findings, doubts)),
        (
            _bounds_section(findings),
            words.assumptions_section(findings.assumptions),
            *_methods_section(findings),
            rates_section(findings),
            doc.Section("What this does not show", [doc.Notices(notices)]),
            words.input_section(input_facts(findings.input, findings.setting)),
        ),
    )


def bound_heading(findings: Certificates) -> str:
    """Return the first bound as a sentence."""
    bound = findings.bounds.bounds[0]
    sentence = words.bound_at(
        float(bound.epsilon), float(bound.delta), findings.confidence, findings.method
    )
    models = words.shared_models(findings.input)
    return f"NOT CERTIFIED, {models}. For independent rounds: {sentence}" if models else sentence


def _column_sentence(findings: Certificates) -> str:
    """Name the columns of scores and memberships if their names do not show what they are."""
    columns = findings.input.columns
    if not {"score", "member"} <= set(columns) or (
        plain_name(columns["score"]) in (*SCORE_NAMES, *LOSS_NAMES)
        and plain_name(columns["member"]) in MEMBER_NAMES
    ):
        return ""
    return f"Membership is read from {columns['member']!r}, scores from {columns['score']!r}. "


def claim_line(findings: Certificates) -> str:
    """Return the verdict on the claim as a sentence; "" without a claim."""
    judged, claimed = findings.verdict, findings.claim
    return words.verdict_line(judged, claimed, method=findings.method, void=findings.void)


def _head(findings: Certificates, doubts: Sequence[doc.Notice]) -> Iterator[list[doc.Part]]:
    """Yield the groups of the head: warnings, the first bound, the verdict, the cards."""
    source, bound = findings.input, findings.bounds.bounds[0]
    most = words.certifiable_limit(float(bound.epsilon), float(bound.max_certifiable))
    more = (
        "" if words.shared_models(source) else " Records of one model are not independent rounds."
    )
    lead = (
        f"{_column_sentence(findings)}{counted(source.members, 'member')} and "
        f"{counted(source.nonmembers, 'non-member')}; even perfect separation of this many "
        f"{most}{more}"
    )
    first = (doc.Heading(bound_heading(findings)), doc.Paragraph(lead, "lead"))
    yield from words.head(doubts, claim_line(findings), *first)
    limits = (
        "A lower bound does not show privacy. It says what this attack proved with these scores, "
        "if they are of independent rounds; another attack may prove more."
    )
    cards = doc.Cards(list(_cards(findings)))
    yield [doc.PageOnly(lambda: [cards, doc.Paragraph(limits, "plain")])]


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
            f"{words.claim_name(findings.claim)}; "
            f"neighbours {words.neighbours_phrase(findings.setting.neighbours)}.",
        )


def _bounds_section(findings: Certificates) -> doc.Section:
    parts: list[doc.Part] = [bounds_table(findings)]
    for bound in findings.bounds.bounds:
        parts.append(doc.Paragraph(words.certificate_line(findings, bound), "soft"))
    if findings.mu is not None:
        mu, most = words.lower_bound(findings.mu.mu), words.lower_bound(findings.mu.max_certifiable)
        by = "" if findings.mu.method == findings.method else f", by {findings.mu.method}"
        parts.append(
            doc.Paragraph(
                f"mu >= {mu} of mu-GDP, of at most {most}, by flagging "
                f"{words.flag_rule(findings, findings.mu)}{by}. That holds for every mechanism; an "
                "epsilon follows from a mu only if the mechanism is known to be Gaussian.",
                "soft",
            )
        )
    parts.append(doc.Figures([roc_chart(findings), threshold_chart(findings)]))
    return doc.Section(f"Certified bounds, method {findings.method}", parts)


def bounds_table(findings: Certificates) -> doc.TextTable:
    """Return the table of the bounds, one a delta."""
    bounds, number = findings.bounds.bounds, words.number
    fpr_upper, fnr_upper = (
        [
            words.upper_bound(float(getattr(bound, rate)), 3) if findings.by_rates(bound) else "-"
            for bound in bounds
        ]
        for rate in ("fpr_upper", "fnr_upper")
    )
    return doc.TextTable.of(
        {
            **bounds_columns(bounds),
            "threshold": [number(findings.threshold(bound)) for bound in bounds],
            "FPR": [number(float(bound.fpr), 3) for bound in bounds],
            "FPR\nat most": fpr_upper,
            "FNR": [number(float(bound.fnr), 3) for bound in bounds],
            "FNR\nat most": fnr_upper,
            "proves": [str(bound.direction) for bound in bounds],
        },
        f"With {findings.percent} {words.certainty(findings.method)}",
        page_only=["FPR", "FNR"],
    )


def bounds_columns(bounds: Sequence[EpsilonBound | OneRunBound]) -> dict[str, list[str]]:
    """Return the columns of the bound at each delta, and of the largest that was possible."""
    return {
        "delta": [words.number(float(bound.delta), 10) for bound in bounds],
        "epsilon\nat least": [words.lower_bound(float(bound.epsilon)) for bound in bounds],
        "most\npossible": [words.lower_bound(float(bound.max_certifiable)) for bound in bounds],
    }


def _methods_section(findings: Certificates) -> Iterator[doc.Section]:
    if not findings.others:
        return
    starts = range(0, len(findings.deltas), _DELTAS)
    parts: list[doc.Part] = [
        *(_comparison_table(findings, slice(start, start + _DELTAS)) for start in starts),
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


def _comparison_table(findings: Certificates, part: slice) -> doc.TextTable:
    """Compare the methods at a part of the deltas."""
    methods = [method for method in (findings.bounds, *findings.others) if method.refused is None]
    first = [method.bounds[part][0] for method in methods]
    widest = max(float(bound.max_certifiable) for bound in first) or 1.0
    columns: dict[str, Sequence[str | doc.Bar]] = {
        "method": [f"{by.method}{' (chosen)' * (by is findings.bounds)}" for by in methods],
        "": [doc.Bar(float(bound.epsilon) / widest) for bound in first],
    }
    for delta in findings.deltas[part]:
        bounds = [words.lower_bound(float(method.at(delta).epsilon)) for method in methods]
        columns[f"delta\n{words.number(delta, 6)}"] = bounds
    columns["most\npossible"] = [words.lower_bound(float(at.max_certifiable)) for at in first]
    return doc.TextTable.of(columns, "Epsilon at least, by delta")


def rates_section(findings: Certificates) -> doc.Section:
    """Return the table of observed rates and their bounds."""
    shown = findings.shown
    named = [("AUC", shown.auc), ("advantage", shown.advantage)]
    named += [(f"TPR at {100 * fpr:g}\u00a0% FPR", rate) for fpr, rate in shown.tpr_at_fpr]
    most = [Decimal(rate.upper).quantize(Decimal("0.0001"), ROUND_CEILING) for _, rate in named]
    columns = {
        "of the attack": [name for name, _ in named],
        "observed": [f"{rate.observed:.4f}" for _, rate in named],
        "at least": [words.lower_bound(rate.lower, 4) for _, rate in named],
        "at most": map(str, most),
    }
    caption = f"All bounds at once with {findings.percent} confidence"
    table = doc.TextTable.of(columns, caption)
    return doc.Section(f"The ROC curve, bounds by {shown.method}", [table])


def input_facts(source: AuditInput, setting: Setting) -> Iterator[tuple[str, str]]:
    """Yield names and values: what was read, and what the audit relies on."""
    for file in source.files:
        yield "file", file["name"]
        yield "sha256", file["sha256"]
    form = f"{source.format}, as {source.writer} writes it" if source.writer else source.format
    yield "format", words.format_phrase(form, source)
    if source.attack is not None:
        yield "attack", words.attack_phrase(source.attack)
    yield "member if", f"the score is {'small' if source.lower_is_member else 'large'}"
    yield "neighbours", words.neighbours_phrase(setting.neighbours)
    yield "threat model", setting.threat_model or "not stated (--threat-model)"
    for note in source.notes:
        yield "note", note
    yield "made by", f"leakscore {leakscore.__version__}, seed {setting.seed}"


def roc_chart(findings: Certificates) -> str:
    """Draw the observed ROC curve and its confidence band on logarithmic axes."""
    rates, bound = findings.curves.rates, findings.bounds.bounds[0]
    sizes = (findings.input.nonmembers, findings.input.members)
    low = _decade_below(min(1e-2, 1 / max(sizes)))
    foot = _decade_below(min(0.1, max(float(rates.tpr[rates.fpr <= low].max()), 1 / sizes[1])))
    fpr, tpr = float(bound.fpr_upper), 1 - float(bound.fnr_upper)
    chart = Chart(
        title="ROC curve",
        description=(
            f"True against false positives, logarithmic. With {findings.percent} "
            f"confidence the attack's true curve lies in the band, by {findings.shown.method}."
            + (
                f" The certificate, at most {number(fpr)} false positives and at least "
                f"{number(tpr)} true ones, needs two of the band's four sides, and may lie outside."
                if findings.by_rates(bound)
                else ""
            )
        ),
        x=Axis(low, 1, decades(low, 1), "false positives (of non-members)", log=True),
        y=Axis(foot, 1, decades(foot, 1), "true positives (of members)", log=True),
    )
    # The lower side starts at the corner: left of its first point the true curve may be at 0.
    below = _stairs(np.append(0.0, rates.fpr_upper), np.append(0.0, rates.tpr_lower))
    above = _stairs(rates.fpr_lower, rates.tpr_upper)
    xs, ys = (lower + upper[::-1] for lower, upper in zip(below, above, strict=True))
    chart.region(xs, ys, "area informed", "band")
    chance = np.geomspace(max(low, foot), 1, 2).tolist()
    chart.line(chance, chance, "line chance")
    chart.line(*_stairs(rates.fpr, rates.tpr), "line informed", "observed")
    if bound.epsilon > 0 and findings.by_rates(bound):
        chart.dots([fpr], [tpr], "dot weaker", "the certificate")
    chart.legend("guessing", "line chance")
    return chart.render()


def _decade_below(value: float) -> float:
    """Return the power of ten at or below a value."""
    return float(10.0 ** math.floor(math.log10(value) + 1e-9))


def _stairs(x: Doubles, y: Doubles) -> tuple[list[float], list[float]]:
    """Return the corners of a curve that keeps its height up to the next point."""
    return np.repeat(x, 2)[1:].tolist(), np.repeat(y, 2)[:-1].tolist()


def threshold_chart(findings: Certificates) -> str:
    """Draw the bound at each threshold, with the chosen threshold, the cap and the claim."""
    curves, bound = findings.curves, findings.bounds.bounds[0]
    sign = -1.0 if findings.input.lower_is_member else 1.0
    finite = np.isfinite(curves.rates.thresholds)
    x, y = sign * curves.rates.thresholds[finite], curves.epsilon[finite]
    low, high = _useful_range(x, y)
    cap = float(bound.max_certifiable)
    claimed = (findings.claim and findings.claim.epsilon) or 0.0
    top = 1.12 * max(cap, min(claimed, 2 * cap), 0.1)
    chosen = findings.threshold(bound)
    chart = Chart(
        title="Epsilon against the threshold",
        description=(
            f"What each threshold certifies at delta = {number(float(bound.delta), 10)}, by "
            f"{findings.shown.method}. The bound by {findings.method} is "
            f"{lower_bound(float(bound.epsilon))}, at the threshold {number(chosen)}; even "
            f"perfect separation of this many scores could certify only {lower_bound(cap)}."
        ),
        x=Axis(low, high, nice_ticks(low, high), "threshold"),
        y=Axis(0, top, nice_ticks(0, top, 6), "epsilon at least"),
    )
    shown = (x >= low) & (x <= high)
    chart.line(x[shown].tolist(), y[shown].tolist(), "line informed", "certified")
    chart.horizontal(cap, "most certifiable")
    if 0 < claimed <= top:
        chart.horizontal(claimed, "claimed")
    if bound.epsilon > 0 and math.isfinite(chosen):
        chart.vertical(chosen, "chosen", at_foot=True)
    return chart.render()


def _useful_range(x: Doubles, y: Doubles) -> tuple[float, float]:
    """Return the range of thresholds that certify something, and a little around it."""
    useful = x[y > 0] if np.any(y > 0) else x
    if useful.size == 0:
        return -1.0, 1.0
    low, high = (float(end) for end in np.clip([useful.min(), useful.max()], -1e300, 1e300))
    margin = max(0.08 * (high - low), 1e-9 * max(abs(low), abs(high))) or 1.0
    return low - margin, high + margin
