"""
A thousand audits of nothing
============================

The scores of these audits leak nothing: members and non-members are drawn
from the same law, so that every epsilon above 0 is a false claim. An audit
at 95 % confidence may make one in 5 % of its runs.
"""

# %%
# Two common audits choose the threshold by the scores and do not pay for the
# choice. The first reports the ratio of the observed rates. The second has a
# 95 % interval for each rate, made for one threshold, and keeps the best.

import matplotlib.pyplot as plt
import numpy as np

from leakscore.audit import Audit
from leakscore.distributions import clopper_pearson

AUDITS, ROUNDS = 1000, 100
rng = np.random.default_rng(1)
# An upper bound on the error rate for every number of errors.
upper = clopper_pearson(np.arange(ROUNDS + 1), ROUNDS, 0.95)[0]


def errors(members, nonmembers):
    """False positives and false negatives at every threshold."""
    thresholds = np.concatenate([members, nonmembers])
    fp = ROUNDS - np.searchsorted(np.sort(nonmembers), thresholds, "right")
    fn = np.searchsorted(np.sort(members), thresholds, "right")
    return fp, fn


wrong = dict.fromkeys(["ratio of observed rates", "best of 95 % intervals", "leakscore"], 0)
for members, nonmembers in rng.normal(size=(AUDITS, 2, ROUNDS)):
    fp, fn = errors(members, nonmembers)
    low = upper[fp] + upper[fn] < 1  # members have the larger scores
    high = upper[ROUNDS - fp] + upper[ROUNDS - fn] < 1  # or the smaller
    bound = Audit(members, nonmembers).epsilon(0.0)
    claims = (((fp > 0) & (ROUNDS - fn > fp)).any(), (low | high).any(), bound.epsilon > 0)
    for name, claim in zip(wrong, claims, strict=True):
        wrong[name] += bool(claim)
print({name: count / AUDITS for name, count in wrong.items()})

# %%
fig, ax = plt.subplots()
shares = {name: count / AUDITS for name, count in reversed(wrong.items())}
bars = ax.barh(list(shares), list(shares.values()), color=["C0", "C5", "C5"])
ax.bar_label(bars, fmt=lambda share: f"{share:.1%}", padding=4)
ax.axvline(0.05, color="0.5", lw=1, ls="--")
ax.annotate("allowed", (0.06, 0.42), color="0.5")
ax.set_xlabel("audits that certify a leak where there is none")
ax.margins(x=0.15)
plt.show()
