"""
One training or many rounds
===========================

Many canaries in one training cost a single training. With half of them
guessed they prove here as much as equally many independent rounds, or a
little more; with a twentieth guessed, nothing at 200 canaries, and the most
at 2000. How many
are guessed must be fixed before the scores are seen.
"""

# %%
# Laplace noise with epsilon = 2. Guessing few canaries caps the bound,
# guessing all of them adds guesses that are hardly better than coins.

import matplotlib.pyplot as plt
import numpy as np

from leakscore import audit

rng = np.random.default_rng(4)
sizes = [200, 500, 1000, 2000, 5000]
names = ["independent rounds", "one training, half guessed", "one training, a twentieth"]
found = {name: [] for name in names}
for m in sizes:
    included = rng.random(m) < 0.5
    scores = rng.laplace(2.0 * included, 1.0)
    rounds = audit.Audit.from_rounds(scores, included).epsilon(1e-6)
    some = [audit.one_run(scores, included, k, k, delta=1e-6) for k in (m // 4, m // 40)]
    for name, bound in zip(names, (rounds, *some), strict=True):
        found[name].append(float(bound.epsilon))
print({name: np.round(bounds, 2).tolist() for name, bounds in found.items()})

# %%
fig, ax = plt.subplots()
for name, bounds in found.items():
    ax.plot(sizes, bounds, "o-", label=name)
ax.axhline(2.0, color="0.6", lw=1, label="the truth")
ax.set(xlabel="rounds, or canaries", ylabel="epsilon at delta = 1e-6", ylim=(0, None))
ax.legend()
plt.show()
