"""Files that are opened to be read block by block: parquet, npy, long csv, and patterns of them."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from leakscore_app._visible import listed, visible
from leakscore_app.tables.categories import Categories, Coded, Share, with_names
from leakscore_app.tables.cells import ReadingOptions
from leakscore_app.tables.columns import ASKED
from leakscore_app.tables.doubts import option
from leakscore_app.tables.sources.arrays import NpyPart
from leakscore_app.tables.sources.blocks import FilePart, Source
from leakscore_app.tables.sources.frames import ParquetPart
from leakscore_app.tables.sources.opened import Opened
from leakscore_app.tables.sources.texts import KeptPieces, text_part
from leakscore_app.tables.table import table_of_path


def of_files(paths: Sequence[str], options: ReadingOptions) -> Opened | None:
    """Open parquet, npy and long csv files; None if one is to be read as a whole.

    Parameters
    ----------
    paths : sequence of str
    options : ReadingOptions
        How texts are read, and which columns are published.

    Raises
    ------
    ValueError
        If the files have other columns, or one is damaged.
    """
    kept, categories = KeptPieces(), Categories.of(options)
    parts: list[FilePart] = []
    for path in paths:
        part = _part_of(path, options, kept, categories, alone=len(paths) == 1)
        if part is None:
            return None
        parts.append(part)
    for part in parts[1:]:
        _require_same_columns(parts[0], part)
    return _joined(parts, paths, categories, options)


def _joined(
    parts: Sequence[FilePart], paths: Sequence[str], categories: Categories, options: ReadingOptions
) -> Opened:
    """Return the files of one table."""
    first, name = parts[0], parts[0].name
    if len(parts) > 1:
        name = f"{first.name} to {parts[-1].name} ({len(parts)} files)"
    groups, coded = categories.coded(first.name, first.columns)
    shares = {name: tuple(each.shares) for name, each in coded.items()}
    columns = tuple(each for name in first.columns for each in shares.get(name, (name,)))
    levels: dict[str, Coded | Share] = dict(groups)
    for each in coded.values():
        levels |= each.shares
    options = with_names(first.name, first.columns, options)
    requested = None
    if options.columns is not None:
        among = {*options.columns, *levels} - groups.keys()
        requested = tuple(name for name in columns if name in among)
    unpublished = {*options.exclude, *(() if requested is None else {*columns} - {*requested})}
    excluded = {name: why for name, why in first.excluded.items() if name not in shares}
    unwanted = [name for name in columns if name in unpublished and name not in groups]
    source = Source(
        tuple(replace(part, levels=levels) for part in parts),
        tuple(name for name in columns if name not in unpublished and name not in excluded),
        missing=tuple(options.numbers_for_missing),
        levels=frozenset(levels),
    )
    return Opened(
        name=name,
        path=", ".join(paths),
        source=source,
        columns=columns,
        excluded=excluded | dict.fromkeys(unwanted, ASKED),
        index=frozenset(itertools.chain(*(part.index for part in parts))),
        notes=(*_notes_on(parts), *options.missing_as_asked),
        sums=options.skip_last is None,
        codes=options.codes,
        requested=requested,
        max_memory=options.max_memory,
        digest=lambda: _hash_of_files(parts),
        lines=first.lines if len(parts) == 1 else None,
        unnamed="".join(first.columns[:1]) if any(part.unnamed for part in parts) else None,
        groups={name: each.levels for name, each in groups.items()},
        shares={name: each.columns for name, each in coded.items()},
    )


def _notes_on(parts: Sequence[FilePart]) -> Iterable[str]:
    noted = parts[:1] if isinstance(parts[0], NpyPart) else parts
    return dict.fromkeys(note for part in noted for note in part.notes)


def _require_same_columns(first: FilePart, part: FilePart) -> None:
    if part.columns != first.columns:
        raise ValueError(
            f"{part.name} has the columns {listed(part.columns)}, {first.name} has "
            f"{listed(first.columns)}: files of one table have the same, in the same order"
        )
    ours, theirs = (frozenset(each.excluded) for each in (first, part))
    for column in sorted(ours ^ theirs):
        text, numbers = (first, part) if column in ours else (part, first)
        raise ValueError(
            f"column {visible(column)!r} holds numbers in {numbers.name} and none in {text.name}: "
            f"{option('--exclude', visible(column))} leaves it out"
        )


def _part_of(
    path: str, options: ReadingOptions, kept: KeptPieces, categories: Categories, *, alone: bool
) -> FilePart | None:
    if path == "-" or not Path(path).is_file():
        return None
    with Path(path).open("rb") as file:
        start = file.read(6)
    name, plain = visible(Path(path).name), options.of_text() == ReadingOptions().of_text()
    if start.startswith(b"PAR1"):
        return ParquetPart.of(path, name, categories, options) if plain else None
    if start.startswith(b"\x93NUMPY"):
        plain = plain and not (options.groups or options.proportions)
        return NpyPart.of(path, name) if plain else None
    part_of_text = text_part(path, name, options, kept, categories)
    if part_of_text is None and not alone:
        _refuse_part(path, name, options)
    return part_of_text


def _refuse_part(path: str, name: str, options: ReadingOptions) -> None:
    """Say why a file of a pattern is not read: as `read_table` says it, or what it needs."""
    table = table_of_path(path, options)
    for why in table.refused.values():
        raise ValueError(why)
    raise ValueError(
        f"{name} is not read with others: yes and no, codes, labels of sums, and encodings "
        "but UTF-8 are understood in a single file only; join the files to one first, or --exclude "
        "such columns"
    )


def _hash_of_files(parts: Sequence[FilePart]) -> str:
    """Hash the bytes of a file; of several, the hashes of all in their order."""
    hashes = [part.sha256 for part in parts]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()
