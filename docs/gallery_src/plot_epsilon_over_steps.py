"""
Epsilon over the steps of a training
====================================

The privacy that a training spends grows with its steps, slower than their
number. Both ends of every epsilon are certified.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from leakscore import tradeoff

steps = np.unique(np.logspace(0, 3, 5).astype(int))
fig, ax = plt.subplots()
for noise in (1.0, 1.5):
    ends = [
        tradeoff.subsampled_gaussian(noise, sample_rate=0.01, num_steps=int(k)).interval(
            "epsilon", 1e-5
        )
        for k in steps
    ]
    low, high = np.array(ends).T
    ax.loglog(steps, high, label=f"noise multiplier {noise}")
    print(f"noise {noise}: {low[-1]:.3f} to {high[-1]:.3f} after {steps[-1]} steps")
ax.set(xlabel="steps, a hundredth of the records in each", ylabel="epsilon at delta = 1e-5")
ax.legend()
plt.show()
