"""The report on single records, as text, page and JSON: which leak, and were they predicted.

An npz archive holds ``scores`` (S, N) or (A, S, N) of N records in S target models by A attacks,
and ``included`` (S, N), 1 where a model was trained on a record. Or it holds outputs of shadow
models (`shadows`), each of which is scored by the others. ``prediction`` (N,) is the expected risk
of each record.

The JSON has every field of `RiskReport`. For a file it also has its input (name, arrays, targets,
attack as of ``leakscore audit``, notes) and notices: the reasons why no record could be certified.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import shadow, validation
from leakscore.shadow import RecordRisk, arrays
from leakscore.shadow.records import ranking
from leakscore.typing import Array, Doubles
from leakscore_app._visible import counted, listed, visible
from leakscore_app.audits import shadows, words
from leakscore_app.audits.model import percent
from leakscore_app.audits.scores import MEMBER_NAMES, ScoreColumns, columns_of, model_outputs
from leakscore_app.document import Axis, Chart, nice_ticks
from leakscore_app.document import document as doc
from leakscore_app.document.document import HIDDEN, Findings
from leakscore_app.tables import ReadingOptions, files

_COLUMNS = ("shift", "shift_low", "shift_high", "power", "power_low", "false_positive_rate")
_DOTS = 1500  # of a chart, at most: more would cover each other


@dataclass(frozen=True, eq=False, kw_only=True)
class RiskReport(Findings):
    """What `risk_report` returns: a line for each record, the worst first.

    Attributes
    ----------
    attack : str
        The attack by whose shifts the records are ordered.
    records : ndarray of int64
        Indices of the listed records.
    names : tuple of str
        Names of the listed records.
    shift, shift_low, shift_high, power, power_low, false_positive_rate : ndarray
        Of the listed records, as in `RecordRisk`.
    certified : ndarray of bool
        Of the listed records.
    epsilon, prediction : ndarray or None
        Of the listed records, if there are any.
    attacks : tuple of str
        All attacks of the table, in the order of the next four arrays.
    correlation, correlation_low, correlation_high : ndarray or None
        Spearman's rank correlation of the prediction with each attack's shifts, over all records,
        with its interval; NaN for fewer than 10 records or if all are equal.
    correlation_ceiling : ndarray or None
        The correlation that a perfect prediction would reach, as measured shifts have errors: about
        the root of the share of the shifts' variance that is not error. It is no bound.
    n_records, n_certified : int
        Numbers of all records and of the certified ones, by this attack.
    fpr, least_power, confidence : float
        The arguments of `risk`.
    assumptions : tuple of str
        The assumptions behind the numbers.
    drawn_prediction, drawn_shift : ndarray or None
        Of the records in the page's chart: all, or a part of many.
    input : dict or None
        The source of the scores: file, arrays, targets, attack and notes of ``leakscore risk``.
    notices : tuple of Notice
        Warnings that void the verdict.

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore_app
    >>> from leakscore import shadow
    >>> included = np.random.default_rng(0).random((64, 20)) < 0.5
    >>> scores = np.random.default_rng(1).normal(size=(64, 20)) + 9.0 * included * np.eye(20)[3]
    >>> page = leakscore_app.risk_report(shadow.risk(scores, included), prediction=np.eye(20)[3])
    >>> int(page.records[0]), page.n_records
    (3, 20)
    """

    command = "risk"

    input: Mapping[str, Any] | None = None
    attack: str
    records: npt.NDArray[np.int64]
    names: tuple[str, ...]
    shift: Doubles
    shift_low: Doubles
    shift_high: Doubles
    power: Doubles
    power_low: Doubles
    false_positive_rate: Doubles
    certified: npt.NDArray[np.bool_]
    epsilon: Doubles | None
    prediction: Doubles | None
    attacks: tuple[str, ...]
    correlation: Doubles | None
    correlation_low: Doubles | None
    correlation_high: Doubles | None
    correlation_ceiling: Doubles | None
    n_records: int
    n_certified: int
    fpr: float
    least_power: float
    confidence: float
    assumptions: tuple[str, ...]
    drawn_prediction: Doubles | None
    drawn_shift: Doubles | None
    notices: tuple[doc.Notice, ...] = field(default=(), metadata=HIDDEN)

    @property
    def inconclusive(self) -> bool:
        """Whether no record is certified, and none could be."""
        return bool(self.notices) and not self.n_certified

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, words, lists and dicts."""
        plain = super().to_dict()
        if self.input is None:  # a table of the library has no file
            del plain["input"], plain["notices"]
        return plain

    def document(self) -> doc.Document:
        """Return the sections of the text and the page."""
        sections = [doc.Section("The records that leak most", [_records_table(self)])]
        if self.correlation is not None:
            parts = list(_prediction_parts(self))
            sections.append(doc.Section("Does the prediction rank the records?", parts))
        sections.append(words.assumptions_section(self.assumptions, "The numbers hold if"))
        limits = [
            "A record that is not certified may leak: few target models certify none, and another "
            "attack may find it.",
            "A record with a large power and a large false-positive rate is accused whether it is "
            "in or not.",
        ]
        notes = [doc.note("limit", sentence) for sentence in limits]
        sections.append(doc.Section("What this does not show", [doc.Notices(notes)]))
        if self.input is not None:
            sections.append(words.input_section(_input_facts(self.input)))
        head = [list(_head(self))]
        if self.notices:
            head.insert(0, [doc.Notices(self.notices)])
        return doc.Document("leakscore: the risk of records", head, sections)


def risk_report(
    table: RecordRisk,
    *,
    prediction: npt.ArrayLike | None = None,
    names: Sequence[str] | None = None,
    attack: int = 0,
    count: int = 20,
) -> RiskReport:
    """Report on a table of records, the worst first, with their predicted risk.

    Parameters
    ----------
    table : RecordRisk
        From `risk`.
    prediction : (N,) array_like, optional
        The expected risk of each record before any target was trained, as
        `logistic_law(...).shift` or a leverage; larger means more at risk.
    names : sequence of str, optional
        Names of the records; by default their indices.
    attack : int
        Number of the attack, from 0, that orders the records.
    count : int
        Number of records to list.

    Returns
    -------
    RiskReport

    Raises
    ------
    TypeError, ValueError
        If `table` is no `RecordRisk`, lengths do not fit, or an argument is out of range.

    Notes
    -----
    The interval of a rank correlation treats records as drawn independently. As measured shifts
    have errors, no prediction reaches a correlation of 1: `correlation_ceiling` is about the
    correlation of a perfect one.

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore_app
    >>> from leakscore import shadow
    >>> rng = np.random.default_rng(0)
    >>> included = rng.random((64, 200)) < 0.5
    >>> gain = np.linspace(0, 3, 200)
    >>> table = shadow.risk(rng.normal(size=(64, 200)) + gain * included, included)
    >>> page = leakscore_app.risk_report(table, prediction=gain, count=5)
    >>> bool(page.correlation_low[0] > 0.9), page.to_html()[:15]
    (True, '<!DOCTYPE html>')
    """
    if not isinstance(table, RecordRisk):
        raise TypeError(f"table must be a RecordRisk of leakscore.shadow.risk, not {table}")
    row = validation.count("attack", attack, 0, len(table.attacks) - 1)
    size = table.shift.shape[1]
    expected = None if prediction is None else _prediction(prediction, size)
    labels = tuple(map(str, range(size))) if names is None else _record_names(names, size)
    which = table.top(validation.count("count", count, 1), attack=row)
    return RiskReport(
        attack=table.attacks[row],
        records=which,
        names=tuple(labels[record] for record in which),
        **{field: getattr(table, field)[row, which] for field in _COLUMNS},
        certified=table.certified[row, which],
        epsilon=None if table.epsilon is None else table.epsilon[row, which],
        prediction=None if expected is None else expected[which],
        attacks=table.attacks,
        **_rankings(table, expected),
        n_records=size,
        n_certified=int(table.n_certified[row]),
        fpr=table.fpr,
        least_power=table.least_power,
        confidence=table.confidence,
        assumptions=table.assumptions,
        **_chart_points(expected, table.shift[row]),
    )


def _prediction(values: npt.ArrayLike, size: int) -> Doubles:
    prediction = validation.real_array("prediction", values)
    if prediction.shape != (size,):
        raise ValueError(
            f"prediction of shape {prediction.shape} must be ({size},), one a record of table"
        )
    arrays.finite(
        "prediction", prediction, "leave such records out of scores, included and prediction"
    )
    return prediction.astype(np.float64)


def _record_names(names: Sequence[str], size: int) -> tuple[str, ...]:
    if isinstance(names, str) or len(names) != size:
        raise ValueError(f"names must be a sequence of {size}, one a record of table")
    return tuple(map(str, names))


def _rankings(table: RecordRisk, prediction: Doubles | None) -> dict[str, Any]:
    """Return the rank correlations of the prediction with the shifts of each attack."""
    fields = ("correlation", "correlation_low", "correlation_high", "correlation_ceiling")
    if prediction is None:
        return dict.fromkeys(fields)
    widths = table.shift_high - table.shift_low
    rankings = [
        ranking(prediction, *of, table.confidence) for of in zip(table.shift, widths, strict=True)
    ]
    return dict(zip(fields, np.array(rankings).T, strict=True))


def _chart_points(prediction: Doubles | None, shift: Doubles) -> dict[str, Any]:
    """Return the points of the chart; of many records a part, evenly by rank, with both ends."""
    if prediction is None:
        return {"drawn_prediction": None, "drawn_shift": None}
    points = np.flatnonzero(np.isfinite(shift))
    if points.size > _DOTS:
        order = points[np.argsort(shift[points], kind="stable")]
        points = order[np.linspace(0, order.size - 1, _DOTS).round().astype(np.int64)]
    return {"drawn_prediction": prediction[points], "drawn_shift": shift[points]}


def _head(report: RiskReport) -> Iterator[doc.Part]:
    are = "is" if report.n_certified == 1 else "are"
    yield doc.Heading(
        f"{report.n_certified} of {counted(report.n_records, 'record')} {are} certified to be "
        f"found in more than {percent(report.least_power)} of the models that were trained on them"
    )
    yield doc.Paragraph(
        f"The threshold of the attack ({visible(report.attack)}) accuses {percent(report.fpr)} of "
        f"all non-members. With {percent(report.confidence)} confidence no record is certified "
        "wrongly.",
        "lead",
    )


def _records_table(report: RiskReport) -> doc.TextTable:
    columns: dict[str, Iterable[str]] = {
        "record": map(visible, report.names),
        "shift": _number_texts(report.shift),
        "from": _number_texts(report.shift_low),
        "to": _number_texts(report.shift_high),
        "found": _number_texts(report.power),
        "at least": _number_texts(report.power_low, down=True),
        "false\nalarms": _number_texts(report.false_positive_rate),
        "certified": ["yes" if certified else "no" for certified in report.certified],
    }
    if report.epsilon is not None:
        columns["epsilon\nat least"] = _number_texts(report.epsilon, down=True)
    if report.prediction is not None:
        columns["predicted"] = _number_texts(report.prediction)
    caption = (
        "Records are counted from 0, as in the arrays. In order of the lower end of the shift: "
        "how far the record moves its score, in standard "
        f"deviations, with its {percent(report.confidence)} interval; in what share of the models "
        "it was found, each record by itself"
    )
    return doc.TextTable.of(columns, caption, words=["record", "certified"])


def _prediction_parts(report: RiskReport) -> Iterator[doc.Part]:
    columns: dict[str, Iterable[str]] = {
        "attack": map(visible, report.attacks),
        "rank\ncorrelation": _number_texts(report.correlation),
        "from": _number_texts(report.correlation_low),
        "to": _number_texts(report.correlation_high),
        "perfect": _number_texts(report.correlation_ceiling),
    }
    caption = (
        f"Of the prediction with the measured shifts, with {percent(report.confidence)} "
        "intervals; perfect: about what the true shifts would come to, as the measured ones have "
        "errors"
    )
    yield doc.TextTable.of(columns, caption, words=["attack"])
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


def _number_texts(values: Doubles | None, *, down: bool = False) -> list[str]:
    return [] if values is None else [_number_text(float(value), down=down) for value in values]


def _number_text(value: float, *, down: bool = False) -> str:
    """Return two decimals, rounded down for a bound; a dash for NaN."""
    if math.isnan(value):
        return "-"
    return words.lower_bound(value) if down and math.isfinite(value) else f"{value:.2f}"


_OUTPUTS = ("signals", "logits")
_OTHER_NAMES = [name for name in MEMBER_NAMES if name != "included"]
_FORMATS = (
    "an npz with scores (S, N) of N records in S target models, or (A, S, N) by A attacks, and "
    f"included (S, N), also by the name {', '.join(_OTHER_NAMES)}; or with "
    f"{shadows.ARRAYS}"
)


@dataclass(frozen=True)
class ScoredRecords:
    """The scores of records by one attack or more, and their source.

    Attributes
    ----------
    file : File
    used : tuple of str
        Names of the arrays that were read.
    scores : dict
        Name of an attack -> its scores, (S, N).
    included : ndarray, shape (S, N)
    prediction : ndarray or None
    attack : ShadowAttack or None
        The attack that computed the scores from outputs of shadow models.
    notes : tuple of str
    """

    file: files.File
    used: tuple[str, ...]
    scores: Mapping[str, Array]
    included: Array
    prediction: Array | None
    attack: shadows.ShadowAttack | None
    notes: tuple[str, ...]


def read_records(
    path: str,
    *,
    attack: str | None = None,
    few_records: bool = False,
    max_memory: int = files.MAX_MEMORY,
) -> ScoredRecords:
    """Read scores from a file, or score its shadow models by an attack of `shadows.ATTACKS`."""
    file = files.open_file(path, max_memory)
    if file.kind != "npz":
        raise ValueError(f"{file.name} is no npz archive: leakscore risk takes {_FORMATS}")
    columns = columns_of(file, ReadingOptions(max_memory=max_memory))
    outputs = [name for name in _OUTPUTS if name in columns.names]
    if "scores" in columns.names and outputs:
        raise ValueError(f"{file.name} holds scores and {outputs[0]}: keep those to judge by")
    if outputs:
        return _score_models(columns, attack, few_records=few_records)
    for name, accepted in (("scores", ("scores",)), ("included", MEMBER_NAMES)):
        if not set(accepted) & set(columns.names):
            raise ValueError(
                f"{file.name} has no array {name!r}; it has {listed(columns.names)}. leakscore "
                f"risk takes {_FORMATS} (one score a round is for leakscore audit)"
            )
    if attack is not None:
        raise ValueError(f"{file.name} holds scores, so that --attack {attack} means nothing")
    return _load_scores(columns, few_records=few_records)


def _load_scores(columns: ScoreColumns, *, few_records: bool) -> ScoredRecords:
    member = next(name for name in ("included", *MEMBER_NAMES) if name in columns.names)
    names = [name for name in ("scores", member, "prediction") if name in columns.names]
    loaded = columns.arrays(names)
    scores = loaded["scores"]
    if scores.ndim not in (2, 3) or not scores.size:
        raise ValueError(
            f"{columns.file.name}: scores of shape {scores.shape} must be (S, N), target "
            "models and records, or (A, S, N) by A attacks, and not be empty"
        )
    if "prediction" not in loaded:  # its length is the number of records
        shadows.require_models_first(columns.file, scores, loaded[member], few_records=few_records)
    each = {"scores": scores} if scores.ndim == 2 else {f"{a}": s for a, s in enumerate(scores)}
    return ScoredRecords(
        columns.file,
        tuple(names),
        each,
        loaded[member],
        loaded.get("prediction"),
        None,
        columns.notes,
    )


def _score_models(columns: ScoreColumns, attack: str | None, *, few_records: bool) -> ScoredRecords:
    """Score each shadow model by the others; the file's own target is not used."""
    loaded = model_outputs(columns)
    if loaded is None:
        raise ValueError(f"{columns.file.name} holds vectors: leakscore risk takes {_FORMATS}")
    unused = [name for name in ("observed", "observed_logits", "member") if name in loaded]
    of_models = {name: array for name, array in loaded.items() if name not in unused}
    prediction = columns.get("prediction") if "prediction" in columns.names else None
    few_records = few_records or prediction is not None  # its length is the number of records
    targets = shadows.score_targets(columns.file, of_models, attack, few_records=few_records)
    used = (*targets.used, *(() if prediction is None else ("prediction",)))
    more = [f"{listed(unused)}: not used, a record is judged by many models"] if unused else []
    if targets.attack.tried is not None:
        more.append(
            "the attack was chosen by these scores, for which no confidence pays: name one with "
            "--attack for bounds that count"
        )
    included = np.asarray(loaded["included"])
    return ScoredRecords(
        columns.file,
        used,
        {targets.attack.name: targets.scores.reshape(included.shape)},
        targets.member.reshape(included.shape),
        prediction,
        targets.attack,
        (*columns.notes, *targets.notes, *more),
    )


def judge(
    scored: ScoredRecords,
    *,
    fpr: float = 0.01,
    least_power: float = 0.5,
    confidence: float = 0.95,
    delta: float | None = None,
    worst: int = 20,
    order_by: int = 0,
) -> RiskReport:
    """Judge every record of a file; the arguments are those of `risk` and `risk_report`."""
    row = validation.count("order_by", order_by, 0, len(scored.scores) - 1)
    most = validation.count("worst", worst, 1)
    try:
        table = shadow.risk(
            scored.scores,
            scored.included,
            fpr=fpr,
            least_power=least_power,
            confidence=confidence,
            delta=delta,
        )
        report = risk_report(table, prediction=scored.prediction, attack=row, count=most)
        source = {
            "file": {"name": scored.file.name, "sha256": scored.file.sha256},
            "arrays": scored.used,
            "targets": len(scored.included),
            "attack": scored.attack,
            "notes": scored.notes,
        }
        return replace(report, input=source, notices=tuple(_doubts(scored, table, row)))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{scored.file.name}: {error}") from None


def _input_facts(source: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield names and values on the source of the scores."""
    yield "file", f"{source['file']['name']} (sha256 {source['file']['sha256']})"
    yield "read", f"{', '.join(source['arrays'])}; {source['targets']} target models"
    if source["attack"] is not None:
        yield "attack", words.attack_phrase(source["attack"])
    for note in source["notes"]:
        yield "note", note


def _doubts(scored: ScoredRecords, table: shadow.RecordRisk, row: int) -> Iterator[doc.Notice]:
    """Yield the reasons why no record could be certified, even one that leaks."""
    scores, records = scored.scores[table.attacks[row]], table.shift.shape[1]
    if bool((scores == scores[0, 0]).all()):
        text = "All scores are equal: that is no evidence, neither for nor against any record."
        yield doc.warning("constant-scores", text)
        return
    most = int(np.count_nonzero(scored.included, axis=0).max())
    if table.least_power**most > (1.0 - table.confidence) / records:
        yield doc.note(
            "too-few-models",
            f"No record is in more than {most} models: even one that is found in all of them "
            f"cannot be certified among {records}. More target models can.",
        )
    low, high = table.shift_low[row], table.shift_high[row]
    if np.count_nonzero(high < 0.0) > max(0.2 * records, 2 * np.count_nonzero(low > 0.0), 4):
        yield doc.warning(
            "shifts-below-zero",
            f"{np.count_nonzero(high < 0.0)} of {records} records score lower where they are in: "
            "the scores may be reversed. Larger scores must mean a member.",
        )
