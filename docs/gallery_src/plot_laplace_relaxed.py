"""
An attacker who lacks the sign
==============================

Differential privacy guards against an attacker who knows the record. One
who does not know in which direction it moves the output is weaker: for
Laplace noise half as likely to be right where false alarms must be rare, and
hardly weaker where they may be common.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from leakscore import tradeoff

mu = 2.0
alpha = np.linspace(0, 1, 400)
curves = {
    "knows the record": tradeoff.laplace(mu),
    "lacks the sign": tradeoff.relaxed_laplace(mu),
}
for name, curve in curves.items():
    print(f"{name}: advantage {curve.advantage():.3f}")

# %%
fig, ax = plt.subplots(figsize=(4.6, 4.2))
for name, curve in curves.items():
    ax.plot(alpha, curve(alpha), lw=2, label=name)
ax.plot([0, 1], [1, 0], color="0.6", lw=1, label="guesses")
ax.set(xlabel="false positive rate", ylabel="false negative rate", aspect="equal")
ax.legend()
plt.show()
