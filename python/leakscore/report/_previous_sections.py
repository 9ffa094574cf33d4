"""What a report says of means that were published before, beside what all tell together."""

from __future__ import annotations

import math
from collections.abc import Iterator

from leakscore.render import document as doc
from leakscore.report._model import Content, Previous
from leakscore.report._words import ABOVE, capitalised, named, percent, times

__all__ = ["batches", "earlier_means", "worst_new"]


def earlier_means(report: Content) -> Iterator[doc.Part]:
    """Say what was published before, and of what the report speaks."""
    previous = report.previous
    if previous is None:
        return
    *before, now = previous.records_published
    new = previous.batches[-1].records
    batch = f"a mean of {new}, not of {now}" if new > 1 else "the record itself"
    yield doc.Paragraph(
        f"The mean of the first {', then '.join(map(str, before))} records was published before, "
        f"that of all {now} is published now. All numbers are those of all means together. Their "
        f"differences give away the mean of each batch: for a new record the release is {batch}. "
        "What the earlier means told cannot be taken back.",
        "lead",
    )


def worst_new(report: Content) -> Iterator[doc.Card]:
    """Say what the worst new record faces, if another is the worst of all."""
    previous = report.previous
    if previous is None:
        return
    new = [i for i, is_new in enumerate(previous.new.tolist()) if is_new]
    index = max(new, key=lambda i: report.informed.leakage[i])
    if index == report.worst[0]:
        return
    power = float(report.informed.power[index])
    who = named(report, int(report.rows[index]))
    text = f"If {who} is in the table, the attack says so {times(power)} times in 100."
    if math.isinf(report.informed.leakage[index]):
        text = f"{capitalised(who)} is given away."
    yield doc.Card("informed", "Worst new record", percent(power), "recognised", text)


def batches(previous: Previous) -> doc.Table:
    """Count the recognised batch by batch, with the present mean alone for comparison."""
    header = ["records", "size", *ABOVE, "worst", "present\nmean alone"]
    rows = []
    for batch in previous.batches:
        first, last = batch.rows
        name = f"{first}" if first == last else f"{first}-{last}"
        rows.append(
            [
                f"{name}, {'new' if batch.new else 'old'}",
                str(batch.records),
                *map(str, batch.joint.above.values()),
                percent(batch.joint.worst_power),
                percent(batch.alone.worst_power),
            ]
        )
    caption = (
        "Batch by batch: records recognised with more than so much power from all means together, "
        "and the power against the worst one; for comparison, the worst from the present mean alone"
    )
    return doc.Table(header, rows, caption, page_only=["size"])
