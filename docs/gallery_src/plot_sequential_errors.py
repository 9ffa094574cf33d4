"""
A table that grows, tested at every release
===========================================

A target entered in one of T batches, and the attacker does not know in
which. Averaging the likelihood ratios over the batches is the best test.
Looking for the largest of them is worse, and after many batches worse than
the last mean alone.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from leakscore import Reference, audit, games, scores, sequential

d, n = 3, 10
reference_mean, unit = np.zeros(d), np.ones(d)
target = np.full(d, 3.0 / np.sqrt(d))  # squared distance 9
population = games.Gaussian(reference_mean, unit)
reference = Reference(reference_mean, unit)
steps = [1, 2, 5, 10, 20, 50]
found = {"average over the batches": [], "largest": [], "last mean alone": []}
for T in steps:
    means, member, _ = games.sequential(population, target, n, T, "uniform", 6000, rng=1)
    llr = scores.gaussian_llr(
        sequential.batch_means(means).reshape(-1, d), target, reference, n
    ).reshape(-1, T)
    last = scores.gaussian_llr(means[:, -1], target, reference, n * T)
    tests = (sequential.semi_uniform(llr), sequential.semi_max(llr), last)
    for name, score in zip(found, tests, strict=True):
        found[name].append(audit.Audit(score[member], score[~member]).auc())

# %%
fig, ax = plt.subplots()
for name, auc in found.items():
    ax.semilogx(steps, auc, "o-", label=name)
ax.set(xlabel="batches", ylabel="AUC")
ax.legend()
plt.show()
