"""
What DP-SGD promises, as a curve
================================

An epsilon is one number of a whole curve. The trade-off curve of the
training says at every rate of false alarms how many members the best
attacker finds.
"""

# %%
# 1000 steps, a hundredth of the records in each. The curve is known between
# two certified ends, which lie closer than a line is wide.

import matplotlib.pyplot as plt
import numpy as np

from leakscore import tradeoff

training = tradeoff.subsampled_gaussian(1.0, sample_rate=0.01, num_steps=1000)
low, high = training.interval("epsilon", 1e-5)
print(f"epsilon(1e-5) between {low:.4f} and {high:.4f}")
claim = tradeoff.approximate_dp(high, 1e-5)

# %%
fig, ax = plt.subplots()
alpha = np.logspace(-5, 0, 300)
ax.loglog(alpha, training.power(alpha), lw=2, label="the training")
ax.loglog(alpha, claim.power(alpha), "--", label=f"what ({high:.2f}, 1e-5) allows")
ax.loglog(alpha, alpha, color="0.6", lw=1, label="guessing")
ax.set(xlabel="false positive rate", ylabel="true positive rate", ylim=(1e-5, 1.3))
ax.legend()
plt.show()
