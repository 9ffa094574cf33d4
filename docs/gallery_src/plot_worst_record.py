"""
The worst record
================

The mean of a medical table is published. Half of the patients are as good
as hidden; a few are recognised nearly always. A number for "the" privacy of
such a mean describes nobody.
"""

# %%
# The table is in the package: 569 patients, 30 measurements. Each is scored
# against the others, as the mean of 100 of them is published.

import matplotlib.pyplot as plt
import numpy as np

import leakscore_app
from leakscore import Reference, leakage, tradeoff

X = leakscore_app.embedded_table().values
m = leakage.leave_one_out(X, Reference.fit(X), n=100)
power = np.sort(tradeoff.gaussian(leakage=m).power(0.01))
print(f"median {np.median(power):.1%}, worst {power[-1]:.1%}")

# %%
fig, ax = plt.subplots()
ax.plot(np.linspace(0, 100, power.size), power, lw=2)
ax.axhline(0.01, color="0.6", lw=1)
ax.annotate("blind guessing", (2, 0.012), color="0.5")
ax.set_yscale("log")
ax.set_xlabel("patients, per cent")
ax.set_ylabel("recognised, at 1 % false alarms")
plt.show()
