"""Tests whether members and non-members differ without the model, before a claim is audited.

Published attacks on large models often compare members and non-members from different sources. An
attack that never queries the model may then distinguish them, and an audit says nothing about the
model. Both tests here are exact at any number of records.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, nextafter, perm

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.results import Result
from leakscore.typing import Doubles, Flags, Indices, Seed

__all__ = ["BlindCheck", "RankTest", "blind_check", "holm", "rank_test"]

_FOLDS = 5
_FARTHEST = 10.0  # median deviations at which a feature is clipped
_CELLS = 1 << 23  # labels of the re-labellings that are tried at once
_MOST_STEPS = 2_000_000_000  # largest canaries^2 (decoys + 1) of a sum of ranks: a few seconds


@dataclass(frozen=True, eq=False)
class BlindCheck(Result):
    """How well membership is predicted without the model.

    Attributes
    ----------
    auc : float
        Area under the ROC of cross-fitted predictions from all features.
    p_value : float
        Share of re-labellings, including the true one, with an `auc` at least as large. It is
        uniform or larger if members are a random subset of the records.
    column_auc : (d,) ndarray
        AUC of each feature alone; below 1/2 if members have smaller values.
    column_p_values : (d,) ndarray
        Two-sided, by the same re-labellings, with Holm's correction for d columns.
    members, nonmembers, relabellings : int
    seed : int or None
        Seed that repeats the re-labellings.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import audit
    >>> rng = np.random.default_rng(0)
    >>> dates, member = rng.normal(size=(200, 1)), np.arange(200) < 100
    >>> audit.blind_check(dates + member[:, None], member, rng=1).p_value
    0.001
    """

    auc: float
    p_value: float
    column_auc: Doubles
    column_p_values: Doubles
    members: int
    nonmembers: int
    relabellings: int
    seed: int | None


def blind_check(
    features: npt.ArrayLike,
    member: npt.ArrayLike,
    *,
    rng: Seed = None,
    relabellings: int = 999,
    ridge: float = 1.0,
) -> BlindCheck:
    """Test whether membership can be predicted from what is known without the model.

    Parameters
    ----------
    features : (N, d) array_like
        What is known of each record: dates, lengths, sources as 0 and 1, embeddings.
    member : (N,) array_like of bool
        Which records were in the training data; at least one is and one is not.
    rng : Generator, BitGenerator, SeedSequence, int or None
        Of the folds and the re-labellings.
    relabellings : int, default 999
        Random permutations of `member`; each is fitted anew. The least p-value is 1 over one more.
    ridge : float, default 1
        Penalty of the squared coefficients of features in median deviations, clipped at 10 of them;
        at least 0.

    Returns
    -------
    BlindCheck

    Raises
    ------
    ValueError
        If there are fewer than 8 records, shapes do not fit, or a value is not finite.

    Notes
    -----
    Scores are cross-fitted in 5 folds that do not depend on the labels: a record's score is that of
    a ridge regression of the labels of the other folds, which is the first Newton step of a ridge
    logistic regression from 0 and is linear in the labels, so that each of the re-labellings is
    fitted exactly by one product of matrices. If members are a random subset of the records, all
    labellings are equally likely and the p-value is exact (E. Pitman, 1937). A small one says that
    members and non-members differ, and voids an audit that takes them to be alike; a large one
    says only that these features do not tell. J. Zhang, D. Das, G. Kamath and F. Tramer,
    "Membership inference attacks cannot prove that a model was trained on your data" (2024, arXiv
    2409.19798) show how data sets of published attacks differ.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import audit
    >>> rng = np.random.default_rng(0)
    >>> features, member = rng.normal(size=(100, 3)), rng.permutation(100) < 50
    >>> check = audit.blind_check(features, member, rng=1)
    >>> check.p_value > 0.05, check.column_p_values.shape
    (True, (3,))
    """
    from scipy.stats import rankdata  # half a second to import

    table = np.asarray(validation.matrix("features", features, min_rows=8), dtype=np.float64)
    validation.finite("features", table)
    flags = validation.membership("member", member, len(table))
    relabellings = validation.count("relabellings", relabellings, 1)
    ridge = validation.scalar("ridge", ridge, 0.0)
    generator, seed = validation.seeded("rng", rng)
    scaled = _standardised(table)
    fold = generator.permutation(len(table)) % _FOLDS
    ranks = np.asarray(rankdata(table, axis=0))
    auc, column_auc = np.empty(relabellings + 1), np.empty((relabellings + 1, table.shape[1]))
    step = max(1, _CELLS // len(table))
    for start in range(0, relabellings + 1, step):
        stop = min(start + step, relabellings + 1)
        labels = np.tile(flags, (stop - start, 1)).astype(np.float64)
        generator.permuted(labels[int(start == 0) :], axis=1, out=labels[int(start == 0) :])
        labels = labels.T  # the first of all is the true one
        scores = _cross_fitted(scaled, labels, fold, ridge)
        sums = (np.asarray(rankdata(scores, axis=0)) * labels).sum(axis=0)
        auc[start:stop] = _auc_of_sums(sums, flags)
        column_auc[start:stop] = _auc_of_sums(labels.T @ ranks, flags)
    distances = np.abs(column_auc - 0.5)
    singles = (distances >= distances[0] - 1e-12).mean(axis=0)
    return BlindCheck(
        auc=float(auc[0]),
        p_value=float((auc >= auc[0]).mean()),  # equal sums of ranks are equal numbers
        column_auc=column_auc[0],
        column_p_values=holm(singles, np.ones(len(singles), dtype=np.intp)),
        members=int(flags.sum()),
        nonmembers=int((~flags).sum()),
        relabellings=relabellings,
        seed=seed,
    )


def _standardised(table: Doubles) -> Doubles:
    """Return the columns less their medians, in median deviations, clipped at 10; 0 if constant.

    So no outlier absorbs the digits of the other values.
    """
    half = 0.5 * table
    deviations = half - np.median(half, axis=0)
    sizes = np.where(deviations != 0, np.abs(deviations), np.nan)
    scale = np.ones(table.shape[1])
    varies = (deviations != 0).any(axis=0)
    scale[varies] = np.nanmedian(sizes[:, varies], axis=0)
    return np.asarray(np.clip(deviations / scale, -_FARTHEST, _FARTHEST))


def _cross_fitted(table: Doubles, labels: Doubles, fold: Indices, ridge: float) -> Doubles:
    """Return each record's score by a fit to the other folds, less the mean of those folds."""
    scores = np.empty_like(labels)
    for k in range(_FOLDS):
        inside = fold == k
        rows, targets = table[~inside], labels[~inside]
        centre = rows.mean(axis=0)
        rows = rows - centre
        matrix = rows.T @ rows + ridge * np.eye(table.shape[1])
        slopes = np.linalg.lstsq(matrix, rows.T @ targets, rcond=None)[0]  # rows are centred
        scores[inside] = (table[inside] - centre) @ slopes
    return np.asarray(np.round(scores, 10))  # ties that rounding would break


def _auc_of_sums(sums: Doubles, flags: Flags) -> Doubles:
    """Return areas under the ROC from the sums of the members' ranks (Mann and Whitney)."""
    members = float(flags.sum())
    return np.asarray((sums - members * (members + 1) / 2) / (members * (len(flags) - members)))


def holm(p: Doubles, tests: Indices) -> Doubles:
    """Return p-values with Holm's (1979) correction; p[i] occurs in tests[i] tests.

    Reject the tests whose corrected p-value is at most a level: the probability that any of these
    rejections is wrong is at most that level.
    """
    order = np.argsort(p, kind="stable")
    remaining = tests.sum() - (np.cumsum(tests[order]) - tests[order])
    result = np.empty_like(p)
    result[order] = np.minimum(np.maximum.accumulate(p[order] * remaining), 1.0)
    return result


@dataclass(frozen=True, eq=False)
class RankTest(Result):
    """Ranks of canaries among their decoys.

    Attributes
    ----------
    p_value : float
        P-value of all canaries together: the probability of a sum of ranks at most as large if each
        canary is exchangeable with its decoys.
    p_values : (k,) ndarray
        P-value of each canary alone.
    ranks : (k,) ndarray of int
        Number of decoys of each canary with a score at least as high.
    decoys : int
        Number of decoys of each canary.

    Examples
    --------
    >>> from leakscore import audit
    >>> audit.rank_test([3.0, 2.0], [[1.0, 2.0, 0.0], [1.0, 2.5, 0.0]]).ranks.tolist()
    [0, 1]
    """

    p_value: float
    p_values: Doubles
    ranks: Indices
    decoys: int


def rank_test(score: npt.ArrayLike, decoys: npt.ArrayLike) -> RankTest:
    """Test whether canaries score higher than decoys that were drawn as they were.

    Parameters
    ----------
    score : float or (k,) array_like
        Scores of the canaries that were trained on; larger means member.
    decoys : (m,) or (k, m) array_like
        Scores of each canary's decoys, which were drawn alike and were not trained on.

    Returns
    -------
    RankTest

    Raises
    ------
    ValueError
        If shapes do not fit, a score is NaN, or k^2 (m + 1) is above 2e9.

    Notes
    -----
    If a canary and its m decoys are exchangeable, the number of decoys with a score as high is
    uniform on 0, ..., m, or larger with ties, which count against the canary. So
    p = (1 + number) / (1 + m), and the sum of k independent ones has an exact law, counted in
    whole numbers: a rank of 0 among 19 has p = 0.05. Canaries must be drawn independently of each
    other. J. Zhang et al. (2024, arXiv 2409.19798) propose ranks of randomly drawn canaries as
    evidence of training.

    Examples
    --------
    >>> from leakscore import audit
    >>> test = audit.rank_test([3.0, 2.0], [[1.0, 2.0, 0.0], [1.0, 2.5, 0.0]])
    >>> test.p_values.tolist(), round(test.p_value, 4)
    ([0.25, 0.5], 0.1875)
    """
    scores = np.atleast_1d(np.asarray(validation.elementwise("score", score), dtype=np.float64))
    others = np.atleast_2d(np.asarray(validation.elementwise("decoys", decoys), dtype=np.float64))
    if scores.ndim != 1 or others.ndim != 2 or len(others) != len(scores) or not others.size:
        raise ValueError(
            f"score of shape {scores.shape} must be (k,) and decoys of shape {others.shape} "
            "(k, m), with k and m at least 1"
        )
    for name, array in (("score", scores), ("decoys", others)):
        if np.isnan(array).any():
            raise ValueError(f"{name} must hold no NaN: leave out no score, rank it last")
    ranks = (others >= scores[:, np.newaxis]).sum(axis=1)
    count = others.shape[1]
    return RankTest(
        p_value=_sum_of_ranks(int(ranks.sum()), len(scores), count),
        p_values=(1 + ranks) / (1 + count),
        ranks=ranks,
        decoys=count,
    )


def _sum_of_ranks(total: int, canaries: int, decoys: int) -> float:
    """Return P(sum of independent uniforms on 0, ..., m <= total), rounded up from whole numbers.

    By inclusion and exclusion over canaries with a number above m; a large total by its complement.
    """
    width = decoys + 1
    if canaries**2 * width > _MOST_STEPS:
        raise ValueError(
            f"canaries must be fewer than {canaries} with {decoys} decoys each: the exact law of "
            "their sum takes too long"
        )
    complement = canaries * decoys - 1 - total  # of the sum, if it is larger: its law is symmetric
    smaller = min(total, complement)
    count = ways = comb(smaller + canaries, canaries) if smaller >= 0 else 0
    choices = 1
    for i in range(1, smaller // width + 1):
        above = smaller - (i - 1) * width
        choices = -choices * (canaries - i + 1) // i
        ways = ways * perm(above, width) // perm(above + canaries, width)
        count += choices * ways
    outcomes = width**canaries
    hits = count if total <= complement else outcomes - count
    p_value = float(hits / outcomes)
    numerator, denominator = p_value.as_integer_ratio()
    return p_value if numerator * outcomes >= hits * denominator else nextafter(p_value, 1.0)
