"""The findings of an audit as aligned plain text."""

from __future__ import annotations

from collections.abc import Iterator

from leakscore.audit_file import words
from leakscore.audit_file.model import Findings
from leakscore.render.text import table, title, wrapped

__all__ = ["render"]

_DELTAS = 3  # in a row of the table of methods: any of them fit into 80 characters


def render(findings: Findings, width: int = 80) -> str:
    """Lay the findings out in lines of at most `width` characters where words allow it."""
    width = max(width, 60)
    blocks = ("\n".join(section(findings, width)) for section in _SECTIONS)
    return ("\n\n".join(block for block in blocks if block) + "\n").replace("\u00a0", " ")


def _head(findings: Findings, width: int) -> Iterator[str]:
    for doubt in words.doubts(findings):
        yield from wrapped(doubt, width, "  ", "! ")
    yield from wrapped(words.headline(findings), width)
    yield from wrapped(words.counts(findings), width)
    if findings.verdict is not None:
        yield ""
        yield from wrapped(words.verdict(findings), width)


def _bounds(findings: Findings, width: int) -> Iterator[str]:
    yield title(f"CERTIFIED BOUNDS, METHOD {findings.method.upper()}", width)
    rows = [["delta", "epsilon >=", "at most", "threshold", "FPR <=", "FNR <=", "proves"]]
    for bound in findings.bounds.bounds:
        delta, epsilon, cap, threshold, _, fpr, _, fnr, proves = words.row(findings, bound)
        rows.append([delta, epsilon, cap, threshold, fpr, fnr, proves])
    yield from table(rows)
    for bound in findings.bounds.bounds:
        yield from wrapped(words.certificate(findings, bound), width, "  ")
    yield from wrapped(words.gaussian(findings), width, "  ")


def _assumptions(findings: Findings, width: int) -> Iterator[str]:
    yield title("THE CONFIDENCE HOLDS IF", width)
    for sentence in findings.assumptions:
        yield from wrapped(sentence, width, "  ", "- ")


def _methods(findings: Findings, width: int) -> Iterator[str]:
    if not findings.others:
        return
    yield title("OTHER METHODS ON THE SAME SCORES, NOT PART OF THE VERDICT", width)
    methods = [found for found in (findings.bounds, *findings.others) if found.refused is None]
    for start in range(0, len(findings.deltas), _DELTAS):
        part = slice(start, start + _DELTAS)
        deltas = [words.number(delta, 6) for delta in findings.deltas[part]]
        rows = [["method, by delta", *deltas, "at most"]]
        for found in methods:
            bounds = [words.lower_bound(float(bound.epsilon)) for bound in found.bounds[part]]
            cap = words.lower_bound(float(found.bounds[part][0].max_certifiable))
            chosen = " (chosen)" if found is findings.bounds else ""
            rows.append([f"{found.method}{chosen}", *bounds, cap])
        yield from table(rows)
    refused = [found.refused for found in findings.others if found.refused is not None]
    for line in refused:
        yield from wrapped(line, width, "    ", "  ")


def _shown(findings: Findings, width: int) -> Iterator[str]:
    yield title(f"THE ROC CURVE, BOUNDS BY {findings.shown.method.upper()}", width)
    yield from table([["", "observed", "at least", "at most"], *words.shown(findings)])
    yield f"  all bounds at once with {findings.percent} confidence"


def _notices(findings: Findings, width: int) -> Iterator[str]:
    yield title("WHAT THIS DOES NOT SHOW", width)
    for notice in findings.notices:
        mark = "! " if notice.level == "warning" else "- "
        yield from wrapped(notice.message, width, "  ", mark)


def _input(findings: Findings, width: int) -> Iterator[str]:
    yield title("WHAT WAS READ", width)
    lines = words.read(findings)
    widest = max(len(name) for name, _ in lines)
    for name, text in lines:
        yield from wrapped(text, width, " " * (widest + 4), f"  {name.ljust(widest)}  ")


_SECTIONS = (_head, _bounds, _assumptions, _methods, _shown, _notices, _input)
