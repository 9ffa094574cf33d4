"""The findings of an audit as one page: inline style, inline SVG, no script, nothing fetched."""

from __future__ import annotations

from collections.abc import Iterator

from leakscore._results import Notice
from leakscore._visible import markup
from leakscore.audit_file import charts, words
from leakscore.audit_file.model import Findings
from leakscore.render.html import (
    bar,
    card,
    cell,
    definitions,
    notices,
    page,
    paragraph,
    section,
    table,
)

__all__ = ["render"]


def render(findings: Findings) -> str:
    """Return the page; it is well-formed XML too."""
    body = "".join(part for make in _SECTIONS for part in make(findings))
    return page(f"Audit: {words.files(findings)}", body)


def _head(findings: Findings) -> Iterator[str]:
    yield f'<header><p class="kicker">leakscore audit: {markup(words.files(findings))}</p>'
    doubts = [notice for notice in findings.notices if notice.code in words.DOUBTS]
    if doubts:
        yield notices(doubts)
    yield f"<h1>{markup(words.headline(findings))}</h1>"
    yield paragraph(words.counts(findings), "lead")
    if findings.verdict is not None:
        yield paragraph(words.verdict(findings), "lead")
    yield f'<div class="cards">{"".join(_cards(findings))}</div>'
    yield f'<p class="plain">{markup(words.limits())}</p></header>'


def _cards(findings: Findings) -> Iterator[str]:
    bound = findings.bounds.bounds[0]
    yield card(
        "informed",
        "Certified",
        words.lower_bound(float(bound.epsilon)),
        "epsilon at least",
        f"At delta = {words.number(float(bound.delta), 10)}, method {findings.method}.",
    )
    yield card(
        "",
        "Most certifiable",
        words.lower_bound(float(bound.max_certifiable)),
        "epsilon",
        "Had the attack separated all members from all non-members.",
    )
    if findings.verdict is not None and findings.claim is not None:
        yield card(
            "weaker",
            "The claim",
            {"cannot-tell": "inconclusive"}.get(findings.verdict.verdict, findings.verdict.verdict),
            "",
            f"{words.claim(findings.claim)}; neighbours {words.relation(findings)}.",
        )


def _bounds(findings: Findings) -> Iterator[str]:
    header = ["Delta", "Epsilon at least", "Most certifiable", "Threshold", "FPR", "FPR at most"]
    header += ["FNR", "FNR at most", "Proves"]
    rows = [words.row(findings, bound) for bound in findings.bounds.bounds]
    level = f"{findings.percent} {words.certainty(findings.method)}"
    caption = f"Method {findings.method}, {level}"
    yield section(
        "The certificate",
        (
            table(header, rows, caption=caption),
            *(
                paragraph(words.certificate(findings, bound), "soft")
                for bound in findings.bounds.bounds
            ),
            paragraph(words.gaussian(findings), "soft"),
            '<div class="pair charts">',
            charts.roc(findings),
            charts.thresholds(findings),
            "</div>",
        ),
    )


def _assumptions(findings: Findings) -> Iterator[str]:
    held = (Notice("note", "assumption", sentence) for sentence in findings.assumptions)
    yield section("The confidence holds if", (notices(held),))


def _methods(findings: Findings) -> Iterator[str]:
    if not findings.others:
        return
    methods = [found for found in (findings.bounds, *findings.others) if found.refused is None]
    widest = max(float(found.bounds[0].max_certifiable) for found in methods)
    rows = []
    for found in methods:
        bound = found.bounds[0]
        share = float(bound.epsilon) / widest if widest else 0.0
        rows.append(
            [
                found.method,
                cell("meter", bar(0, share)),
                *(words.lower_bound(float(one.epsilon)) for one in found.bounds),
                words.lower_bound(float(bound.max_certifiable)),
            ]
        )
    deltas = [f"Delta {words.number(delta, 10)}" for delta in findings.deltas]
    yield section(
        "Other methods on the same scores",
        (
            table(
                ["Method", "", *deltas, "Most certifiable"],
                rows,
                first="now",
                caption="The verdict is that of the first; the largest of several bounds has not "
                "the confidence of any",
            ),
            *(
                paragraph(found.refused, "soft")
                for found in findings.others
                if found.refused is not None
            ),
        ),
    )


def _shown(findings: Findings) -> Iterator[str]:
    caption = f"Bounds by {findings.shown.method}, all at once with {findings.percent} confidence"
    header = ["Of the attack", "Observed", "At least", "At most"]
    yield section("The ROC curve", (table(header, words.shown(findings), caption=caption),))


def _notices(findings: Findings) -> Iterator[str]:
    yield section("What this does not show", (notices(findings.notices),))


def _input(findings: Findings) -> Iterator[str]:
    yield section("What was read", (definitions(words.read(findings)),))


_SECTIONS = (_head, _bounds, _assumptions, _methods, _shown, _notices, _input)
