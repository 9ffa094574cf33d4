"""Scores of allele frequencies: likelihood ratios of genotypes, and Homer's distance."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.scores.gaussian import require_finite, rows_of, shaped, slices
from leakscore.typing import Array, Doubles, of_pairs, of_two

_ROWS, _COLS, _TARGETS = 64, 4096, 512
_MOST_COPIES = 127  # time grows with its square, memory in proportion


@of_two
def genotype_llr(
    frequency: npt.ArrayLike,
    genotype: npt.ArrayLike,
    p: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    ploidy: int = 2,
    pseudocount: float | None = None,
    missing: float | None = None,
) -> float | Doubles:
    """Exact log-likelihood ratio of genotypes in the allele frequencies of a pool of n individuals.

    For independent variants: how much more likely the pool's allele counts are if the target is one
    of the n individuals than if all n are drawn from the population.

    Parameters
    ----------
    frequency : (d,) or (T, d) array_like
        Released allele frequencies in [0, 1], one pool a row.
    genotype : (d,) or (k, d) array_like
        Allele counts 0, 1, ..., ploidy of the targets, one a row, of any real dtype; int8 tables
        are read block by block.
    p : (d,) array_like
        Allele frequencies in the population, in (0, 1).
    n : int or (d,) array_like
        Number of individuals in the pool, at least 1; one number for each variant if the
        genotypes of some individuals are missing from its frequency.
    ploidy : int
        Alleles of an individual at each variant, 1 to 127.
    pseudocount : float, optional
        Positive: add so many alleles of each kind to the ploidy n of a population frequency,
        p -> (ploidy n p + c) / (ploidy n + 2c). Needed where a `p` is 0 or 1.
    missing : float, optional
        Code of a missing genotype (such as -1, 9 or NaN); such variants are left out of the sum.

    Returns
    -------
    float, (T,), (k,) or (T, k) ndarray
        Natural log-likelihood ratios; larger means member. -inf where the pool holds fewer copies
        of an allele than the target has: then it cannot be a member.

    Raises
    ------
    ValueError
        If shapes do not fit, a frequency lies outside [0, 1], a genotype is none of 0, ..., ploidy
        and `missing`, a `p` is 0 or 1 without a pseudocount, or `n` is no whole number.

    Notes
    -----
    With N = ploidy n alleles, k = N frequency of one kind and z of them the target's, the ratio of
    the binomial laws Bin(N - ploidy, p)(k - z) and Bin(N, p)(k) is a product of falling factorials,
    diploid for z = 2: k (k-1) / (N (N-1) p^2), for z = 1: k (N-k) / (N (N-1) p (1-p)), for z = 0:
    (N-k) (N-k-1) / (N (N-1) (1-p)^2). With ploidy 1 it is `bernoulli_llr`. It needs no normal
    approximation, which fails for a variant with few copies in the pool.

    A k within rounding of an integer is taken for that integer; other values (frequencies published
    with few digits) are used as they are.

    References
    ----------
    .. [1] S. Sankararaman, G. Obozinski, M. I. Jordan and E. Halperin, "Genomic privacy and limits
       of individual detection in a pool", Nature Genetics 41 (2009), for the likelihood ratio of
       haploid data.

    Examples
    --------
    >>> from leakscore.scores import genotype_llr
    >>> scores = genotype_llr([0.25, 0.5], [[2, 1], [0, 1], [-1, 2]], [0.2, 0.5], 10, missing=-1)
    >>> scores.round(6)
    array([ 0.32573 , -0.095483, -0.054067])
    """
    population = validation.coefficients("p", p)
    x = validation.rows("frequency", frequency, cols=population.size)
    z = validation.rows("genotype", genotype, cols=population.size)
    copies = _copies(ploidy)
    alleles = copies * _individuals(n, population.size)
    chances = _frequencies(population, alleles, pseudocount)
    code = None if missing is None else _missing_code(missing, copies)
    return shaped(_ratios(x, z, chances, alleles, ploidy=copies, code=code), x, z)


@of_pairs
def homer_distance(
    observed: npt.ArrayLike, target: npt.ArrayLike, p: npt.ArrayLike
) -> float | Doubles:
    """Homer's distance: how much nearer the target is to the release than to the population.

    The sum over j of abs(z_j - p_j) - abs(z_j - x_j). It was the first attack of this kind; the
    likelihood ratios `genotype_llr` and `bernoulli_llr` are stronger.

    Parameters
    ----------
    observed : (d,) or (T, d) array_like
        Released means x, one a row; read where they are.
    target : (d,) or (k, d) array_like
        Records z on the same scale, one a row: allele frequencies 0, 1/2, 1 for genotypes 0, 1, 2.
    p : (d,) array_like
        Means of the population on the same scale.

    Returns
    -------
    float, (T,), (k,) or (T, k) ndarray
        Sums; larger means member.

    Raises
    ------
    ValueError
        If shapes do not fit or a value is not finite.

    References
    ----------
    .. [1] N. Homer et al., "Resolving individuals contributing trace amounts of DNA to highly
       complex mixtures using high-density SNP genotyping microarrays", PLoS Genetics 4 (2008).

    Examples
    --------
    >>> from leakscore.scores import homer_distance
    >>> homer_distance([[0.6, 0.4], [0.5, 0.5]], [1.0, 0.0], [0.5, 0.5])
    array([0.2, 0. ])
    """
    population = validation.coefficients("p", p)
    x, z = rows_of(observed, target, population.size, False)
    result, flags = _core.homer_distance(x, z, population)
    if flags:
        validation.finite("p", population)
        require_finite(result, x, z)
    return shaped(result, x, z)


def _copies(ploidy: object) -> int:
    """Return the number of alleles of an individual at each variant."""
    why = ": genotypes of int8 count no further, and no genome has as many copies"
    return validation.count("ploidy", ploidy, 1, _MOST_COPIES, why=why)


def _individuals(n: npt.ArrayLike, dim: int) -> Doubles:
    """Return the size of the pool, () or (d,)."""
    array = validation.real_array("n", n)
    if array.ndim == 0:
        return np.array(float(validation.count("n", n, low=1)))
    if array.shape != (dim,):
        raise ValueError(f"n of shape {array.shape} must be an integer or ({dim},)")
    return validation.whole("n", array, 1)


def _frequencies(p: Doubles, alleles: Doubles, pseudocount: object) -> Doubles:
    """Return allele frequencies of the population, none of them 0 or 1."""
    if pseudocount is not None:
        added = validation.scalar("pseudocount", pseudocount, 0.0, 1e300, closed="right")
        validation.interval("p", p, 0.0, 1.0)
        p = (alleles * p + added) / (alleles + 2.0 * added)
    elif ((p == 0.0) | (p == 1.0)).any():
        j = int(np.argmax((p == 0.0) | (p == 1.0)))
        raise ValueError(
            f"p[{j}]={float(p[j])!r} must be in (0, 1), or a pseudocount: an allele that the "
            "population does not have would prove everything"
        )
    return validation.interval("p", p, 0.0, 1.0, closed="neither")


def _missing_code(value: object, ploidy: int) -> float:
    """Return the code of a missing genotype, which may be NaN but no genotype."""
    if isinstance(value, (float, np.floating)) and np.isnan(value):
        return float("nan")
    code = validation.scalar("missing", value)
    if code in range(ploidy + 1):
        raise ValueError(f"missing={code:g} must be none of the genotypes 0..{ploidy}")
    return code


def _ratios(
    frequency: Array,
    genotype: Array,
    p: Doubles,
    alleles: Doubles,
    *,
    ploidy: int,
    code: float | None,
) -> Doubles:
    """Return log-likelihood ratios (T, k), with one logarithm per pool, variant and genotype."""
    pools, targets = np.atleast_2d(frequency), np.atleast_2d(genotype)
    total = np.broadcast_to(alleles, p.shape)
    result = np.zeros((len(pools), len(targets)))
    excluded = np.zeros(result.shape, dtype=bool)
    blocks = product(slices(len(p), _COLS), slices(len(targets), _TARGETS))
    for cols, part in blocks:
        has = _indicators(genotype, targets[part, cols], ploidy, code)
        for rows in slices(len(pools), _ROWS):
            count = _counts(frequency, pools[rows, cols], total[cols])
            for z, owners in enumerate(has):
                terms = _log_ratio(count, total[cols], p[cols], z, ploidy=ploidy)
                impossible = np.isneginf(terms)
                if impossible.any():
                    excluded[rows, part] |= (impossible.astype(np.float64) @ owners.T) > 0
                    terms[impossible] = 0.0
                result[rows, part] += terms @ owners.T
    result[excluded] = -np.inf
    return result


def _indicators(whole: Array, block: Array, ploidy: int, code: float | None) -> list[Doubles]:
    """Return indicators (0 or 1) of genotypes with 0, 1, ..., ploidy copies."""
    has = [(block == z).astype(np.float64) for z in range(ploidy + 1)]
    lost = np.isnan(block) if code is not None and np.isnan(code) else block == code
    if not (sum(has) + lost == 1).all():
        bad = block[sum(has) + lost != 1].flat[0].item()
        validation.finite("genotype", whole)
        raise ValueError(
            f"genotype must be in {{0, ..., {ploidy}}}, but it holds {bad!r}: name the code of "
            "missing genotypes in missing="
        )
    return has


def _counts(whole: Array, block: Array, total: Doubles) -> Doubles:
    """Return allele counts: whole numbers where the frequencies come from whole numbers."""
    if not ((block >= 0) & (block <= 1)).all():
        validation.finite("frequency", whole)
        validation.interval("frequency", whole, 0.0, 1.0)
    precision = np.finfo(block.dtype).eps if block.dtype.kind == "f" else 0.0
    count = block.astype(np.float64) * total
    nearest = np.rint(count)
    near = np.abs(count - nearest) <= 2.0 * precision * np.maximum(count, 1.0)
    return np.where(near, nearest, count)


def _log_ratio(count: Doubles, total: Doubles, p: Doubles, z: int, *, ploidy: int) -> Doubles:
    """Return log of count^(z) (total-count)^(ploidy-z) / (total^(ploidy) p^z q^(ploidy-z)).

    x^(j) is the falling factorial, 0 from its first factor at or below 0 on.
    """
    ratio, factors = np.ones_like(count), []
    for i in range(ploidy):
        carried = i < z
        remaining = count - i if carried else (total - count) - (i - z)
        factors.append(np.maximum(remaining, 0.0) / ((total - i) * (p if carried else 1.0 - p)))
    with np.errstate(divide="ignore", over="ignore"):
        for factor in factors:
            ratio *= factor
        if np.isfinite(ratio).all():
            return np.log(ratio, out=ratio)
        return np.asarray(sum(np.log(factor) for factor in factors))
