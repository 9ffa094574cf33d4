"""The prior of variances, fitted to all records, and the variances of a side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leakscore import validation
from leakscore.shadow.sides.moments import Side
from leakscore.typing import Doubles

LEAST_SHARE = 1e-5
"""Share of the median below which a variance is raised before its logarithm is taken."""


class Scale(NamedTuple):
    """Scaled inverse chi-square law of a variance: degrees of freedom nu0, scale s0^2."""

    dof: Doubles
    variance: Doubles


def log_excess(variance: Doubles, dof: Doubles) -> Doubles:
    """Return log s2 - psi(d/2) + log(d/2): an unbiased estimate of log sigma^2."""
    from scipy.special import digamma

    return np.asarray(np.log(variance) - digamma(0.5 * dof) + np.log(0.5 * dof))


def fitted(side: Side, name: str) -> Scale:
    """Fit the prior to one side, per augmentation (Smyth 2004, section 6.2)."""
    squares, dof = (array.reshape(len(side.count), -1) for array in (side.squares, side.dof))
    found = [_fitted(squares[:, a], dof[:, a], name) for a in range(squares.shape[1])]
    shape = side.count.shape[1:]
    return Scale(
        np.array([prior.dof for prior in found]).reshape(shape),
        np.array([prior.variance for prior in found]).reshape(shape),
    )


def _fitted(squares: Doubles, dof: Doubles, name: str) -> Scale:
    some = dof >= 1.0
    if np.count_nonzero(some) < 2:
        raise ValueError(
            f"Expected two records at least with two models {name} in signals and included, to "
            f"fit the prior of variances, not {np.count_nonzero(some)}; use more models, or "
            "leakscore.shadow.bayes with a Prior of your own"
        )
    d = dof[some]
    raw = squares[some] / d
    middle = float(np.median(raw))
    if not middle > 0.0:
        raise ValueError(
            f"Expected signals that vary between the models {name} for most records: the median "
            "variance is 0, and no prior of variances can be fitted; use leakscore.shadow.base, or "
            "leakscore.shadow.bayes with a Prior of your own"
        )
    return from_variances(np.maximum(raw, LEAST_SHARE * middle), d)


def from_variances(variance: Doubles, dof: Doubles) -> Scale:
    """Fit the prior to positive variances of so many degrees of freedom, two at least."""
    from scipy.special import digamma, polygamma

    # Records with one number of models are the rule: few different degrees of freedom.
    if (dof == dof[0]).all():
        different, which = dof[:1], np.zeros(1, dtype=np.intp)
    else:
        different, which = np.unique(dof, return_inverse=True)
    e = np.log(variance) + (np.log(0.5 * different) - digamma(0.5 * different))[which]
    centre = float(e.mean())
    rest = polygamma(1, 0.5 * different)[which]
    excess = float(np.var(e, ddof=1) - rest.mean())
    if not excess > 0.0:
        return Scale(np.asarray(np.inf), np.asarray(np.exp(centre)))
    half = inverse_trigamma(excess)
    return Scale(
        np.asarray(2.0 * half), np.asarray(np.exp(centre + (digamma(half) - np.log(half))))
    )


def inverse_trigamma(value: float) -> float:
    """Solve psi'(y) = value > 0: Newton's steps on 1/psi', which is convex, from 1/2 + 1/value."""
    from scipy.special import polygamma

    y = 0.5 + 1.0 / value
    for _ in range(100):
        slope = float(polygamma(1, y))
        step = slope * (1.0 - slope / value) / float(polygamma(2, y))
        if not abs(step) > 1e-15 * y:
            return y
        y += step
        if abs(step) <= 1e-10 * y:  # the next step would be below rounding
            return y
    raise RuntimeError(f"The degrees of freedom of the prior did not converge for {value!r}")


def shrunk(squares: Doubles, dof: Doubles, prior: Scale) -> Doubles:
    """Return (nu0 s0^2 + SS) / (nu0 + d), s0^2 at nu0 = inf."""
    infinite = np.isinf(prior.dof)
    nu = np.where(infinite, 1.0, prior.dof)
    return np.where(infinite, prior.variance, (nu * prior.variance + squares) / (nu + dof))


def pooled(side: Side, name: str) -> Doubles:
    """Return sum SS / sum (c - 1) over the records, per augmentation."""
    dof = side.dof.sum(axis=0)
    if not (dof > 0).all():
        raise ValueError(
            f"Expected a record with two models {name} in signals and included for "
            "variance='pooled'; use more models"
        )
    return np.broadcast_to(side.squares.sum(axis=0) / dof, side.squares.shape)


def chosen(side: Side, kind: str, name: str) -> Doubles:
    """Return the variances of a side; anything where there are too few models."""
    if kind == "pooled":
        return pooled(side, name)
    if kind == "shrunk":
        return shrunk(side.squares, side.dof, fitted(side, name))
    return side.squares / np.maximum(side.dof, 1.0)


def kind(value: object) -> str:
    """Check the argument `variance`."""
    return validation.choice("variance", value, ("per-record", "pooled", "shrunk"))
