"""
Nine bounds on one set of scores
================================

All methods hold at the same confidence. They differ in how much of the
truth they show, and no method can show more than the number of rounds
allows.
"""

# %%
# Scores of a Gaussian mechanism, 1000 rounds with the target and 1000
# without it. The last mark of each line is the cap: what perfectly
# separated scores would certify.

import matplotlib.pyplot as plt
import numpy as np

from leakscore import tradeoff
from leakscore.audit import Audit

rng = np.random.default_rng(3)
member = rng.random(2000) < 0.5
scores = rng.normal(3.0 * member, 1.0)
audit = Audit.from_rounds(scores, member, random_bits=True)
methods = [
    "weighted-ell",
    "ell",
    "berk-jones",
    "bonferroni",
    "ks",
    "dkw",
    "dkw-two-sided",
    "split",
    "sorted-bits",
]
bounds = [audit.epsilon(1e-5, method=method) for method in methods]
order = sorted(bounds, key=lambda bound: bound.epsilon)
print({bound.method: round(bound.epsilon, 2) for bound in reversed(order)})

# %%
fig, ax = plt.subplots()
place = np.arange(len(order))
ax.barh(place, [bound.epsilon for bound in order], label="certified")
ax.plot([b.max_certifiable for b in order], place, "|", ms=14, mew=2, color="C1", label="cap")
truth = tradeoff.gaussian(3.0).epsilon(1e-5)
ax.set_yticks(place, [bound.method for bound in order])
ax.set_xlabel(f"epsilon at delta = 1e-5 (the truth: {truth:.1f})")
ax.legend(loc="lower right")
plt.show()
