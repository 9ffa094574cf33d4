"""What a report says of means that were published before."""

from __future__ import annotations

import math
from collections.abc import Iterator

from leakscore.render import document as doc
from leakscore.report._model import Content, Previous
from leakscore.report._words import ABOVE, budget, number, percent, plus_minus, remedies_table

__all__ = ["joint_card", "joint_section"]


def joint_card(report: Content) -> Iterator[doc.Card]:
    """Say what the worst new record faces."""
    previous = report.previous
    if previous is None:
        return
    index, row = previous.worst_new[0], previous.worst_new_rows[0]
    alone, joint = percent(report.informed.power[index]), percent(previous.joint.power[index])
    if math.isfinite(previous.joint.leakage[index]):
        how = f"row {row}, new, is identified in {joint} of tables"
    elif previous.batch_sizes[index] == 1:
        how = f"row {row} is given away as it is: two means differ by this record only"
    else:
        how = f"row {row} gives itself away"
    text = f"With the earlier means, {how} (from the present mean alone {alone})."
    yield doc.Card("informed", "Worst new record, all means", joint, "identified", text)


def joint_section(report: Content) -> Iterator[doc.Section]:
    """Say what all means tell together, and what helps the new records."""
    previous = report.previous
    if previous is None:
        return
    *before, now = previous.records_published
    new = previous.batches[-1].records
    parts: list[doc.Part] = [
        doc.Paragraph(
            f"The mean of the first {', then '.join(map(str, before))} records was published "
            f"before, that of all {now} is published now. Their differences give away the mean of "
            f"each batch: for a new record the release is a mean of {new}, not of {now}. The "
            "earlier means told all of the old records already; the present mean adds nothing."
        ),
        _batches(previous),
        _worst(report, previous),
        doc.Paragraph(
            "Batch: the records that came between the same two means. If Gaussian: the power of "
            "the best test, exact for small batches, if the records are Gaussian.",
            "soft",
        ),
        doc.Paragraph(_noise(previous)),
    ]
    if previous.remedies:
        caption = (
            "Waiting is counted for the new records. Noise on every mean, independent each time, "
            "is counted for all; it is too late for what was published without it."
        )
        parts.append(remedies_table(report, "what helps", previous.remedies, caption))
    yield doc.Section("With the earlier means", parts)


def _batches(previous: Previous) -> doc.Table:
    kinds = ("alone", "jointly")
    header = ["rows", "records"]
    header += [f"{kind}\n{what}" for kind in kinds for what in (*ABOVE, "worst")]
    rows = []
    for batch in previous.batches:
        first, last = batch.rows
        name = f"{first}" if first == last else f"{first}-{last}"
        cells = [f"{name}, {'new' if batch.new else 'old'}", str(batch.records)]
        for counts in (batch.alone, batch.joint):
            cells += [*map(str, counts.above.values()), percent(counts.worst_power)]
        rows.append(cells)
    return doc.Table(
        header,
        rows,
        "Records identified with more than so much power at 1\u00a0% false positives, from the "
        "present mean alone and from all means jointly",
        page_only=["records", *(f"{kind}\n{ABOVE[-1]}" for kind in kinds)],
    )


def _worst(report: Content, previous: Previous) -> doc.Table:
    header = ["row", "batch", "leakage\nalone", "leakage\njointly", "advantage\njointly"]
    header += ["power\nalone", "power\njointly", "power if\nGaussian"]
    rows = [
        [
            str(report.rows[i]),
            str(previous.batch_sizes[i]),
            number(report.informed.leakage[i]),
            number(previous.joint.leakage[i]),
            percent(previous.joint.advantage[i]),
            percent(report.informed.power[i]),
            percent(previous.joint.power[i]),
            percent(previous.power_if_gaussian[i]),
        ]
        for i in (*previous.worst_new, *previous.worst_old)
    ]
    return doc.Table(header, rows, "The worst new records, then the worst old ones")


def _noise(previous: Previous) -> str:
    """Say what noise on the present mean helps the new records, and what the game finds."""
    played = ""
    if previous.game is not None:
        power = previous.game.power
        played = (
            f"Simulated game of row {previous.game.row}, in the mean of its batch: power "
            f"{plus_minus(power)}, theory {percent(power.theory)}. "
        )
    noise = previous.noise
    if noise is None:
        return f"{played}A batch of one record is no mean: no noise is computed, wait for more."
    if noise.standard_errors == 0:
        return f"{played}No noise is needed for {budget(noise)} of every new record."
    return (
        f"{played}For {budget(noise)} of every new record, against an attacker with the earlier "
        f"means, add Gaussian noise of {noise.standard_errors:.3g} standard errors of the present "
        f"mean to each of its columns. Row {noise.binding_row} is then the worst new one: "
        f"advantage {percent(noise.advantage)} (game {plus_minus(noise.game.advantage)}), power "
        f"{percent(noise.power)}."
    )
