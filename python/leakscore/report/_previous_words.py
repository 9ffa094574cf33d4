"""The sentences on means that were published before, for the text and the page."""

from __future__ import annotations

import math

from leakscore.report import _words as words
from leakscore.report._model import Batch, Content, Previous

__all__ = ["batch", "headline", "helps", "legend", "meaning", "noise", "row_of_worst", "rows_of"]


def headline(report: Content, previous: Previous) -> str:
    """Say what the worst new record faces."""
    index, row = previous.worst_new[0], previous.worst_new_rows[0]
    alone = words.thousand(report.informed.power[index])
    if math.isinf(previous.joint.leakage[index]):
        how = (
            "is given away as it is, the only difference of two means"
            if previous.batch_sizes[index] == 1
            else "gives itself away"
        )
        return f"With the earlier means, row {row} {how} (from the present mean alone {alone})."
    return (
        f"With the earlier means, row {row}, new, is recognised in "
        f"{words.thousand(previous.joint.power[index])} of 1000 (from the present mean alone "
        f"{alone})."
    )


def meaning(previous: Previous) -> str:
    """Say what was published, and what that gives away."""
    *before, now = previous.records_published
    means = ", then ".join(str(count) for count in before)
    new = previous.batches[-1].records
    return (
        f"The mean of the first {means} records was published before, that of all {now} is "
        f"published now. Their differences give away the mean of each batch: for a new record the "
        f"release is a mean of {new}, not of {now}. Of the old records the earlier means have "
        "told all of it already; the present one adds nothing."
    )


def batch(one: Batch) -> str:
    """Name a batch by its rows."""
    first, last = one.rows
    rows = f"{first}" if first == last else f"{first}-{last}"
    return f"{rows}, {'new' if one.new else 'old'}"


def legend() -> str:
    """Explain the table of the worst records."""
    return (
        "Batch: the records that came between the same two means. If Gaussian: the best test's "
        "power, exact for small batches, if the records were Gaussian."
    )


def row_of_worst(report: Content, previous: Previous, index: int) -> list[str]:
    """Return the cells of a record."""
    return [
        str(report.rows[index]),
        str(previous.batch_sizes[index]),
        words.number(report.informed.leakage[index]),
        words.number(previous.joint.leakage[index]),
        words.percent(previous.joint.advantage[index]),
        words.thousand(report.informed.power[index]),
        words.thousand(previous.joint.power[index]),
        words.thousand(previous.power_if_gaussian[index]),
    ]


def rows_of(previous: Previous) -> list[int]:
    """List the worst new records, then the worst old ones."""
    return [*previous.worst_new, *previous.worst_old]


def noise(report: Content, previous: Previous) -> str:
    """Say what noise on the present mean helps the new records, and what the game finds."""
    played = ""
    if previous.game is not None:
        game = previous.game
        played = (
            f"Simulated game of row {game.row}, in the mean of its batch: recognised "
            f"{words.plus_minus(game.power, 1000)} of 1000, theory "
            f"{words.thousand(game.power.theory)}. "
        )
    found = previous.noise
    if found is None:
        return (
            f"{played}A batch of one record is no mean: no noise is computed, wait for more "
            "records."
        )
    if found.standard_errors == 0:
        return f"{played}No noise is needed for {words.budget(report)} of every new record."
    return (
        f"{played}For {words.budget(report)} of every new record, whoever has the earlier means, "
        f"add Gaussian noise of {found.standard_errors:.3g} standard errors of the present mean "
        f"to each of its columns. Row {found.binding_row} is then the worst new one: advantage "
        f"{words.percent(found.advantage)} (game {words.plus_minus(found.game.advantage, 100)}"
        f"\u00a0%), {words.thousand(found.power)} of 1000 recognised."
    )


def helps() -> str:
    """Say whom the table of remedies counts."""
    return (
        "Waiting is counted for the new records. Noise on every mean, independent each time, is "
        "counted for all, and too late for what was published without it."
    )
