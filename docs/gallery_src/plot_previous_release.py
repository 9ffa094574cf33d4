"""
The mean that was published before
==================================

A table grows by a few records, and its mean is published again. Each mean
alone hides the newcomers among hundreds; their difference is a mean of the
newcomers alone.
"""

# %%
# A typical record of 30 coordinates is among the newcomers of a table that
# ends with 500 rows.

import matplotlib.pyplot as plt
import numpy as np

from leakscore import Reference, leakage, tradeoff

d, n = 30, 500
reference = Reference(np.zeros(d), np.ones(d))
target = np.ones(d)
added = np.array([2, 3, 5, 10, 20, 50, 100, 200])
joint = [leakage.release_leakage(target, reference, [n - k, n], step=1) for k in added]
alone = leakage.leakage_score(target, reference, n)
power = tradeoff.gaussian(leakage=np.array(joint)).power(0.01)
print(f"the last mean alone: {tradeoff.gaussian(leakage=alone).power(0.01):.3f}")
print(dict(zip(added.tolist(), np.round(power, 3).tolist(), strict=True)))

# %%
fig, ax = plt.subplots()
ax.loglog(added, power, "o-", label="both means")
ax.axhline(tradeoff.gaussian(leakage=alone).power(0.01), color="C1", label="the last mean alone")
ax.set(xlabel="rows added since the mean before", ylabel="recognised, at 1 % false alarms")
ax.legend()
plt.show()
