"""
Noise where it is needed
========================

The noise that hides every record of a table is large if it is the same in
every column. Noise along the directions of the few exposed records does the
same for a fraction of it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import leakscore_app
from leakscore import Reference, leakage

X = leakscore_app.embedded_table().values
n, reference = len(X), Reference.fit(X)
limits = [0.1, 0.15, 0.2, 0.3, 0.4]
found = {"same in every column": [], "best shape": []}
for limit in limits:
    same = leakage.noise_for(X, reference, n, max_advantage=limit)
    best = leakage.noise_for(X, reference, n, max_advantage=limit, shape="optimal")
    for name, noise in zip(found, (same, best), strict=True):
        found[name].append(np.sqrt(np.mean(noise.standard_errors**2)))
print({name: np.round(sizes, 2).tolist() for name, sizes in found.items()})

# %%
fig, ax = plt.subplots()
for name, sizes in found.items():
    ax.plot(limits, sizes, "o-", label=name)
ax.set(xlabel="largest advantage allowed", ylabel="noise, in standard errors of the mean")
ax.set_ylim(0, None)
ax.legend()
plt.show()
