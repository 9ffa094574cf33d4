"""Laws of the scores and their tails, with relative accuracy far into both.

Each law has ``pdf, logpdf, cdf, sf, logcdf, logsf, ppf, isf``, named and ordered as in
`scipy.stats`, and the quantiles ``ilogcdf, ilogsf`` of log-probabilities. They are thin functions
over true numpy ufuncs (``norm.cdf.ufunc``): arrays broadcast, float32 and float64 of any layout are
read where they are, and dask arrays and other types with ``__array_ufunc__`` keep their type.
"""

from leakscore.distributions._clopper_pearson import clopper_pearson
from leakscore.distributions._laws import (
    Distribution,
    chi2,
    folded_laplace,
    kolmogorov,
    marcum_p,
    marcum_q,
    marcum_q_inv,
    ncx2,
    norm,
)
from leakscore.distributions._sums import GeneralizedChiSquare, edgeworth, gx2

__all__ = [
    "Distribution",
    "GeneralizedChiSquare",
    "chi2",
    "clopper_pearson",
    "edgeworth",
    "folded_laplace",
    "gx2",
    "kolmogorov",
    "marcum_p",
    "marcum_q",
    "marcum_q_inv",
    "ncx2",
    "norm",
]

# doctest collects functions and classes by itself, but not the functions of an object.
__test__ = {
    f"{law!r}.{name}": function.__doc__
    for law in (chi2, edgeworth, folded_laplace, gx2, kolmogorov, ncx2, norm)
    for name, function in vars(law).items()
    if callable(function)
}
__test__ |= {name: globals()[name].__doc__ for name in ("marcum_p", "marcum_q", "marcum_q_inv")}
