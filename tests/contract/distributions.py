"""One good call of every function of `leakscore.distributions`, for contract_table.py."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from leakscore import distributions
from tests.contract import inputs as good
from tests.contract.inputs import Array, Call

# Parameters of each law, after the point or probability.
PARAMETERS: dict[str, dict[str, Array]] = {
    "norm": {},
    "kolmogorov": {"n": np.arange(good.FEW.size) % 64 + 1.0},
    "chi2": {"df": good.POSITIVE},
    "ncx2": {"df": good.POSITIVE, "nc": good.POSITIVE[::-1]},
    "folded_laplace": {"loc": good.POSITIVE[::-1], "scale": good.POSITIVE},
}
LAWS: dict[str, list[Call]] = {
    f"distributions.{law}.{name}": [
        Call(getattr(getattr(distributions, law), name), {argument: values, **more}, "elementwise")
    ]
    for law, more in PARAMETERS.items()
    for points in (good.FEW if more else good.POINTS,)  # the loops are shared: one law in full
    for names, argument, values in (
        (("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf"), "x", points),
        (("ppf", "isf"), "q", np.resize(good.SHARES, points.shape)),
        (("ilogcdf", "ilogsf"), "logp", -np.abs(points)),
    )
    for name in names
}
LAWS |= {
    f"distributions.{name}": [
        Call(
            getattr(distributions, name),
            {"m": good.POSITIVE, "a": good.POSITIVE[::-1], argument: values},
            "elementwise",
        )
    ]
    for name, argument, values in (
        ("marcum_q", "b", good.POSITIVE),
        ("marcum_p", "b", good.POSITIVE),
        ("marcum_q_inv", "q", np.resize(good.SHARES, good.POSITIVE.shape)),
    )
}
TRIALS = np.arange(good.FEW.size) % 40 + 20.0
LAWS["distributions.clopper_pearson"] = [
    Call(
        partial(distributions.clopper_pearson, side=side),
        {
            "k": np.arange(good.FEW.size) % 20.0,
            "n": TRIALS,
            given: np.resize(good.SHARES, good.FEW.size),
        },
        "curve",
    )
    for side, given in (("upper", "confidence"), ("lower", "alpha"))
]
LAWS["distributions.clopper_pearson"] += [
    Call(
        lambda side="lower": distributions.clopper_pearson(3, 10, 0.9, side),
        scalars={"side": ("upper", ("two-sided", "", None, 1))},
    )
]
GX2_PARAMETERS = {
    "weights": ([0.5, -0.25, 0.0], ([], [0.0], [[1.0]], [good.NAN], [np.inf], ["1"], [1j], [True])),
    "df": (2.0, ([0.0], -1.0, good.NAN, [1.0, 2.0], np.inf, "1", 1j, True)),
    "nc": ([0.0, 3.0, 1.0], ([-1.0], good.NAN, [1.0, 2.0], np.inf, "1", 1j, True)),
    "sigma": (0.5, good.NO_POSITIVE),
    "offset": (-0.5, (good.NAN, np.inf, "1", 1j, True)),
}
LAWS |= {
    f"distributions.gx2.{name}": [
        Call(
            getattr(distributions.gx2, name),
            {argument: values},
            "elementwise",
            scalars=GX2_PARAMETERS,
        )
    ]
    for names, argument, values in (
        (("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "error"), "x", good.FEW[:150]),
        (("ppf", "isf"), "q", np.resize(good.SHARES, 150)),
        (("ilogcdf", "ilogsf"), "logp", -np.abs(good.FEW[:150])),
    )
    for name in names
}


def _flags(x: Any, cumulants: Any) -> Any:
    """Return the flags as numbers, NaN at NaN (which is nowhere valid)."""
    valid = distributions.edgeworth.valid(x, cumulants)
    missing = np.isnan(np.asarray(x, dtype=np.float64))
    assert not (valid & missing).any()
    return np.where(missing, np.nan, valid)


EXPANSION = [0.0, 36.0, 6.0, 2.0, 1.0, 1.0]
NO_CUMULANTS = (
    [1.0],
    [0.0, 0.0],
    [0.0, -1.0, 0.0],
    [0.0, 1.0, np.nan],
    [np.inf, 1.0],
    [0.0] + 6 * [1.0],
    1.0,
    "text",
    ["0", "1"],
    [0j, 1.0],
    None,
    np.zeros((3, 0)),
)
LAWS |= {
    f"distributions.edgeworth.{name}": [
        Call(
            _flags if name == "valid" else getattr(distributions.edgeworth, name),
            {argument: values},
            "elementwise",
            scalars={"cumulants": (EXPANSION, NO_CUMULANTS)},
        )
    ]
    for names, argument, values in (
        (("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "valid"), "x", good.FEW),
        (("ppf", "isf", "cornish_fisher"), "q", 0.25 + good.SHARES / 2),
        (("ilogcdf", "ilogsf"), "logp", -0.25 - good.SHARES),
    )
    for name in names
}
