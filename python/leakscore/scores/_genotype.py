"""Scores of a release of allele frequencies."""

from __future__ import annotations

from typing import overload

import numpy.typing as npt

from leakscore import _core, validation
from leakscore.scores import _allele_counts, scoring
from leakscore.typing import Doubles, Row, Rows, of_pairs


@overload
def genotype_llr(
    frequency: Rows,
    genotype: npt.ArrayLike,
    p: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    ploidy: int = ...,
    pseudocount: float | None = ...,
    missing: float | None = ...,
) -> Doubles: ...
@overload
def genotype_llr(
    frequency: npt.ArrayLike,
    genotype: Rows,
    p: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    ploidy: int = ...,
    pseudocount: float | None = ...,
    missing: float | None = ...,
) -> Doubles: ...
@overload
def genotype_llr(
    frequency: Row,
    genotype: Row,
    p: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    ploidy: int = ...,
    pseudocount: float | None = ...,
    missing: float | None = ...,
) -> float: ...
@overload
def genotype_llr(
    frequency: npt.ArrayLike,
    genotype: npt.ArrayLike,
    p: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    ploidy: int = ...,
    pseudocount: float | None = ...,
    missing: float | None = ...,
) -> float | Doubles: ...
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
    x, z = scoring.named_rows("frequency", frequency, "genotype", genotype, population.size)
    copies = _allele_counts.copies(ploidy)
    alleles = copies * _allele_counts.individuals(n, population.size)
    chance = _allele_counts.chance(population, alleles, pseudocount)
    code = None if missing is None else _allele_counts.missing_code(missing, copies)
    return scoring.shaped(_allele_counts.llr(x, z, chance, alleles, copies, code), x, z)


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
    x, z = scoring.rows(observed, target, population.size, False)
    result, flags = _core.homer_distance(x, z, population)
    if flags:
        validation.finite("p", population)
        scoring.require_finite(result, x, z)
    return scoring.shaped(result, x, z)
