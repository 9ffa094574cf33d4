"""What is said of the records that are judged, beside their leakages: whose they may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from leakscore_app._visible import capitalised, counted, visible
from leakscore_app.document.document import Notice, note, warning
from leakscore_app.passes.rows import Copies
from leakscore_app.report._model import Owned
from leakscore_app.tables.doubts import option
from leakscore_app.tables.table import Records, Table


def about_records(
    copies: Copies | None, size: int, shared: Mapping[str, int], rows: int
) -> tuple[list[Notice], list[str]]:
    """Return notices that records may be of one person, and the reasons that suspend the verdict.

    `copies` counts equal records among the `size` judged ones, or is None. `shared` are columns
    with few distinct values for so many `rows`.
    """
    notices, doubts = [], []
    for name, different in shared.items():
        values, ids = f"{different} different values in {rows}", visible(name)
        say = f"say {option('--id', ids, of_list=False)}"
        doubts.append(f"column {ids!r} has {values}: {say} if it tells whose they are")
        text = (
            f"{ids} has {values} records. If it tells whose the records are, each person is "
            "recognised by all of them together, more surely than this report says, which judges "
            f"every record alone: {say}."
        )
        notices.append(warning("records-of-one", text))
    several = np.zeros(0, np.int64) if copies is None else copies.multiplicities()
    if copies is not None and len(several):
        many, most = f"{int(several.sum())} of {size}", int(several.max())
        if not copies.whole:
            many = f"About {100 * int(several.sum()) / copies.rows:.2g} % of {size}"
        doubts.append(
            f"{many} records are equal to another one: say --id COLUMN if some are of one person, "
            "who leaks more"
        )
        text = (
            f"{many} records are equal to another one (up to {most} alike). If they are copies of "
            f"one person's record, k of them leak k\u00b2 times as much as one, here up to "
            f"{most**2} times: say whose the records are (--id), then persons are judged."
        )
        notices.append(note("duplicates", text))
    return notices, doubts


def doubt_of(reasons: Sequence[str]) -> str:
    """Write what must be settled before a verdict stands; "" without a reason."""
    if not reasons:
        return ""
    return (
        f"This stands only if no two records are of one person. {capitalised('; '.join(reasons))}; "
        "or --distinct-records if all are of different persons."
    )


def about_persons(owned: Owned, table: Table, records: Records) -> Iterator[Notice]:
    """Write how many records persons have, and who has records that are not judged."""
    sizes = owned.persons.sizes
    worst = int(sizes.argmax())
    if sizes[worst] > 1:
        yield note(
            "persons",
            f"{len(owned.rows)} records belong to {counted(len(sizes), 'person')}; "
            f"{owned.ids[worst]} has {sizes[worst]}. A person is judged by all of them, and "
            "known to nobody by what they tell.",
        )
    if table.ids is None or records.ids is None or len(records.rows) == len(table.ids):
        return
    excluded = np.delete(table.ids, records.rows - 1)
    partial = np.isin(excluded, records.ids)
    partly, wholly = len(np.unique(excluded[partial])), len(np.unique(excluded[~partial]))
    parts = []
    if partly:
        parts.append(f"{counted(partly, 'person')} by the rest of their records only")
    if wholly:
        parts.append(f"{counted(wholly, 'person')} not at all")
    yield warning(
        "persons-left-out",
        f"As {counted(len(excluded), 'record')} miss a value, these are judged: "
        f"{' and '.join(parts)}. What the records that are left out tell is not counted.",
    )
