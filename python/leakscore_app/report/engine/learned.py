"""Scores of fitted coefficients that an attacker learns from simulated rounds.

The presence of a record of large leverage narrows the spread of the coefficients: both tails reveal
it, but a linear score uses one. Where few records hold a value, the coefficients lie at a few
points, which differ with the record and without it. The attacker knows the population, so the
attack can draw and fit samples with the record and without it. What it learns from these is a fixed
score for the judged rounds.

Projections of the coefficients' moves, (T, k), and their scores are NaN for samples without a fit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore.distributions import norm
from leakscore.reference import Reference
from leakscore_app.report._model import Doubles

Pair = tuple[Doubles, Doubles]
"""Of rounds with the record, and of rounds without it."""

_SHRUNK = 0.01  # of a covariance of normal scores, which may follow from each other
_RIDGE = 1e-12  # of numbers that are the same in every round
_NEAR = 0.01  # of the rounds learned from, on either side


def quadratic(rounds: Pair, seen: Pair) -> Pair:
    """Score by the quadratic in normal scores that best predicts which rounds have the record.

    Normal scores, of the ranks among the training rounds, have no heavy tails.
    """
    drawn = [each[~np.isnan(each[:, 0])] for each in rounds]
    order = np.sort(np.concatenate(drawn), axis=0)
    inside = np.repeat([0.5, -0.5], [len(each) for each in drawn])
    design = _terms(order, np.concatenate(drawn))
    fit = np.linalg.lstsq(design, inside)[0]
    with_it, without = (
        np.where(np.isnan(each[:, 0]), np.nan, _terms(order, each) @ fit) for each in seen
    )
    return with_it, without


def normal(rounds: Pair, seen: Pair) -> list[Pair]:
    """Score by the log ratio of two normal laws of the normal scores in all dimensions, (T,).

    Return the scores of the training rounds, and of the judged rounds.
    """
    every = (*rounds, *seen)
    empty = [np.isnan(each).any(axis=1) for each in every]
    drawn = [each[~none] for each, none in zip(rounds, empty[:2], strict=True)]
    if min(map(len, drawn)) < 2:
        scores = [0.0 * each[:, 0] for each in every]
    else:
        order = np.sort(np.concatenate(drawn), axis=0)
        normals = [_normal_scores(order, each) for each in every]
        near, far = (
            Reference.fit(each[~none], shrinkage=_SHRUNK, ridge=_RIDGE)
            for each, none in zip(normals[:2], empty[:2], strict=True)
        )
        ratios = [far.squared_mahalanobis(z) - near.squared_mahalanobis(z) for z in normals]
        scores = [np.where(none, np.nan, ratio) for none, ratio in zip(empty, ratios, strict=True)]
    return [(scores[0], scores[1]), (scores[2], scores[3])]


def _normal_scores(order: Doubles, projections: Doubles) -> Doubles:
    """Return the quantiles of the normal law at the ranks among `order`."""
    pairs = zip(order.T, projections.T, strict=True)
    ranks = np.column_stack([_twice_below(*pair) for pair in pairs])
    levels = np.arange(1, 2 * len(order) + 2) / (2 * len(order) + 2)
    return np.asarray(norm.ppf(levels)[ranks])


def _terms(order: Doubles, projections: Doubles) -> Doubles:
    """Return 1, normal scores, and products of two, one row for each round."""
    scores = _normal_scores(order, projections)
    first, second = np.triu_indices(scores.shape[1])
    return np.column_stack([np.ones(len(scores)), scores, scores[:, first] * scores[:, second]])


def _twice_below(order: Doubles, values: Doubles) -> npt.NDArray[np.int64]:
    """Return twice the number below each value; equal ones count half."""
    places = np.argsort(values)  # of values in order each search begins where the last one ended
    values, below = values[places], np.empty(len(values), dtype=np.int64)
    below[places] = order.searchsorted(values, "left") + order.searchsorted(values, "right")
    return below


def nearest(rounds: Pair, seen: Pair) -> Pair:
    """Score by the share of the nearest rounds that have the record; projections are (T,)."""
    drawn = [each[~np.isnan(each)] for each in rounds]
    every = np.concatenate(drawn)
    order = np.argsort(every, kind="stable")
    inside = np.append(0, np.cumsum(order < len(drawn[0])))
    near = max(1, round(_NEAR * len(every)))

    def score(each: Doubles) -> Doubles:
        place = _twice_below(every[order], each) // 2
        low, high = np.maximum(place - near, 0), np.minimum(place + near, len(every))
        share = (inside[high] - inside[low]) / np.maximum(high - low, 1)
        return np.where(np.isnan(each), np.nan, share - 0.5)

    return score(seen[0]), score(seen[1])
