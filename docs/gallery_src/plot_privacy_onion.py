"""
The privacy onion
=================

Leakage is relative. A record far from the mean leaks little as long as
others, further out, make the covariance large. Take those out, and the
layer below is exposed.
"""

# %%
# Five in a hundred records have five times the standard deviation of the
# others. The effect and its name are from Carlini et al., "The privacy onion
# effect: memorization is relative" (NeurIPS 2022).

import matplotlib.pyplot as plt
import numpy as np

from leakscore import Reference

rng = np.random.default_rng(1)
scale = np.where(rng.random(4000) < 0.05, 5.0, 1.0)
X = scale[:, np.newaxis] * rng.standard_normal((4000, 20))

before = Reference.fit(X).squared_mahalanobis(X)
kept = np.argsort(before)[:3800]
after = Reference.fit(X[kept]).squared_mahalanobis(X[kept])
print(f"more exposed than before: {(after > before[kept]).mean():.0%} of the {kept.size} kept")

# %%
fig, ax = plt.subplots()
ax.plot(before[kept], after, ".", ms=2)
ends = [0, after.max()]
ax.plot(ends, ends, color="0.6", lw=1)
ax.annotate("unchanged", (0.72 * ends[1], 0.66 * ends[1]), color="0.5", rotation=12)
ax.set(xlabel="squared distance in the whole table", ylabel="after the outermost 5 % left")
ax.set_xlim(0, 1.1 * before[kept].max())
plt.show()
