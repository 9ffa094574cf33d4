"""The standard normal law."""

from __future__ import annotations

from leakscore.distributions._distribution import Distribution

norm = Distribution(
    "norm",
    {},
    """The standard normal law; shift and scale `x` yourself. Against 50-digit arithmetic, results
above 2.3e-308 have a relative error below 5e-16 (1e-15 on x86-64-v2): logs down to x = -1.8e154,
quantiles of every double in (0, 1) and of every negative log-probability. Smaller results are
within one subnormal spacing. Quantiles of `q` near 1 lose the digits that the rounding of `q` lost:
pass the small probability to the other tail. The tails have the form of Shepherd & Laframboise
(1981), Math. Comp. 36, 249-253, with the square of `x` in extended precision.""",
    {
        "pdf": ">>> norm.pdf([0.0, 38.0])\narray([3.98942280e-001, 1.09722105e-314])",
        "logpdf": ">>> norm.logpdf([0.0, 1e10])\narray([-9.18938533e-01, -5.00000000e+19])",
        "cdf": ">>> norm.cdf([-38.0, 0.0])\narray([2.88542835e-316, 5.00000000e-001])",
        "sf": ">>> norm.sf([10.0, 0.0])\narray([7.61985302e-24, 5.00000000e-01])",
        "logcdf": ">>> norm.logcdf([-1e10, 10.0])\narray([-5.00000000e+19, -7.61985302e-24])",
        "logsf": ">>> norm.logsf([100.0, 0.0])\narray([-5.00552421e+03, -6.93147181e-01])",
        "ppf": ">>> norm.ppf([0.5, 1e-300])\narray([  0.       , -37.0470963])",
        "isf": ">>> norm.isf([0.05, 1e-300])\narray([ 1.64485363, 37.0470963 ])",
        "ilogcdf": ">>> norm.ilogcdf([-5000.0, -1e-300])\narray([-99.94474817,  37.0470963 ])",
        "ilogsf": ">>> norm.ilogsf([-5000.0, -1e-300])\narray([ 99.94474817, -37.0470963 ])",
    },
)
