"""Exact likelihood ratios of a mean of discrete records."""

from __future__ import annotations

import numpy.typing as npt

from leakscore import _core, validation
from leakscore.scores import scoring
from leakscore.typing import Doubles, of_pairs


@of_pairs
def bernoulli_llr(
    observed: npt.ArrayLike,
    target: npt.ArrayLike,
    p: npt.ArrayLike,
    *,
    paired: bool = False,
) -> float | Doubles:
    """Exact log-likelihood ratio of targets in the mean of records of independent zeros and ones.

    sum over j of z_j log(x_j / p_j) + (1 - z_j) log((1 - x_j) / (1 - p_j)): exact for any number
    of averaged records, so that number is no argument.

    Parameters
    ----------
    observed : (d,) or (T, d) array_like
        Released means x in [0, 1], one a row; exact means, neither noisy nor sub-sampled. Read
        where they are.
    target : (d,) or (k, d) array_like
        Records z of zeros and ones (of any real dtype), one a row.
    p : (d,) array_like
        Probability of a one, in the open interval (0, 1). A column that is always 0 or always 1 in
        the population says nothing about membership: leave it out.
    paired : bool
        Score row i of `observed` against row i of `target` only; both are (T, d), the result (T,).

    Returns
    -------
    float, (T,), (k,) or (T, k) ndarray
        Natural log-likelihood ratios; larger means member. -inf where a mean of 0 meets a one of
        the target, or a mean of 1 a zero: then it cannot be a member.

    Raises
    ------
    ValueError
        If shapes do not fit, a mean lies outside [0, 1], a target is neither 0 nor 1, or `p` is not
        inside (0, 1).

    References
    ----------
    .. [1] A. Azize and D. Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024),
       remark 3.3, where it is asymptotic; the ratio of the binomial laws Bin(n-1, p)(nx - z) and
       Bin(n, p)(nx) is exactly this for every n.

    Examples
    --------
    >>> import leakscore
    >>> score = leakscore.scores.bernoulli_llr([[0.5, 0.2], [0.0, 0.2]], [1, 0], [0.25, 0.2])
    >>> score.round(6)
    array([0.693147,     -inf])
    """
    probability = validation.coefficients("p", p)
    x, z = scoring.rows(observed, target, probability.size, paired)
    if scoring.many(x, z, paired):
        result = scoring.bernoulli(x, z, probability)
        if result is not None:
            return scoring.shaped(result, x, z)
    result, flags = _core.bernoulli_llr(x, z, probability, paired)
    if flags:
        validation.interval("p", probability, 0.0, 1.0, closed="neither")
        validation.binary("target", z)
        validation.interval("observed", x, 0.0, 1.0)
    return scoring.shaped(result, x, z)
