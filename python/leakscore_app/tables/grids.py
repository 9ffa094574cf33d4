"""One door for every file: from its bytes to a grid of cells, by the format of its content."""

from __future__ import annotations

from dataclasses import replace

from leakscore_app._visible import visible
from leakscore_app.tables.cells import Grid, ReadingOptions
from leakscore_app.tables.files import KINDS, File
from leakscore_app.tables.formats import packed
from leakscore_app.tables.formats.arrow import read_arrow
from leakscore_app.tables.formats.delimited import read_delimited
from leakscore_app.tables.formats.survey_files import read_survey_file
from leakscore_app.tables.formats.workbook import read_workbook

_READERS = {
    "parquet": read_arrow,
    "feather": read_arrow,
    "arrow stream": read_arrow,
    "workbook": read_workbook,
    "sav": read_survey_file,
    "por": read_survey_file,
    "dta": read_survey_file,
    "sas7bdat": read_survey_file,
    "xpt": read_survey_file,
    "text": read_delimited,
}
_ARRAYS = ("npy", "npz")
_MEANT_FOR = {
    "delimiter": ("text",),
    "encoding": ("text",),
    "header": ("text", "workbook"),
    "skip_lines": ("text", "workbook"),
    "sheet": ("workbook",),
    "key": ("npz", "zip"),
    "decimal": tuple(kind for kind in KINDS if kind not in _ARRAYS),
    "thousands": tuple(kind for kind in KINDS if kind not in _ARRAYS),
}
_DEFAULT = ReadingOptions()


def require_meaning(file: File, options: ReadingOptions) -> None:
    """Refuse an option that says nothing about a file of this format."""
    for option, kinds in _MEANT_FOR.items():
        value = getattr(options, option)
        if value != getattr(_DEFAULT, option) and file.kind not in kinds:
            expected = " or ".join(dict.fromkeys(KINDS[kind] for kind in kinds[:2]))
            raise ValueError(
                f"{file.name} is no {expected} {'archive' if option == 'key' else 'file'}, so that "
                f"{option}={value!r} means nothing"
            )


def inner_file(file: File, options: ReadingOptions) -> tuple[File, ReadingOptions]:
    """Return the file that a zip archive holds, with the options that are left for it."""
    if file.kind != "zip":
        return file, options
    name, data = packed.member_of(file.name, file.data, options.key, file.limit)
    inner = File(f"{file.name}[{visible(name)}]", data, file.limit)
    unpacked = packed.decompressed(inner.name, data, file.limit)
    if unpacked is not None:
        inner = File(inner.name, unpacked, file.limit)
    if inner.kind == "zip":
        raise ValueError(f"{inner.name} is an archive within an archive: unpack it first")
    return inner, replace(options, key=None)


def grid_of(file: File, options: ReadingOptions) -> Grid:
    """Read the cells of a file that is no file of arrays.

    Parameters
    ----------
    file : File
    options : ReadingOptions

    Returns
    -------
    Grid

    Raises
    ------
    ValueError
        If the file is damaged, or cannot be read without a guess.
    ImportError
        If a library is missing that reads the format.
    """
    return _READERS[file.kind](file, options)
