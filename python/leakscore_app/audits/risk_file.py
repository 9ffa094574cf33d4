"""The records of an npz archive, judged one by one.

``scores`` (S, N) or (A, S, N) of N records in S target models by A attacks, and ``included``
(S, N), who was trained on what. Or the outputs of shadow models (`shadows`), each the target of the
others. ``prediction`` (N,) is what was expected of each record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakscore import shadow, validation
from leakscore.typing import Array
from leakscore_app._visible import listed
from leakscore_app.audits import shadows, words
from leakscore_app.audits.columns import ScoreColumns, columns_of
from leakscore_app.audits.risk import RiskReport, listing
from leakscore_app.document.document import Notice
from leakscore_app.tables import files, memory_limit
from leakscore_app.tables.cells import ReadingOptions

_OUTPUTS = ("signals", "logits")
_NEEDED = (
    "an npz with scores (S, N) of N records in S target models, or (A, S, N) by A attacks; or "
    "signals (K, N) of K shadow models, or logits (K, N, C) and labels; and included (S, N) or "
    "(K, N)"
)


@dataclass(frozen=True)
class ScoredRecords:
    """The scores of records by one attack or more, and what they were made of.

    Attributes
    ----------
    file : File
    used : tuple of str
        The arrays that were read.
    scores : dict
        Of each attack by its name, (S, N).
    included : ndarray, shape (S, N)
    prediction : ndarray or None
    attack : Attack or None
        What made the scores of the outputs of shadow models.
    notes : tuple of str
    """

    file: files.File
    used: tuple[str, ...]
    scores: Mapping[str, Array]
    included: Array
    prediction: Array | None
    attack: shadows.ShadowAttack | None
    notes: tuple[str, ...]


def read(
    path: str,
    *,
    attack: str | None = None,
    few_records: bool = False,
    max_memory: int = memory_limit.DEFAULT,
) -> ScoredRecords:
    """Read the scores of a file, or those of shadow models by an attack of `shadows.ATTACKS`."""
    file = files.open_file(path, max_memory)
    if file.kind != "npz":
        raise ValueError(f"{file.name} is no npz archive: leakscore risk takes {_NEEDED}")
    columns = columns_of(file, ReadingOptions(max_memory=max_memory))
    outputs = [name for name in _OUTPUTS if name in columns.names]
    if "scores" in columns.names and outputs:
        raise ValueError(f"{file.name} holds scores and {outputs[0]}: keep those to judge by")
    if outputs:
        return _of_models(columns, attack, few_records=few_records)
    for name in ("scores", "included"):
        if name not in columns.names:
            raise ValueError(
                f"{file.name} has no array {name!r}: leakscore risk takes {_NEEDED}; here is "
                f"{listed(columns.names)}"
            )
    if attack is not None:
        raise ValueError(f"{file.name} holds scores, so that --attack {attack} means nothing")
    return _of_scores(columns, few_records=few_records)


def _of_scores(columns: ScoreColumns, *, few_records: bool) -> ScoredRecords:
    names = [name for name in ("scores", "included", "prediction") if name in columns.names]
    loaded = {name: columns.get(name) for name in names}
    columns.file.require(sum(array.nbytes for array in loaded.values()))
    scores = loaded["scores"]
    if scores.ndim not in (2, 3) or not scores.size:
        raise ValueError(
            f"{columns.file.name}: Expected scores of shape {scores.shape} to be (S, N), target "
            "models and records, or (A, S, N) by A attacks, and not to be empty"
        )
    if "prediction" not in loaded:  # which tells the records
        shadows.require_models_first(
            columns.file, scores, loaded["included"], few_records=few_records
        )
    each = {"scores": scores} if scores.ndim == 2 else {f"{a}": s for a, s in enumerate(scores)}
    return ScoredRecords(
        columns.file,
        tuple(names),
        each,
        loaded["included"],
        loaded.get("prediction"),
        None,
        columns.notes,
    )


def _of_models(columns: ScoreColumns, attack: str | None, *, few_records: bool) -> ScoredRecords:
    """Score each shadow model by the others; a target of the file is none of them."""
    loaded = shadows.arrays_of(columns)
    if loaded is None:
        raise ValueError(f"{columns.file.name} holds vectors: leakscore risk takes {_NEEDED}")
    unused = [name for name in ("observed", "observed_logits", "member") if name in loaded]
    of_models = {name: array for name, array in loaded.items() if name not in unused}
    prediction = columns.get("prediction") if "prediction" in columns.names else None
    few_records = few_records or prediction is not None  # which tells the records
    scored = shadows.scored(columns.file, of_models, attack, few_records=few_records)
    used = (*scored.used, *(() if prediction is None else ("prediction",)))
    more = [f"{listed(unused)}: not used, a record is judged by many models"] if unused else []
    if scored.attack.tried is not None:
        more.append(
            "the attack was chosen by these scores, for which no confidence pays: name one with "
            "--attack for bounds that count"
        )
    included = np.asarray(loaded["included"])
    return ScoredRecords(
        columns.file,
        used,
        {scored.attack.name: scored.scores.reshape(included.shape)},
        scored.member.reshape(included.shape),
        prediction,
        scored.attack,
        (*columns.notes, *scored.notes, *more),
    )


def judge(
    read: ScoredRecords,
    *,
    fpr: float = 0.01,
    least_power: float = 0.5,
    confidence: float = 0.95,
    delta: float | None = None,
    worst: int = 20,
    order_by: int = 0,
) -> RiskReport:
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
        return listing(
            table,
            read.prediction,
            attack=row,
            count=most,
            input=_input(read),
            read=tuple(_said_of(read)),
            notices=tuple(_doubts(read, table, row)),
        )
    except (ValueError, TypeError) as error:
        raise ValueError(f"{read.file.name}: {error}") from None


def _input(read: ScoredRecords) -> dict[str, Any]:
    return {
        "file": {"name": read.file.name, "sha256": read.file.sha256},
        "arrays": read.used,
        "targets": len(read.included),
        "attack": read.attack,
        "notes": read.notes,
    }


def _said_of(read: ScoredRecords) -> Iterator[tuple[str, str]]:
    """Say where the scores come from."""
    yield "file", f"{read.file.name} (sha256 {read.file.sha256})"
    yield "read", f"{', '.join(read.used)}; {len(read.included)} target models"
    if read.attack is not None:
        yield "attack", words.attack(read.attack)
    for note in read.notes:
        yield "note", note


def _doubts(read: ScoredRecords, table: shadow.RecordRisk, row: int) -> Iterator[Notice]:
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
