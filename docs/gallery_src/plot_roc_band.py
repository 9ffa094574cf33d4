"""
A ROC curve with a band that holds
==================================

A ROC curve of few rounds is noise in the corner that matters: at small
false positive rates. The band covers the true curve at every rate at once,
with the stated confidence.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from leakscore import tradeoff
from leakscore.audit import Audit

rng = np.random.default_rng(5)
audit = Audit(rng.normal(1.5, 1.0, 1000), rng.normal(size=1000))
band, roc = audit.band(confidence=0.95), audit.roc()
alpha = np.logspace(-3.5, 0, 200)
low, high = np.array([band.tpr_at(rate) for rate in alpha]).T
print(f"at 1 % false alarms: between {band.tpr_at(0.01)[0]:.2f} and {band.tpr_at(0.01)[1]:.2f}")

# %%
fig, ax = plt.subplots()
ax.fill_between(alpha, low, high, alpha=0.25, label="95 % band, all rates at once")
ax.step(roc.fpr, roc.tpr, where="post", lw=1, label="observed")
ax.plot(alpha, tradeoff.gaussian(1.5).power(alpha), "--", color="C1", label="truth")
ax.set(xscale="log", xlim=(alpha[0], 1), xlabel="false positive rate")
ax.set_ylabel("true positive rate")
ax.legend(loc="upper left")
plt.show()
