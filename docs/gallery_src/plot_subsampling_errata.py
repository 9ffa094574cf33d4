"""
Sub-sampling: printed, ours, simulated
======================================

A tenth of the records is sampled before the mean is taken. In print this
divides the leakage by ten. The game shows another curve: a record is in the
sample or it is not, so that nine members in ten are invisible and the tenth
is easy to see. Our curve is the limit for many records, and close at ten.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from leakscore import Reference, games, scores, tradeoff

d, n, rate = 100, 100, 0.1
population = games.Gaussian(np.zeros(d), np.ones(d))
target = np.full(d, 1.0)
reference = Reference(np.zeros(d), np.ones(d))
m = d / n
release = games.EmpiricalMean(n, sample_rate=rate)
k = round(rate * n)
played, member = games.fixed_target(
    population,
    target,
    release,
    40_000,
    rng=1,
    score=lambda means: scores.gaussian_llr(means, target, reference, k),
)
alpha = np.logspace(-3, 0, 60)
cuts = np.quantile(played[~member], 1 - alpha)
measured = (played[member][:, None] > cuts).mean(axis=0)
ours = tradeoff.subsampled_mean(m, rate).power(alpha)
printed = tradeoff.gaussian(leakage=rate * m).power(alpha)
print(f"largest error, ours {abs(ours - measured).max():.3f}", end="; ")
print(f"printed {abs(printed - measured).max():.3f}")

# %%
fig, ax = plt.subplots()
ax.loglog(alpha, printed, "--", label="printed: Gaussian, leakage a tenth")
ax.loglog(alpha, ours, lw=2, label="ours: a mixture")
ax.loglog(alpha, measured, ".", ms=5, color="C3", label="simulated")
ax.set(xlabel="false positive rate", ylabel="true positive rate")
ax.legend()
plt.show()
