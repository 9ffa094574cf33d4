"""What the bounds on error rates follow from, so that they can be checked without this package."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakscore.audit.bands import BAND_METHODS, ENDS, band

_BETA = "(1 - critical)-quantile of Beta(k + 1, n - k)"
_RULES = {
    **dict.fromkeys(("dkw", "dkw-two-sided", "ks"), "k/n + critical"),
    **dict.fromkeys(("bonferroni", "ell", "split"), _BETA),
    "weighted-ell": "(1 - critical / sqrt(k + 1))-quantile of Beta(k + 1, n - k)",
    "berk-jones": "largest u with n KL(k/n, u) <= critical",
}


def critical_values(
    method: str, fpr: tuple[int, int], fnr: tuple[int, int], miss: float
) -> dict[str, Any] | None:
    """Return the rule that bounds both rates, or None if the method has none.

    `fpr` and `fnr` are errors and scores, `miss` is the probability that each bound may fail with.
    k of the rule is the number of errors or, where not every count is constrained, the next one
    that is; None where a maximal inequality stands for the rule.
    """
    if method not in _RULES:
        return None
    return {
        "miss": miss,
        "rule": f"{_RULES[method]}, at most 1",
        "fpr": _critical(method, *fpr, miss),
        "fnr": _critical(method, *fnr, miss),
    }


def _critical(method: str, errors: int, size: int, miss: float) -> dict[str, Any]:
    critical, k = miss, errors
    if method in BAND_METHODS:
        limits = band(method, size, miss)
        critical = limits.critical
        if limits.knots.size:
            k = int(limits.knots[np.searchsorted(limits.knots, errors)])
    maximal = size > 2 * ENDS and method not in ("dkw", "dkw-two-sided", "ks", "split")
    return {
        "n": size,
        "k": None if maximal and ENDS <= k < size - ENDS else k,
        "critical": critical,
    }
