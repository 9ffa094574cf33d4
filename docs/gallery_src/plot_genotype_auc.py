"""
Who is in the genetic study
===========================

Only allele frequencies of a pool of 100 people are published. With a few
hundred common variants the attacks guess; with thousands they know. This is
the oldest membership attack (Homer et al., 2008).
"""

# %%
# Independent variants, drawn; ``python -m reproduce genotypes`` does this
# with people of the 1000 Genomes project.

import matplotlib.pyplot as plt
import numpy as np

from leakscore.audit import Audit
from leakscore.scores import genotype_llr, homer_distance

rng = np.random.default_rng(7)
pool, outside = 100, 100
sizes = [100, 300, 1000, 3000, 10_000]
p = rng.uniform(0.05, 0.5, sizes[-1])
people = rng.binomial(2, p, (pool + outside, p.size))
frequency = people[:pool].mean(axis=0) / 2
found = {"Homer's distance": [], "likelihood ratio": []}
for d in sizes:
    ratio = genotype_llr(frequency[:d], people[:, :d], p[:d], pool)
    homer = homer_distance(frequency[:d], people[:, :d] / 2, p[:d])
    for name, score in zip(found, (homer, ratio), strict=True):
        found[name].append(Audit(score[:pool], score[pool:]).auc())
print({name: np.round(auc, 2).tolist() for name, auc in found.items()})

# %%
fig, ax = plt.subplots()
for name, auc in found.items():
    ax.semilogx(sizes, auc, "o-", label=name)
ax.axhline(0.5, color="0.6", lw=1)
ax.set(xlabel="variants published", ylabel="AUC of the attack", ylim=(0.45, 1.02))
ax.legend()
plt.show()
