"""
How many rounds an audit needs
==============================

However much a mechanism leaks, few rounds cannot show it. Each further nat
of epsilon takes about e times as many rounds.
"""

# %%
# The mechanism is Gaussian with mu = 3. Its epsilon at delta = 1e-5 is 16.7:
# no audit of this length comes near it.

import matplotlib.pyplot as plt
import numpy as np

from leakscore.audit import Audit

rng = np.random.default_rng(2)
sizes = [20, 50, 100, 300, 1000, 3000, 10_000, 30_000, 100_000]
audits = [Audit(rng.normal(3.0, 1.0, n), rng.normal(size=n)) for n in sizes]
bounds = [audit.epsilon(1e-5, method="weighted-ell") for audit in audits]
print([round(bound.epsilon, 2) for bound in bounds])

# %%
fig, ax = plt.subplots()
ax.semilogx(sizes, [b.max_certifiable for b in bounds], "--", label="cap: perfect separation")
ax.semilogx(sizes, [b.epsilon for b in bounds], "o-", label="certified")
ax.set(xlabel="rounds of each kind", ylabel="epsilon at delta = 1e-5")
ax.legend()
plt.show()
