"""The central and the noncentral chi-square law."""

from __future__ import annotations

from leakscore.distributions._distribution import Distribution

_DF = "Degrees of freedom, any number from 1e-289 to 1e60; elsewhere the result is NaN."
_NC = "Noncentrality, any number from 0 to 1e60; elsewhere the result is NaN."
_CONTOUR = """Every function is a trapezoid sum on a contour through the saddle point of the
moment generating function, with a term for the pole beside it (Rice 1968, Bell Syst. Tech. J. 47;
Hunter & Regan 1972, Math. Comp. 26); the exponent at the saddle is carried in 32 digits. Against
80-digit sums, for df in [0.05, 2e7] and nc in [0, 1e7], tails above 1e-305 and all logarithms
(to -1e4 and beyond) have a relative error below 3e-15, quantiles one below 1e-13 times their
condition number. The time per element depends on neither parameter. The rounding of the arguments
comes on top: a relative error of 1e-16 in `x` changes a tail by 1e-16 `x` times the hazard, which
is 1e-12 and more at df 1e7."""

chi2 = Distribution(
    "chi2",
    {"df": _DF},
    f"The chi-square law, the sum of squares of `df` standard normal variables. {_CONTOUR}",
    {
        "pdf": ">>> chi2.pdf([0.0, 1000.0], 2)\narray([5.0000000e-001, 3.5622882e-218])",
        "logpdf": ">>> chi2.logpdf([1e5], 7)\narray([-49974.84467507])",
        "cdf": ">>> chi2.cdf([1e-100, 1.0], [3, 0.1])\narray([2.65961520e-151, 9.71317371e-001])",
        "sf": ">>> chi2.sf([3.84, 10020000.0], [1, 1e7])\narray([5.00435212e-02, 3.92367060e-06])",
        "logcdf": ">>> chi2.logcdf([1.0], 1000)\narray([-2958.40305024])",
        "logsf": ">>> chi2.logsf([1e6], 3)\narray([-499993.31803507])",
        "ppf": ">>> chi2.ppf([0.5, 1e-300], [10, 100])\narray([9.34181777e+00, 3.89665233e-05])",
        "isf": ">>> chi2.isf([0.05, 1e-300], 1)\narray([   3.84145882, 1373.87263122])",
        "ilogcdf": ">>> chi2.ilogcdf([-5000.0], 1e4)\narray([1587.83137218])",
        "ilogsf": ">>> chi2.ilogsf([-5000.0], 1e4)\narray([31444.51289849])",
    },
)

ncx2 = Distribution(
    "ncx2",
    {"df": _DF, "nc": _NC},
    f"""The noncentral chi-square law: the sum of squares of `df` normal variables of unit variance
whose squared means add up to `nc`. {_CONTOUR}""",
    {
        "pdf": ">>> ncx2.pdf([3.0], 2, 1.5)\narray([0.13089883])",
        "logpdf": ">>> ncx2.logpdf([1e5], 7, 30)\narray([-48278.1518813])",
        "cdf": ">>> ncx2.cdf([1e-100, 1.0], 3, 200)\narray([9.89397062e-195, 6.17358842e-041])",
        "sf": ">>> ncx2.sf(2.005e7, 1e7, [1e7, 1.003e7])\narray([5.58099984e-11, 4.95774069e-03])",
        "logcdf": ">>> ncx2.logcdf([1.0], 1000, 5)\narray([-2960.90055524])",
        "logsf": ">>> ncx2.logsf([1e6], 3, 1e3)\narray([-468881.56408095])",
        "ppf": ">>> ncx2.ppf([0.5, 1e-300], 10, [3, 4000])\narray([ 12.21089606, 691.97107465])",
        "isf": ">>> ncx2.isf([0.05, 1e-300], 1, 9)\narray([  21.57466522, 1603.76992201])",
        "ilogcdf": ">>> ncx2.ilogcdf([-5000.0], 1e4, 50)\narray([1595.78723619])",
        "ilogsf": ">>> ncx2.ilogsf([-5000.0], 1e4, 50)\narray([31600.90865068])",
    },
)
