"""The law of the absolute value of a Laplace variable."""

from __future__ import annotations

from leakscore.distributions._distribution import Distribution

folded_laplace = Distribution(
    "folded_laplace",
    {
        "loc": "Centre of the Laplace law before it is folded; only its absolute value matters.",
        "scale": "Scale of the Laplace law, above 0; otherwise the result is NaN.",
    },
    """The law of ``|X|`` with density ``exp(-|X - loc| / scale) / (2 scale)`` of X: zero below
x = 0, exponential at ``loc = 0``. The size of a statistic released with Laplace noise has this law,
as in the relaxed threat model of Kaissis et al. (2023), "Optimal privacy guarantees for a relaxed
threat model", NeurIPS. Infinite parameters give NaN. Against 50-digit
arithmetic, results above 2.3e-308 have a relative error below 4e-16, for every double of `x`, `loc`
and `scale`; a log density near 0 has that error relative to its largest term. Quantiles are within
4 ulp, or what one ulp of the probability moves them. All terms of every sum have one sign, so that
neither tail nor its log is a difference from 1.""",
    {
        "pdf": """>>> folded_laplace.pdf([0.0, 1.0, 700.0], 1.0, 1.0)
array([3.67879441e-001, 5.67667642e-001, 1.52142759e-304])""",
        "logpdf": """>>> folded_laplace.logpdf([1.0, 1e6], 1.0, 1.0)
array([-5.66219170e-01, -9.99999566e+05])""",
        "cdf": """>>> folded_laplace.cdf([1e-300, 1.0], 0.5, 2.0)
array([3.89400392e-301, 3.74416332e-001])""",
        "sf": """>>> folded_laplace.sf([1.0, 1000.0], 0.5, 2.0)
array([6.25583668e-001, 7.34838144e-218])""",
        "logcdf": """>>> folded_laplace.logcdf([1e-300, 1.0], 1e5, 2.0)
array([-50691.46867508, -50000.65182233])""",
        "logsf": """>>> folded_laplace.logsf([1.0, 1e6], 0.5, 2.0)
array([-4.69070196e-01, -4.99999969e+05])""",
        "ppf": """>>> folded_laplace.ppf([1e-300, 0.5], 0.5, 2.0)
array([2.56805083e-300, 1.44815397e+000])""",
        "isf": """>>> folded_laplace.isf([1e-300, 0.5], 0.5, 2.0)
array([1381.6129154 ,    1.44815397])""",
        "ilogcdf": """>>> folded_laplace.ilogcdf([-1e5, -1.0], 1e5, 2.0)
array([    0.        , 99999.38629436])""",
        "ilogsf": """>>> folded_laplace.ilogsf([-1e5, -1.0], 0.5, 2.0)
array([2.00000062e+05, 2.06185961e+00])""",
    },
)
