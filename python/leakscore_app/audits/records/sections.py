"""What the report on records says: its sections, built once for the text and the page."""

from __future__ import annotations

import math
from collections.abc import Iterator

from leakscore.typing import Doubles
from leakscore_app._visible import visible
from leakscore_app.audits.records.listing import Listing
from leakscore_app.document import document as doc
from leakscore_app.document.document import Notice
from leakscore_app.document.svg import Axis, Chart, nice_ticks
from leakscore_app.document.text import counted

COLUMNS = ("shift", "shift_low", "shift_high", "power", "power_low", "false_positive_rate")


def document(report: Listing) -> doc.Document:
    """Return the sections of a report, in their order."""
    sections = [doc.Section("The records that leak most", [_lines(report)])]
    if report.correlation is not None:
        sections.append(doc.Section("Does the prediction rank the records?", list(_told(report))))
    held = [Notice("note", "assumption", sentence) for sentence in report.assumptions]
    sections.append(doc.Section("The numbers hold if", [doc.Notices(held)]))
    limits = [
        "A record that is not certified may leak: few target models certify none, and another "
        "attack may find it.",
        "A record with a large power and a large false-positive rate is accused whether it is in "
        "or not.",
    ]
    notes = [Notice("note", "limit", sentence) for sentence in limits]
    sections.append(doc.Section("What this does not show", [doc.Notices(notes)]))
    return doc.Document("leakscore: the risk of records", [list(_head(report))], sections)


def _head(report: Listing) -> Iterator[doc.Part]:
    yield doc.Heading(
        f"{report.n_certified} of {counted(report.n_records, 'record')} certified: found in more "
        f"than {_percent(report.least_power)} of the models that were trained on them"
    )
    yield doc.Paragraph(
        f"By the attack {visible(report.attack)}, at a threshold that accuses "
        f"{_percent(report.fpr)} of all non-members; with {_percent(report.confidence)} confidence "
        "none is certified wrongly.",
        "lead",
    )


def _lines(report: Listing) -> doc.Table:
    header = ["record", "shift", "from", "to", "found", "at least", "false\nalarms", "certified"]
    columns = [_numbers(report.shift), _numbers(report.shift_low), _numbers(report.shift_high)]
    columns += [_numbers(report.power), _numbers(report.power_low, down=True)]
    columns += [
        _numbers(report.false_positive_rate),
        ["yes" if one else "no" for one in report.certified],
    ]
    if report.epsilon is not None:
        header.append("epsilon\nat least")
        columns.append(_numbers(report.epsilon, down=True))
    if report.prediction is not None:
        header.append("predicted")
        columns.append(_numbers(report.prediction))
    rows = list(zip(map(visible, report.names), *columns, strict=True))
    caption = (
        "In order of the lower end of the shift: how far the record moves its score, in standard "
        f"deviations, with its {_percent(report.confidence)} interval; in what share of the models "
        "it was found, each record by itself"
    )
    return doc.Table(header, rows, caption, words=["record", "certified"])


def _told(report: Listing) -> Iterator[doc.Part]:
    header = ["attack", "rank\ncorrelation", "from", "to", "perfect"]
    columns = (
        _numbers(values)
        for values in (
            report.correlation,
            report.correlation_low,
            report.correlation_high,
            report.correlation_ceiling,
        )
        if values is not None
    )
    rows = list(zip(map(visible, report.attacks), *columns, strict=True))
    caption = (
        f"Of the prediction with the measured shifts, with {_percent(report.confidence)} "
        "intervals; perfect: about what the true shifts would come to, as the measured ones have "
        "errors"
    )
    yield doc.Table(header, rows, caption, words=["attack"])
    x, y = report.drawn_prediction, report.drawn_shift
    if x is not None and y is not None and x.size:
        yield doc.Figures([_scatter(x, y)])


def _scatter(x: Doubles, y: Doubles) -> str:
    """Draw the measured shifts against the prediction."""
    chart = Chart(
        title="Measured shift against prediction",
        description="A dot a record: its measured shift against what was predicted of it.",
        x=_axis(x, "prediction"),
        y=_axis(y, "measured shift, standard deviations"),
    )
    chart.dots(x.tolist(), y.tolist(), "dot informed")
    return chart.render()


def _axis(values: Doubles, label: str) -> Axis:
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    if not high > low:
        high = low + 1.0
    return Axis(low, high, nice_ticks(low, high), label)


def _numbers(values: Doubles, *, down: bool = False) -> list[str]:
    return [_number(float(value), down=down) for value in values]


def _number(value: float, *, down: bool = False) -> str:
    """Return two decimals, of a bound rounded down; a dash for what is not known."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{math.floor(value * 100.0) / 100.0 if down else value:.2f}"


def _percent(share: float) -> str:
    return f"{100.0 * share:.6g} %"
