"""Good calls of `Reference` and of what it is made of, for contract_table.py."""

from __future__ import annotations

from typing import Any

import numpy as np

import leakscore
from tests.contract import inputs as good
from tests.contract.inputs import Call


def _thin(
    mean: Any = good.TARGET, diagonal: Any = 1.0, factor: Any = good.SMALL[:4].T
) -> leakscore.Reference:
    return leakscore.Reference.low_rank(mean, diagonal, factor)


def _seen(X: Any, cov: Any = "full", **options: Any) -> Any:
    moments = leakscore.Moments(good.DIM, cov)
    moments.update(X)
    return moments.reference(**options).cov


def _part(columns: Any) -> Any:
    moments = leakscore.Moments(good.DIM)
    moments.update(good.SMALL)
    return moments.part(columns).cov


def _repeated(repeats: Any) -> Any:
    moments = leakscore.Moments(good.DIM)
    moments.update(good.SMALL, repeats)
    return moments.cov


def _merged(X: Any) -> Any:
    first, second = leakscore.Moments(good.DIM), leakscore.Moments(good.DIM)
    first.update(good.SMALL)
    second.update(X)
    first.merge(second)
    return leakscore.Moments.from_bytes(first.to_bytes()).cov


def _side_by_side(X: Any, **options: Any) -> Any:
    first = leakscore.ColumnGram(60, **options)
    second = leakscore.ColumnGram(60, **options)
    first.update(X)
    second.update(good.SMALL)
    first.merge(second)
    return first.reference().squared_mahalanobis(np.hstack([good.SMALL, good.SMALL]))


REFERENCES: dict[str, list[Call]] = {
    "Reference": [
        Call(leakscore.Reference, {"mean": good.TARGET, "cov": good.VARIANCES}),
        Call(leakscore.Reference, {"mean": good.TARGET, "cov": np.diag(good.VARIANCES) + 0.25}),
    ],
    "Reference.low_rank": [
        Call(_thin, {"mean": good.TARGET}),
        Call(_thin, {"diagonal": good.VARIANCES}, number_will_do=True),
        Call(lambda factor: _thin(factor=np.transpose(factor)), {"factor": good.SMALL[:4]}),
    ],
    "Reference.fit": [
        Call(lambda X: leakscore.Reference.fit(X, "low-rank", ridge=0.5), {"X": good.SMALL}),
        Call(leakscore.Reference.fit, {"X": good.TABLE}),
        Call(lambda X: leakscore.Reference.fit(X, "diagonal", ddof=1), {"X": good.TABLE}),
        Call(lambda X: leakscore.Reference.fit(X, shrinkage="auto"), {"X": good.TABLE}),
        Call(
            lambda shrinkage=0.5, ridge=1.0, ddof=1: leakscore.Reference.fit(
                good.SMALL, shrinkage=shrinkage, ridge=ridge, ddof=ddof
            ),
            scalars={
                "shrinkage": (0.5, (-0.1, 1.1, good.NAN, "none", 1j)),
                "ridge": (1.0, good.NO_POSITIVE),
                "ddof": (1, (-1, 60, 1.5, "1", None, True)),
            },
        ),
    ],
    "Reference.squared_mahalanobis": [
        Call(reference.squared_mahalanobis, {"Z": table})
        for reference in (good.PLAIN, good.FULL, good.THIN)
        for table in (good.TABLE, good.TARGET)
    ],
    "Reference.solve": [
        Call(r.solve, {"V": good.SMALL}) for r in (good.PLAIN, good.FULL, good.THIN)
    ],
    "Reference.inner": [
        Call(r.inner, {"U": good.TABLE, "V": good.TARGET})
        for r in (good.PLAIN, good.FULL, good.THIN)
    ],
    "Reference.add_diagonal": [
        Call(r.add_diagonal, {"variance": good.VARIANCES}, number_will_do=True)
        for r in (good.PLAIN, good.FULL, good.THIN)
    ],
    "Reference.with_precision": [
        Call(good.FULL.with_precision("single").squared_mahalanobis, {"Z": good.TABLE}),
        Call(
            lambda precision="single": good.FULL.with_precision(precision).mean,
            scalars={"precision": ("single", ("half", "", None, 32, b"single", True))},
        ),
    ],
    "Moments": [
        Call(lambda dim=3: leakscore.Moments(dim).count, scalars={"dim": (3, good.NO_COUNT)})
    ],
    "Moments.update": [
        Call(_seen, {"X": good.TABLE}),
        Call(lambda X: _seen(X, "diagonal", ddof=1), {"X": good.TABLE}),
        Call(_repeated, {"repeats": np.arange(1, 61)}),
    ],
    "Moments.part": [Call(_part, {"columns": np.arange(3)})],
    "Moments.merge": [Call(_merged, {"X": good.TABLE})],
    "Moments.from_bytes": [Call(_merged, {"X": good.TABLE})],
    "Moments.reference": [
        Call(
            lambda **given: _seen(good.SMALL, **given),
            scalars={
                "shrinkage": (0.5, (-0.1, 1.1, good.NAN, "auto", "none", 1j)),
                "ridge": (1.0, good.NO_POSITIVE),
                "ddof": (1, (-1, 60, 1.5, "1", None, True)),
            },
        )
    ],
    "ColumnGram": [
        Call(
            lambda rows=60, **given: (
                _side_by_side(good.SMALL, **given) if rows == 60 else leakscore.ColumnGram(rows)
            ),
            scalars={
                "rows": (60, (*good.NO_COUNT, 1)),
                "shrinkage": (0.5, (-0.1, 1.1, good.NAN, "oas", 1j)),
                "ridge": (1.0, good.NO_POSITIVE),
                "ddof": (1, (-1, 60, 1.5, "1", None, True)),
            },
        )
    ],
    "ColumnGram.update": [Call(_side_by_side, {"X": good.SMALL})],
    "ColumnGram.merge": [Call(_side_by_side, {"X": good.SMALL})],
}
