"""Scores that are polynomials in the release, for independent coordinates of any law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.reference import Reference
from leakscore.scores import scoring
from leakscore.typing import Array, Doubles

Kernel: TypeAlias = Callable[..., tuple[Doubles, int]]


@dataclass(frozen=True, eq=False)
class SeriesMoments:
    """Releases, targets and the moments of one record, validated."""

    observed: Array
    target: Array
    reference: Reference
    n: int
    skewness: Doubles
    kurtosis: Doubles

    def score(self, kernel: Kernel, *parameters: float) -> float | Doubles:
        """Run a compiled score with the number of records and its other arguments."""
        record = self.reference
        moments = (record.mean, record.variances, self.skewness, self.kurtosis)
        result, flags = kernel(self.observed, self.target, *moments, *parameters)
        if flags:
            record.invertible()
            scoring.require_finite(result, self.observed, self.target)
        return scoring.shaped(result, self.observed, self.target)


def law(
    observed: npt.ArrayLike,
    target: npt.ArrayLike,
    reference: Reference,
    n: int,
    skewness: npt.ArrayLike,
    kurtosis: npt.ArrayLike,
) -> SeriesMoments:
    """Validate the arguments of a score."""
    record = diagonal("reference", reference)
    x, z = scoring.rows(observed, target, record.dim, False)
    return SeriesMoments(
        x,
        z,
        record,
        validation.count("n", n, low=2),
        cumulant("skewness", skewness, record.dim),
        cumulant("kurtosis", kurtosis, record.dim),
    )


def diagonal(name: str, value: object) -> Reference:
    """Return a reference with independent coordinates."""
    reference = validation.instance(name, value, Reference)
    if reference.kind != "diagonal":
        raise TypeError(
            f"Expected {name} of kind {reference.kind!r} to be of kind 'diagonal': a law of which "
            "more than the covariance counts needs independent coordinates"
        )
    return reference


def cumulant(name: str, value: npt.ArrayLike, dim: int) -> Doubles:
    """Return one number per coordinate."""
    given = validation.per_coordinate(name, value, dim, low=-np.inf)
    return np.ascontiguousarray(np.broadcast_to(given, (dim,)))
