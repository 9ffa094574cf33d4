"""
Tails at 1e-300
===============

Certified bounds ask for probabilities far below what is ever drawn. The
law of a squared Mahalanobis distance in the far tail, beside scipy and 50
digits.
"""

# %%
# The noncentral chi-square law with 10 degrees of freedom, noncentrality 40,
# in its lower tail.

import matplotlib.pyplot as plt
import numpy as np
from mpmath import mp, mpf
from scipy import stats

from leakscore.distributions import ncx2

mp.dps = 50
df, nc = 10, 40
x = np.logspace(-58, 1, 24)


def exact(x):
    """The sum of central laws with Poisson weights, in 50 digits."""
    half, total, weight = mpf(x) / 2, mpf(0), mp.exp(-mpf(nc) / 2)
    for j in range(120):
        total += weight * mp.gammainc(mpf(df) / 2 + j, 0, half, regularized=True)
        weight *= mpf(nc) / 2 / (j + 1)
    return total


truth = [exact(value) for value in x]
errors = {}
for name, law in {"scipy": stats.ncx2, "leakscore": ncx2}.items():
    found = law.cdf(x, df, nc)
    errors[name] = [
        max(float(abs((mpf(value) - true) / true)), 1e-17)
        for value, true in zip(found, truth, strict=True)
    ]
    print(f"{name}: largest relative error {max(errors[name]):.1e}")

# %%
fig, ax = plt.subplots()
probability = [float(true) for true in truth]
for name, error in errors.items():
    ax.loglog(probability, error, "o-", ms=4, label=name)
ax.axhline(2.0**-53, color="0.6", lw=1)
ax.set(xlabel="the probability", ylabel="relative error")
ax.legend()
plt.show()
