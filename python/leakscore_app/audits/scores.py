"""The named columns of a file, and which of them hold scores and memberships.

Columns come from any format of tables, or from JSON. Their names tell the form of the scores:

- a score and a membership for each round (Privacy Meter's npz archives have ``scores`` and
  ``memberships``, LeakPro's JSON ``signal_values`` and ``true_labels``, SACRO-ML's npz archives
  ``individual.member_prob`` and ``individual.member``);
- a column of members' scores and one of non-members' scores;
- counts between edges;
- LeakPro's confusion counts.

Outputs of shadow models are scored by `shadows`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, ClassVar, TypeAlias

import numpy as np

from leakscore.audit import Audit
from leakscore.typing import Array, Flags
from leakscore_app._visible import listed, no_column, visible
from leakscore_app.audits import shadows
from leakscore_app.tables import files
from leakscore_app.tables.cells import ReadingOptions, blank_at_end
from leakscore_app.tables.columns import content_of
from leakscore_app.tables.doubts import INDEX, named_as_rows
from leakscore_app.tables.formats import npy
from leakscore_app.tables.table import ARROW, grid_of, inner_file

_SACRO = ("individual.member_prob", "individual.member")
SCORE_NAMES = ("score", "scores", "signal_values", "mia_scores", "statistic", _SACRO[0])
LOSS_NAMES = ("loss", "losses", "nll")  # taken if no column has one of SCORE_NAMES
MEMBER_NAMES = (
    *("member", "membership", "memberships", "is_member", "train", "in_train", "is_train"),
    *("included", "true_labels", "true_membership", _SACRO[1]),
)
WORDS: Mapping[str, float] = {
    **dict.fromkeys(("true", "yes", "member", "in", "train"), 1.0),
    **dict.fromkeys(("false", "no", "non-member", "nonmember", "non_member", "out", "test"), 0.0),
}
"""Words for a member and a non-member, besides 1 and 0."""

BITS: Mapping[str, float] = {**WORDS, "1": 1.0, "1.0": 1.0, "0": 0.0, "0.0": 0.0}
"""Cells of text for a member and a non-member."""

_INFINITE = {"inf": np.inf, "-inf": -np.inf}
"""Infinite numbers as strict JSON spells them; this package writes them so, too."""


# --- the named columns of a file -----------------------------------------------------------------


@dataclass(frozen=True)
class ScoreColumns:
    """The columns of a file; each becomes an array when it is first used.

    Attributes
    ----------
    file : File
    format : str
        "csv", "npz", "npy", "parquet", "json", or another one of `tables`.
    names : tuple of str
    get : callable
        Returns the column of a name.
    notes : tuple of str
        Decisions of the reader that the user should see.
    padding : callable
        Returns the number of blank cells at the end of a column that is shorter than others.
    place : callable
        Returns the name of a row, for messages.
    """

    file: files.File
    format: str
    names: tuple[str, ...]
    get: Callable[[str], Array]
    notes: tuple[str, ...] = ()
    padding: Callable[[str], int] | None = None
    place: Callable[[int], str] = lambda row: f"row {row + 1}"

    def where(self, name: str) -> str:
        """Return the name of a column of this file, for messages."""
        return f"{self.file.name}, column {name!r}"

    def column(self, role: str, accepted: Sequence[str], given: str | None = None) -> str | None:
        """Return the name of the column for a role, see `column_of`."""
        return column_of(self.file.name, self.names, role, accepted, given=given)

    def arrays(self, names: Sequence[str]) -> shadows.Arrays:
        """Return columns of any shape; refuse them if they and copies exceed the memory."""
        loaded = {name: self.get(name) for name in names}
        self.file.require(sum(array.nbytes for array in loaded.values()))
        return loaded

    def vector(self, name: str) -> Array:
        """Return a column as a 1-D array without its padding."""
        array = self.get(name)
        if array.ndim > 1 and array.size == max(array.shape):
            array = array.reshape(-1)
        if array.ndim != 1:
            many = "; scores in several models are for leakscore risk" if array.ndim == 2 else ""
            raise ValueError(
                f"{self.where(name)} of shape {array.shape} must hold one value per round{many}"
            )
        blank = 0 if self.padding is None else self.padding(name)
        return array[: array.size - blank]

    def numbers(self, name: str) -> Array:
        """Return a column of real numbers without NaN, in the file's dtype."""
        array = self.vector(name)
        if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
            raise ValueError(f"{self.where(name)} must hold numbers, not {array.dtype}")
        if array.dtype.kind == "f" and bool((missing := np.isnan(array)).any()):
            place = self.place(int(missing.argmax()))
            raise ValueError(f"{self.where(name)}, {place}: the score is missing or NaN")
        return array

    def bits(self, name: str) -> Flags:
        """Return a column of memberships, given as 1 and 0 or as words."""
        try:
            array = self.vector(name)
        except ValueError as error:
            raise ValueError(f"{error} (a membership is 1 or 0, or {', '.join(WORDS)})") from None
        if array.dtype.kind in "US":
            text = np.char.decode(array, "latin-1") if array.dtype.kind == "S" else array
            numbers = [BITS.get(word.strip().lower(), np.nan) for word in text.tolist()]
            bits = np.asarray(numbers, dtype=np.float64)
        elif array.dtype.kind in "fiub":
            bits = array
        else:
            raise ValueError(f"{self.where(name)} must hold 1 and 0, not {array.dtype}")
        wrong = (bits != 0) & (bits != 1)
        if bool(wrong.any()):
            row = int(wrong.argmax())
            raise ValueError(
                f"{self.where(name)}, {self.place(row)}: {array[row].item()!r} is neither 1 "
                "(member) nor 0 (non-member)"
            )
        return np.asarray(bits == 1)


def columns_of(file: files.File, options: ReadingOptions) -> ScoreColumns:
    """Return the columns of a file; its content decides its format."""
    inner, options = inner_file(file, options)
    if inner.is_json and options != ReadingOptions(max_memory=options.max_memory):
        raise ValueError(f"{inner.name} is JSON, so that options for its form mean nothing")
    if inner.is_json:
        return _json_columns(inner)
    if inner.kind == "npy":
        return _npy_columns(inner)
    if inner.kind == "npz":
        arrays = npy.load_npz(inner)
        return ScoreColumns(inner, "npz", tuple(arrays), lambda name: np.asarray(arrays[name]()))
    return _grid_columns(inner, options)


def _grid_columns(file: files.File, options: ReadingOptions) -> ScoreColumns:
    """Return the columns of a file of cells, without those that only count or name its rows."""
    options = replace(options, words=WORDS, complete=True)
    grid = grid_of(file, options)
    content = content_of(grid, options)
    columns = {column.name: column for column in content.columns}
    cells = {
        column.name.strip() or f"column {j}": column
        for j, column in enumerate(grid.columns, start=1)
    }
    # A column 1, 2, ... may hold scores that are ranks: its name decides whether it is an index.
    excluded = {
        name: column.excluded
        for name, column in columns.items()
        if column.excluded != INDEX or cells[name].index or named_as_rows(cells[name].name)
    }
    names = tuple(name for name in columns if excluded.get(name) != INDEX)

    def get(name: str) -> Array:
        if name in content.groups:
            return content.groups[name]
        column = columns[name]
        if column.refused:
            raise ValueError(column.refused)
        if why := excluded.get(name):
            raise ValueError(f"{file.name}, column {visible(name)!r} holds no numbers: {why}")
        typed = cells[name].typed
        return column.values if typed is None else typed

    return ScoreColumns(
        file,
        "csv" if file.kind == "text" else file.kind,
        names,
        get,
        tuple(content.notes),
        None if file.kind in ARROW else lambda name: blank_at_end(cells[name]),
        grid.place,
    )


def _npy_columns(file: files.File) -> ScoreColumns:
    array = npy.load_npy(file)
    if array.dtype.names is not None:
        return ScoreColumns(file, "npy", array.dtype.names, lambda name: np.asarray(array[name]))
    if array.ndim == 2:
        file.require(files.COLUMN_BYTES * array.shape[1])
        names = tuple(f"column {j}" for j in range(1, array.shape[1] + 1))
        return ScoreColumns(
            file, "npy", names, lambda name: np.asarray(array[:, names.index(name)])
        )
    return ScoreColumns(file, "npy", ("scores",), {"scores": np.asarray(array)}.__getitem__)


def _json_columns(file: files.File) -> ScoreColumns:
    document = files.load_json(file)
    if isinstance(document, dict) and isinstance(document.get("primitives"), dict):
        document = document["primitives"]  # LeakPro's CombinedMetricResult
    columns = document if isinstance(document, dict) else {}
    _refuse_sacro(file, columns)
    names = [name for name, value in columns.items() if isinstance(value, (list, int, float))]
    if not names:
        raise ValueError(f"{file.name} must hold a JSON object of lists")
    return ScoreColumns(
        file,
        "json",
        tuple(names),
        lambda name: files.array_of_json(file, name, _with_infinities(columns[name])),
    )


def _refuse_sacro(file: files.File, document: dict[str, Any]) -> None:
    """Refuse a report of SACRO-ML without scores, and name the archives that hold them."""
    experiments = [
        attack["attack_experiment_logger"]
        for attack in document.values()
        if isinstance(attack, dict) and isinstance(attack.get("attack_experiment_logger"), dict)
    ]
    if not experiments:
        return
    instances = [
        instance
        for experiment in experiments
        for instance in (experiment.get("attack_instance_logger") or {}).values()
        if isinstance(instance, dict)
    ]
    archives = [str(entry["arrays_file"]) for entry in instances if "arrays_file" in entry]
    where = f"in {listed(archives)}: audit one of them" if archives else "nowhere"
    raise ValueError(
        f"{file.name} is a report of SACRO-ML without the records' scores. They are {where}; an "
        "attack saves them if it runs with report_individual=True"
    )


def _with_infinities(value: Any) -> Any:
    """Return a list in which "inf" and "-inf" are numbers again."""
    if not isinstance(value, list):
        return value
    return [_INFINITE.get(cell, cell) if type(cell) is str else cell for cell in value]


# --- which columns are the scores ----------------------------------------------------------------


_MEMBERS = ("members", "member_scores", "member_losses")
_NONMEMBERS = (
    *("nonmembers", "nonmember_scores", "nonmember_losses"),
    *("non_members", "non_member_scores", "non_member_losses"),
)
_CONFUSION = ("tp", "fp", "tn", "fn")
_HISTOGRAM = ("edges", "member_counts", "nonmember_counts")
_OUTSIDE = ("below", "above")


@dataclass(frozen=True)
class Rounds:
    """A score and a membership for each round, in the order of the file."""

    scores: Array
    member: Flags
    form: ClassVar[str] = "rounds"


@dataclass(frozen=True)
class Samples:
    """The scores of members and of non-members."""

    members: Array
    nonmembers: Array
    form: ClassVar[str] = "samples"


@dataclass(frozen=True)
class BinCounts:
    """Counts of scores between edges; `below` and `above` are (members, non-members) outside."""

    edges: Array
    members: Array
    nonmembers: Array
    below: Array | None = None
    above: Array | None = None
    form: ClassVar[str] = "counts"


Data: TypeAlias = Rounds | Samples | BinCounts


@dataclass(frozen=True)
class LoadedScores:
    """The scores of one or two files.

    Attributes
    ----------
    files : tuple of File
        One file, or the members' and the non-members'.
    format : str
        Format of the first file.
    writer : str or None
        The program that writes such files, if their names show it.
    columns : dict
        Role (score, member, ...) -> name of the column.
    dtype : str
        Of the scores in the file.
    data : Rounds, Samples or BinCounts
    notes : tuple of str
        Decisions and assumptions of the reader that the user should see.
    attack : ShadowAttack or None
        The attack that computed the scores from outputs of shadow models.
    model_size : int or None
        Number of records in each shadow model, if it is so equal that no coins decided it.
    """

    files: tuple[files.File, ...]
    format: str
    writer: str | None
    columns: dict[str, str]
    dtype: str
    data: Data
    notes: tuple[str, ...]
    attack: shadows.ShadowAttack | None = None
    model_size: int | None = None


def read_scores(
    path: str,
    *,
    nonmembers: str | None = None,
    score: str | None = None,
    member: str | None = None,
    attack: str | None = None,
    few_records: bool = False,
    options: ReadingOptions | None = None,
    max_memory: int = files.MAX_MEMORY,
) -> LoadedScores:
    """Read the scores of a file.

    Parameters
    ----------
    path : str
        JSON or any format of tables; ``-`` is the standard input.
    nonmembers : str, optional
        A second file with the non-members' scores; the first then holds the members'.
    score, member : str, optional
        The columns; chosen by their names if not given.
    attack : str, optional
        One of `shadows.ATTACKS`, for a file of outputs of shadow models.
    few_records : bool
        Accept more shadow models than records, which otherwise count as a transposed file.
    options : ReadingOptions, optional
        How to read the files.
    max_memory : int
        Most bytes for each file and its unpacked contents.

    Returns
    -------
    LoadedScores

    Raises
    ------
    ValueError
        If the file is damaged or pickled, its columns are unclear, a score is NaN, a membership is
        neither 0 nor 1, or the lengths differ.
    ImportError
        If the library that reads the format is missing.
    """
    options = replace(options or ReadingOptions(), max_memory=max_memory)
    first = columns_of(files.open_file(path, max_memory), options)
    if attack is not None and (nonmembers is not None or score is not None or member is not None):
        raise ValueError("--attack takes arrays by their names, and no columns or second file")
    if nonmembers is None:
        if of_models := _score_models(first, score, member, attack=attack, few_records=few_records):
            return of_models
        return _read_columns(first, score, member)
    if member is not None:
        raise ValueError("a column of memberships means nothing where non-members have their file")
    second = columns_of(files.open_file(nonmembers, max_memory), options)
    names = [_sole_column(columns, score) for columns in (first, second)]
    inside, outside = first.numbers(names[0]), second.numbers(names[1])
    return LoadedScores(
        files=(first.file, second.file),
        format=first.format,
        writer=None,
        columns={"members": names[0], "nonmembers": names[1]},
        dtype=str(np.result_type(inside, outside)),
        data=Samples(inside, outside),
        notes=(*first.notes, *second.notes),
    )


def _score_models(
    columns: ScoreColumns,
    score: str | None,
    member: str | None,
    *,
    attack: str | None,
    few_records: bool,
) -> LoadedScores | None:
    """Score outputs of shadow models; return None for a file of scores."""
    plain_names = (*SCORE_NAMES, *_MEMBERS, "edges", "tp")
    plain = score or member or any(plain_name(name) in plain_names for name in columns.names)
    loaded = None if plain and attack is None else model_outputs(columns)
    if loaded is None and attack is not None:
        raise ValueError(
            f"{columns.file.name} holds no outputs of shadow models, so that --attack means "
            f"nothing: it takes an npz with {shadows.ARRAYS}; the file has "
            f"{listed(columns.names) or 'nothing'}"
        )
    if loaded is None:
        return None
    scored = shadows.score_targets(columns.file, loaded, attack, few_records=few_records)
    _require_both(columns.file.name, scored.member)
    roles = {name: name for name in scored.used}
    rounds = Rounds(scored.scores, scored.member)
    loaded_scores = _loaded_scores(columns, roles, np.dtype(scored.dtype), rounds)
    notes = (*columns.notes, *scored.notes)
    return replace(loaded_scores, notes=notes, attack=scored.attack, model_size=scored.model_size)


def model_outputs(columns: ScoreColumns) -> shadows.Arrays | None:
    """Return the arrays of shadow models; None if the file holds scores or is no npz."""
    names = [name for name in shadows.NAMES if name in columns.names]
    if columns.format != "npz" or not set(names) & {"signals", "logits", "included"}:
        return None
    loaded = columns.arrays(names)
    flat = [name for name in names if loaded[name].size == max(loaded[name].shape, default=1)]
    if len(flat) == len(names) and len(columns.names) <= 2:
        return None  # a column of scores and one of memberships
    return loaded


def _sole_column(columns: ScoreColumns, score: str | None) -> str:
    """Return the column of scores of a file that holds members or non-members only."""
    if member_column(columns, None) is not None:
        raise ValueError(f"{columns.file.name} has memberships of its own: audit it alone")
    name = columns.column("score", SCORE_NAMES, score)
    if name is None and len(columns.names) == 1:
        name = columns.names[0]
    if name is None:
        raise ValueError(_unclear_columns(columns))
    return name


def _read_columns(columns: ScoreColumns, score: str | None, member: str | None) -> LoadedScores:
    for reader in (_read_confusion, _read_histogram, _read_samples):
        if score is None and member is None and (loaded := reader(columns)) is not None:
            return loaded
    roles, notes = _score_and_member(columns, score, member)
    scores, bits = columns.numbers(roles["score"]), columns.bits(roles["member"])
    if scores.size != bits.size:
        blank = " (blank cells at the end left out)" if columns.padding is not None else ""
        raise ValueError(
            f"{columns.file.name}: {scores.size} scores, but {bits.size} memberships{blank}"
        )
    _require_both(columns.where(roles["member"]), bits)
    return _loaded_scores(columns, roles, scores.dtype, Rounds(scores, bits), *notes)


def _require_both(where: str, member: Flags) -> None:
    if member.all() or not member.any():
        missing = "non-members" if member.any() else "members"
        raise ValueError(f"{where}: there are no {missing}")


def _loaded_scores(
    columns: ScoreColumns, roles: dict[str, str], dtype: np.dtype[Any], data: Data, *notes: str
) -> LoadedScores:
    return LoadedScores(
        files=(columns.file,),
        format=columns.format,
        writer=_writer(columns),
        columns=roles,
        dtype=str(dtype),
        data=data,
        notes=(*columns.notes, *notes),
    )


def _writer(columns: ScoreColumns) -> str | None:
    names = set(columns.names)
    if columns.format == "npz" and {"scores", "memberships", "one_tenth_fpr"} <= names:
        return "Privacy Meter"
    if columns.format == "json" and "true_labels" in names:
        return "LeakPro"
    if set(_SACRO) <= names:
        return "SACRO-ML"
    return None


# --- a score and a membership a round ------------------------------------------------------------


def _score_and_member(
    columns: ScoreColumns, score: str | None, member: str | None
) -> tuple[dict[str, str], list[str]]:
    """Return the names of the columns of scores and memberships, and notes."""
    chosen = {
        "score": columns.column("score", SCORE_NAMES, score) or columns.column("score", LOSS_NAMES),
        "member": member_column(columns, member),
    }
    notes = []
    if len(columns.names) == 2 and None in chosen.values():
        remaining = [name for name in columns.names if name not in chosen.values()]
        chosen = {role: name or remaining.pop(0) for role, name in chosen.items()}
        notes.append(
            f"taken for the scores: {chosen['score']!r}, for the memberships: {chosen['member']!r}"
        )
    if len(columns.names) == 1:
        raise ValueError(
            f"{columns.file.name} holds one column only: which of the scores are members'? Give a "
            "second one with 1 and 0, or the non-members' scores with --nonmembers FILE"
        )
    roles = {role: name for role, name in chosen.items() if name is not None}
    for role in chosen:
        if role not in roles:
            raise ValueError(_unclear_columns(columns))
    if roles["score"] == roles["member"]:
        raise ValueError(f"{columns.where(roles['score'])} is named as score and as membership")
    return roles, notes


def member_column(columns: ScoreColumns, name: str | None) -> str | None:
    """Return the column of memberships: the named one, or the one with a usual name."""
    return columns.column("member", MEMBER_NAMES, name)


def plain_name(name: str) -> str:
    """Return a name in lower case, with underscores for spaces and hyphens."""
    return re.sub(r"[\s\-]+", "_", name.strip().lower())


def column_of(
    where: str, names: Sequence[str], role: str, accepted: Sequence[str], *, given: str | None
) -> str | None:
    """Return the given column, or the only one with an accepted name; None if there is none."""
    if given is not None:
        if given not in names:
            raise ValueError(no_column(where, given, names, f"--{role}"))
        return given
    matches = [name for name in names if plain_name(name) in accepted]
    if len(matches) > 1:
        raise ValueError(
            f"{where} has {len(matches)} columns that might be the {role}: {listed(matches)}; "
            "choose one" + (f" with --{role}" if role in ("score", "member") else "")
        )
    return matches[0] if matches else None


def _unclear_columns(columns: ScoreColumns) -> str:
    if not columns.names:
        return f"{columns.file.name} holds no columns"
    arrays = f"; or an npz with {shadows.ARRAYS}" if columns.format == "npz" else ""
    yes = ", ".join(word for word, bit in WORDS.items() if bit)
    return (
        f"{columns.file.name} has the columns {listed(columns.names)}: choose the scores with "
        f"--score COLUMN and who was in with --member COLUMN (known by name: "
        f"{', '.join((*SCORE_NAMES[:2], *LOSS_NAMES))} and {', '.join(MEMBER_NAMES[:5])}; "
        f"members have the cells 1, {yes}){arrays}"
    )


# --- other forms ---------------------------------------------------------------------------------


def _read_samples(columns: ScoreColumns) -> LoadedScores | None:
    """Read a column of members' scores and one of non-members', of any lengths."""
    inside = columns.column("members", _MEMBERS)
    outside = columns.column("nonmembers", _NONMEMBERS)
    pair = sorted(columns.names, reverse=True)
    if len(pair) == 2 and pair[0].replace("train", "test") == pair[1] != pair[0]:
        inside, outside = pair  # train_loss beside test_loss
    if inside is None or outside is None:
        return None
    members, nonmembers = columns.numbers(inside), columns.numbers(outside)
    for name, array in ((inside, members), (outside, nonmembers)):
        if not array.size:
            raise ValueError(f"{columns.where(name)} is empty")
    roles = {"members": inside, "nonmembers": outside}
    dtype = np.result_type(members, nonmembers)
    return _loaded_scores(columns, roles, dtype, Samples(members, nonmembers))


def _read_histogram(columns: ScoreColumns) -> LoadedScores | None:
    """Read counts between edges."""
    if not set(_HISTOGRAM) <= set(columns.names):
        return None
    edges, inside, outside = (columns.numbers(name) for name in _HISTOGRAM)
    beyond = {name: columns.numbers(name) for name in _OUTSIDE if name in columns.names}
    try:
        Audit.from_counts(edges, inside, outside, **beyond)
    except ValueError as error:
        raise ValueError(f"{columns.file.name}: {error}") from None
    roles = {name: name for name in (*_HISTOGRAM, *beyond)}
    return _loaded_scores(columns, roles, edges.dtype, BinCounts(edges, inside, outside, **beyond))


def _read_confusion(columns: ScoreColumns) -> LoadedScores | None:
    """Read LeakPro's confusion counts, which it writes for attacks that decide without a signal.

    Of K decisions, each flags all that the stricter ones flag. The score of a record is the number
    of decisions that flag it.
    """
    names = set(columns.names)
    if not set(_CONFUSION) <= names or names & {"signal_values", *SCORE_NAMES}:
        return None
    # float64: the sum of two small integers may not fit into the file's dtype.
    tp, fp, tn, fn = (columns.numbers(name).astype(np.float64) for name in _CONFUSION)
    where = columns.file.name
    counts = np.concatenate([tp, fp, tn, fn])
    whole = np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts))
    if len({tp.size, fp.size, tn.size, fn.size}) > 1 or not tp.size or not whole.all():
        raise ValueError(f"{where}: tp, fp, tn and fn are no counts of as many decisions")
    if np.ptp(tp + fn) or np.ptp(fp + tn):
        raise ValueError(f"{where}: tp + fn and fp + tn differ between decisions")
    columns.file.require(8 * int(tp[0] + fn[0] + fp[0] + tn[0]))
    order = np.lexsort((tp, fp))
    hits = [array[order].astype(np.int64) for array in (tp, fp)]
    if any(np.any(np.diff(array) < 0) for array in hits):
        raise ValueError(
            f"{where}: a decision with more false positives has fewer true positives, so that the "
            "decisions are no thresholds on one score"
        )
    flags = np.arange(tp.size, -1, -1, dtype=np.float64)
    members, nonmembers = (
        np.repeat(flags, np.diff(array, prepend=0, append=total))
        for array, total in zip(hits, (int((tp + fn)[0]), int((fp + tn)[0])), strict=True)
    )
    if not members.size or not nonmembers.size:
        missing = "non-members" if members.size else "members"
        raise ValueError(f"{where}: there are no {missing}")
    note = f"no scores, only the counts of {tp.size} decision(s): a record's score is how many flag"
    if tp.size > 1:
        note += " it; each is taken to flag all that a stricter one flags"
    else:
        note += " it"
    roles = {name: name for name in _CONFUSION}
    return _loaded_scores(columns, roles, np.dtype(np.float64), Samples(members, nonmembers), note)


# --- direction: losses are smaller for members, and a file does not say so -----------------------

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LOSSES = {
    *("bce", "ce", "distance", "distances", "error", "errors", "mae", "mse", "nll", "nlls"),
    *("perplexities", "perplexity", "ppl", "rmse", "surprisal", "xent"),
}
_ENDINGS = ("entropies", "entropy", "loss", "losses")  # crossentropy, logloss
_SCORES = ("score", "members", "nonmembers")  # roles of columns of scores


def require_direction(read: LoadedScores, alternative: str = "") -> None:
    """Refuse scores that are losses or distances by name: small ones may mean a member.

    `alternative` is added to the remedies in the message.
    """
    if read.attack is not None:
        return  # scores of shadow models are larger for members
    for name in _score_names(read):
        if _is_loss(name):
            raise ValueError(
                f"{read.files[0].name}: {name!r} is a loss or a distance by its name, and small "
                "ones usually mean a member: say --lower-is-member, or --higher-is-member if large "
                f"ones do, before you see the scores{alternative}"
            )


def _score_names(read: LoadedScores) -> list[str]:
    """Return the names of the columns of scores, and of the files if these have no names."""
    named = [name for role, name in read.columns.items() if role in _SCORES]
    if read.format == "npy" or all(re.fullmatch(r"column \d+", name) for name in named):
        named += [PurePath(file.name).stem for file in read.files]
    return named


def _is_loss(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name)]
    likelihood = any("lik" in word for word in words) and bool({"neg", "negative"} & set(words))
    return likelihood or any(word in _LOSSES or word.endswith(_ENDINGS) for word in words)
