"""What was found of the records of a file: the report on them, and where it comes from.

The JSON (``schema_version`` 1): tool, command, tool_version; input (file, arrays, targets, attack
as of ``leakscore audit``, notes); notices, level, code and message of what leaves nothing of the
verdict; and every field of `leakscore_app.RiskReport`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import leakscore
from leakscore import shadow, validation
from leakscore.results import as_json
from leakscore_app._visible import in_json
from leakscore_app.audits import words
from leakscore_app.audits.records import sections
from leakscore_app.audits.records.reading import Scored
from leakscore_app.audits.records.report import RiskReport, risk_report
from leakscore_app.document import document as doc
from leakscore_app.document import html, text
from leakscore_app.document.document import Notice


@dataclass(frozen=True)
class Judged:
    """The report on the records of a file."""

    read: Scored
    report: RiskReport
    doubts: tuple[Notice, ...]

    @property
    def inconclusive(self) -> bool:
        """Whether no record is certified, and none could have been."""
        return bool(self.doubts) and not self.report.n_certified

    def to_text(self, width: int = 80) -> str:
        """Return the report as aligned plain text."""
        return text.render(self._document(), width)

    def to_html(self) -> str:
        """Return the report as one self-contained page: inline style and chart, no script."""
        return html.render(self._document())

    def to_json(self) -> str:
        """Return strict JSON, no NaN and no Infinity."""
        plain = {
            "schema_version": 1,
            "tool": "leakscore",
            "command": "risk",
            "tool_version": leakscore.__version__,
            "input": {
                "file": {"name": self.read.file.name, "sha256": self.read.file.sha256},
                "arrays": list(self.read.used),
                "targets": len(self.read.included),
                "attack": self.read.attack and asdict(self.read.attack),
                "notes": list(self.read.notes),
            },
            "notices": [asdict(doubt) for doubt in self.doubts],
        } | self.report.to_dict()
        found: dict[str, Any] = as_json(plain)
        return in_json(json.dumps(found, indent=2, allow_nan=False, ensure_ascii=False))

    def _document(self) -> doc.Document:
        whole = sections.document(self.report)
        known = [
            ("file", f"{self.read.file.name} (sha256 {self.read.file.sha256})"),
            ("read", f"{', '.join(self.read.used)}; {len(self.read.included)} target models"),
        ]
        if self.read.attack is not None:
            known.append(("attack", words.attack(self.read.attack)))
        known += [("note", note) for note in self.read.notes]
        source = doc.Section("What was read", [doc.Definitions(known)])
        head = [[doc.Notices(self.doubts)], *whole.head] if self.doubts else whole.head
        return doc.Document(whole.name, head, [*whole.sections, source])


def judge(
    read: Scored,
    *,
    fpr: float = 0.01,
    least_power: float = 0.5,
    confidence: float = 0.95,
    delta: float | None = None,
    worst: int = 20,
    order_by: int = 0,
) -> Judged:
    """Judge every record of a file; the arguments are those of `risk` and `risk_report`."""
    row = validation.count("order_by", order_by, 0, len(read.scores) - 1)
    most = validation.count("worst", worst, 1)
    try:
        table = shadow.risk(
            read.scores,
            read.included,
            fpr=fpr,
            least_power=least_power,
            confidence=confidence,
            delta=delta,
        )
        report = risk_report(table, prediction=read.prediction, attack=row, count=most)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{read.file.name}: {error}") from None
    return Judged(read, report, tuple(_doubts(read, table, row)))


def _doubts(read: Scored, table: shadow.RecordRisk, row: int) -> Iterator[Notice]:
    """Say why no record could be certified, whatever there is to find."""
    scores, records = read.scores[table.attacks[row]], table.shift.shape[1]
    if bool((scores == scores[0, 0]).all()):
        said = "All scores are equal: that is no evidence, neither for nor against any record."
        yield Notice("warning", "constant-scores", said)
        return
    most = int(np.count_nonzero(read.included, axis=0).max())
    if table.least_power**most > (1.0 - table.confidence) / records:
        yield Notice(
            "note",
            "too-few-models",
            f"No record is in more than {most} models: even one that is found in all of them "
            f"cannot be certified among {records}. More target models can.",
        )
    low, high = table.shift_low[row], table.shift_high[row]
    if np.count_nonzero(high < 0.0) > max(0.2 * records, 2 * np.count_nonzero(low > 0.0), 4):
        yield Notice(
            "warning",
            "shifts-below-zero",
            f"{np.count_nonzero(high < 0.0)} of {records} records score lower where they are in: "
            "the scores may be turned round. Larger scores must mean a member.",
        )
