"""The exact law of the one-sided Kolmogorov-Smirnov statistic."""

from __future__ import annotations

from leakscore.distributions._distribution import Distribution

kolmogorov = Distribution(
    "kolmogorov",
    {"n": "Number of observations, a whole number from 1 to 1e9; for any other the result is NaN."},
    """The law of D_n^+ = sup_x (F_n(x) - F(x)), F_n the empirical distribution of `n` independent
draws from a continuous F, for finite `n` (`scipy.stats.ksone`). It lives on (0, 1]; the density
jumps at 0 and at 1/n and is the right limit there. Probabilities, densities and their logs are
within 5e-15 (relative) of interval arithmetic in both tails: probabilities down to 1e-300, logs
without limit. Few terms, or t = n x < 18: the sum of Birnbaum & Tingey (1951), Ann. Math. Stat. 22,
592-596, either over its own positive terms with the deviances of Loader (2000) in extended
precision, or over the rest of Abel's identity in 32 digits. Elsewhere: Cauchy's integral of the
generating function of that sum on a saddle-point contour, 16 nodes for any `n`, so that `n` = 1e9
takes no longer than 1000. Quantiles solve for the logarithm of the smaller tail, to the last digits
of `x`.""",
    {
        "pdf": ">>> kolmogorov.pdf([0.01, 0.5], 100)\narray([4.30303662e+00, 1.38466166e-21])",
        "logpdf": ">>> kolmogorov.logpdf(0.5, [10, 1000])\narray([  -2.41251057, -524.79549818])",
        "cdf": ">>> kolmogorov.cdf([1e-6, 0.01], 10**4)\narray([1.01004915e-06, 8.65563968e-01])",
        "sf": ">>> kolmogorov.sf([0.001, 0.01], 10**6)\narray([1.35245090e-01, 1.36866522e-87])",
        "logcdf": ">>> kolmogorov.logcdf([1e-6, 0.01], 10**4)\narray([-13.80551156,  -0.144374  ])",
        "logsf": ">>> kolmogorov.logsf([0.01, 0.1], 10**5)\n"
        "array([  -20.0070669 , -2004.53072482])",
        "ppf": ">>> kolmogorov.ppf([1e-300, 0.95], 900)\narray([1.00000000e-300, 4.06085259e-002])",
        "isf": ">>> kolmogorov.isf([0.05, 1e-300], 1000)\narray([0.03853384, 0.56379049])",
        "ilogcdf": ">>> kolmogorov.ilogcdf([-500.0, -1.0], 50)\n"
        "array([7.12457641e-218, 6.45882094e-002])",
        "ilogsf": ">>> kolmogorov.ilogsf([-500.0, -1.0], 50)\narray([0.9999546 , 0.09683172])",
    },
)
