"""What is settled about columns of words before a long table is read block by block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from leakscore_app._visible import visible
from leakscore_app.tables.cells import ReadingOptions
from leakscore_app.tables.columns import reason_of
from leakscore_app.tables.formats.arrow import is_text, kind_of, words_of
from leakscore_app.tables.grammar.numbers import survey_of
from leakscore_app.tables.grammar.pieces import Surveyed
from leakscore_app.tables.sources.categories import Categories


def of_other_kinds(schema: Any, names: Iterable[str]) -> dict[str, str]:
    """Say of columns that hold neither numbers nor text why they are not judged."""
    kinds = {name: schema.field(name).type for name in names}
    return {name: reason_of(kind_of(kind)) for name, kind in kinds.items() if not is_text(kind)}


def texts_in(
    batches: Iterable[Any],
    file: str,
    texts: Sequence[str],
    categories: Categories,
    options: ReadingOptions,
) -> dict[str, str] | None:
    """Collect levels, and say why columns of text are not judged.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        With the columns of text and of categories.
    file : str
        Its name.
    texts : sequence of str
        Columns of text that are published.
    categories : Categories
    options : ReadingOptions

    Returns
    -------
    dict or None
        Name -> why. None if some column may hold numbers: then all of it is read at once.
    """
    import pyarrow

    missing = options.words_for_missing
    seen = {name: Surveyed() for name in texts}
    rows = 0
    for batch in batches:
        for name in categories.names:
            categories.add(file, name, batch.column(name))
        for name, surveyed in seen.items():
            cells = pyarrow.chunked_array([words_of(batch.column(name))])
            surveyed.add(survey_of(cells, words=options.words, missing=missing), rows)
        rows += batch.num_rows
    left = {}
    for name, surveyed in seen.items():
        if not surveyed.text or surveyed.bad is None:
            return None
        row, cell = surveyed.bad
        left[name] = (
            f"text in {surveyed.cells - surveyed.numbers} of {surveyed.cells} cells (record "
            f"{row + 1}: {visible(cell)[:40]!r})"
        )
    return left
