"""Allele counts of a pool against genotypes, by blocks."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt

from leakscore import _validate_counts, validation
from leakscore.scores import scoring
from leakscore.typing import Array, Doubles

_ROWS, _COLS, _TARGETS = 64, 4096, 512

_MOST_COPIES = 127  # time grows with its square, memory in proportion


def copies(ploidy: object) -> int:
    """Return the number of alleles of an individual at each variant."""
    why = ": genotypes of int8 count no further, and no genome has as many copies"
    return validation.count("ploidy", ploidy, 1, _MOST_COPIES, why=why)


def individuals(n: npt.ArrayLike, dim: int) -> Doubles:
    """Return the size of the pool, () or (d,)."""
    array = validation.real_array("n", n)
    if array.ndim == 0:
        return np.array(float(validation.count("n", n, low=1)))
    if array.shape != (dim,):
        raise ValueError(f"Expected n of shape {array.shape} to be an integer or ({dim},)")
    return _validate_counts.whole("n", array, 1)


def chance(p: Doubles, alleles: Doubles, pseudocount: object) -> Doubles:
    """Return allele frequencies of the population, none of them 0 or 1."""
    if pseudocount is not None:
        added = validation.scalar("pseudocount", pseudocount, 0.0, closed="neither")
        validation.interval("p", p, 0.0, 1.0)
        p = (alleles * p + added) / (alleles + 2.0 * added)
    elif ((p == 0.0) | (p == 1.0)).any():
        j = int(np.argmax((p == 0.0) | (p == 1.0)))
        raise ValueError(
            f"Expected p[{j}]={float(p[j])!r} in (0, 1), or a pseudocount: an allele that the "
            "population does not have would prove everything"
        )
    return validation.interval("p", p, 0.0, 1.0, closed="neither")


def missing_code(value: object, ploidy: int) -> float:
    """Return the code of a missing genotype, which may be NaN but no genotype."""
    if isinstance(value, (float, np.floating)) and np.isnan(value):
        return float("nan")
    code = validation.scalar("missing", value)
    if code in range(ploidy + 1):
        raise ValueError(f"Expected missing={code:g} to be none of the genotypes 0..{ploidy}")
    return code


def llr(
    frequency: Array, genotype: Array, p: Doubles, alleles: Doubles, ploidy: int, code: float | None
) -> Doubles:
    """Return log-likelihood ratios (T, k), from one logarithm a pool, variant and genotype."""
    pools, targets = np.atleast_2d(frequency), np.atleast_2d(genotype)
    total = np.broadcast_to(alleles, p.shape)
    result = np.zeros((len(pools), len(targets)))
    excluded = np.zeros(result.shape, dtype=bool)
    blocks = product(scoring.slices(len(p), _COLS), scoring.slices(len(targets), _TARGETS))
    for cols, some in blocks:
        has = _indicators(genotype, targets[some, cols], ploidy, code)
        for rows in scoring.slices(len(pools), _ROWS):
            count = _counts(frequency, pools[rows, cols], total[cols])
            for z, owners in enumerate(has):
                terms = _log_ratio(count, total[cols], p[cols], z, ploidy)
                impossible = np.isneginf(terms)
                if impossible.any():
                    excluded[rows, some] |= (impossible.astype(np.float64) @ owners.T) > 0
                    terms[impossible] = 0.0
                result[rows, some] += terms @ owners.T
    result[excluded] = -np.inf
    return result


def _indicators(whole: Array, block: Array, ploidy: int, code: float | None) -> list[Doubles]:
    """Return which genotypes have 0, 1, ..., ploidy copies, as numbers 0 and 1."""
    has = [(block == z).astype(np.float64) for z in range(ploidy + 1)]
    lost = np.isnan(block) if code is not None and np.isnan(code) else block == code
    if not (sum(has) + lost == 1).all():
        bad = block[sum(has) + lost != 1].flat[0].item()
        validation.finite("genotype", whole)
        raise ValueError(
            f"Expected genotype in {{0, ..., {ploidy}}}, but it holds {bad!r}: name the code of "
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


def _log_ratio(count: Doubles, total: Doubles, p: Doubles, z: int, ploidy: int) -> Doubles:
    """Return log of count^(z) (total-count)^(ploidy-z) / (total^(ploidy) p^z q^(ploidy-z)).

    x^(j) is the falling factorial, 0 from its first factor at or below 0 on.
    """
    ratio, factors = np.ones_like(count), []
    for i in range(ploidy):
        carried = i < z
        left = count - i if carried else (total - count) - (i - z)
        factors.append(np.maximum(left, 0.0) / ((total - i) * (p if carried else 1.0 - p)))
    with np.errstate(divide="ignore", over="ignore"):
        for factor in factors:
            ratio *= factor
        if np.isfinite(ratio).all():
            return np.log(ratio, out=ratio)
        return np.asarray(sum(np.log(factor) for factor in factors))
