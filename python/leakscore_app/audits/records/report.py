"""A table of records as text, as a page and as JSON: which leak, and whether that was predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.shadow.records.ranking import ranking
from leakscore.shadow.records.risk import RecordRisk
from leakscore.shadow.sides import arrays
from leakscore.typing import Doubles
from leakscore_app.audits.records import sections
from leakscore_app.audits.records.listing import Listing
from leakscore_app.document import html, text

_DOTS = 1500  # of a chart: the rest would be drawn over each other


@dataclass(frozen=True, eq=False)
class RiskReport(Listing):
    """What `risk_report` returns: a line a record, the worst first.

    Attributes
    ----------
    attack : str
        By whose shifts the records are in order.
    records : ndarray of int64
        Indices of the records that are listed.
    names : tuple of str
        What they are called.
    shift, shift_low, shift_high, power, power_low, false_positive_rate : ndarray
        Of these records, as in `RecordRisk`.
    certified : ndarray of bool
        Of these records.
    epsilon, prediction : ndarray or None
        Of these records, if they are known.
    attacks : tuple of str
        All of the table, the axis of the next four.
    correlation, correlation_low, correlation_high : ndarray or None
        Spearman's rank correlation of the prediction with each attack's shifts, over all records,
        with its interval; NaN for fewer than 10 records or if all are alike.
    correlation_ceiling : ndarray or None
        What a perfect prediction would come to, as the measured shifts have errors: about the root
        of the share of their variance that the errors leave; no bound.
    n_records, n_certified : int
        Of all records, by this attack.
    fpr, least_power, confidence : float
        As given to `risk`.
    assumptions : tuple of str
        What must be true.
    drawn_prediction, drawn_shift : ndarray or None
        Of the records in the page's chart, some of them if there are many.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import shadow
    >>> included = np.random.default_rng(0).random((64, 20)) < 0.5
    >>> scores = np.random.default_rng(1).normal(size=(64, 20)) + 9.0 * included * np.eye(20)[3]
    >>> page = leakscore_app.risk_report(shadow.risk(scores, included), prediction=np.eye(20)[3])
    >>> int(page.records[0]), page.n_records
    (3, 20)
    """

    def to_text(self, width: int = 80) -> str:
        """Return the report as aligned plain text.

        Parameters
        ----------
        width : int
            Of a line, in characters, from 1 on; one below 60 counts as 60.

        Returns
        -------
        str

        Raises
        ------
        TypeError, ValueError
            If `width` is no integer from 1 on.
        """
        return text.render(sections.document(self), width)

    def to_html(self) -> str:
        """Return the report as one self-contained page: inline style and chart, no script.

        Returns
        -------
        str
        """
        return html.render(sections.document(self))

    def _repr_html_(self) -> str:
        """Show a notebook the page, in a frame that runs nothing and fetches nothing."""
        return html.framed(self.to_html())


def risk_report(
    table: RecordRisk,
    *,
    prediction: npt.ArrayLike | None = None,
    names: Sequence[str] | None = None,
    attack: int = 0,
    count: int = 20,
) -> RiskReport:
    """Lay out a table of records, the worst first, beside what was predicted of them.

    Parameters
    ----------
    table : RecordRisk
        From `risk`.
    prediction : (N,) array_like, optional
        What was expected of each record before any target was trained, as `logistic_law(...).shift`
        or a leverage; larger means more at risk.
    names : sequence of str, optional
        What the records are called; by default their indices.
    attack : int
        Which attack of the table puts the records in order, from 0.
    count : int
        How many records are listed.

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
    have errors, no prediction reaches a correlation of 1: `correlation_ceiling` says about what a
    perfect one would come to.

    Examples
    --------
    >>> import numpy as np
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
        raise TypeError(f"Expected table to be a RecordRisk of leakscore.shadow.risk, not {table}")
    row = validation.count("attack", attack, 0, len(table.attacks) - 1)
    size = table.shift.shape[1]
    expected = None if prediction is None else _prediction(prediction, size)
    called = tuple(map(str, range(size))) if names is None else _names(names, size)
    which = table.top(validation.count("count", count, 1), attack=row)
    return RiskReport(
        attack=table.attacks[row],
        records=which,
        names=tuple(called[record] for record in which),
        **{field: getattr(table, field)[row, which] for field in sections.COLUMNS},
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
        **_drawn(expected, table.shift[row]),
    )


def _prediction(values: npt.ArrayLike, size: int) -> Doubles:
    found = validation.real_array("prediction", values)
    if found.shape != (size,):
        raise ValueError(
            f"Expected prediction of shape {found.shape} to be ({size},), one a record of table"
        )
    arrays.finite("prediction", found, "leave such records out of scores, included and prediction")
    return found.astype(np.float64)


def _names(names: Sequence[str], size: int) -> tuple[str, ...]:
    if isinstance(names, str) or len(names) != size:
        raise ValueError(f"Expected names to be a sequence of {size}, one a record of table")
    return tuple(map(str, names))


def _rankings(table: RecordRisk, prediction: Doubles | None) -> dict[str, Any]:
    """Correlate the prediction with the shifts of each attack."""
    fields = ("correlation", "correlation_low", "correlation_high", "correlation_ceiling")
    if prediction is None:
        return dict.fromkeys(fields)
    widths = table.shift_high - table.shift_low
    found = [
        ranking(prediction, *of, table.confidence) for of in zip(table.shift, widths, strict=True)
    ]
    return dict(zip(fields, np.array(found).T, strict=True))


def _drawn(prediction: Doubles | None, shift: Doubles) -> dict[str, Any]:
    """Return what is drawn: of many records some, by their ranks, so that both ends are there."""
    if prediction is None:
        return {"drawn_prediction": None, "drawn_shift": None}
    some = np.flatnonzero(np.isfinite(shift))
    if some.size > _DOTS:
        order = some[np.argsort(shift[some], kind="stable")]
        some = order[np.linspace(0, order.size - 1, _DOTS).round().astype(np.int64)]
    return {"drawn_prediction": prediction[some], "drawn_shift": shift[some]}
