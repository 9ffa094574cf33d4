"""
Small leaves give records away
==============================

A synthetic table is drawn column by column: a tree predicts each from those
before, and a record takes a value from its leaf. The smaller the leaves, the
nearer it comes to the records that it was trained on; at one record a leaf
it repeats them.
"""

# %%
# 189 patients are trained on, 189 are not, 189 stand for the population.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeRegressor

import leakscore_app
from leakscore import audit, scores

rng = np.random.default_rng(1)
X = rng.permutation(leakscore_app.embedded_table().values[:, [0, 1, 4, 8]])
train, holdout, others = np.split(X[:567], 3)


def made(leaf):
    table = rng.choice(train[:, :1], 1000)
    for k in range(1, train.shape[1]):
        tree = DecisionTreeRegressor(min_samples_leaf=leaf, random_state=0)
        homes = tree.fit(train[:, :k], train[:, k]).apply(train[:, :k])
        drawn = [rng.choice(train[homes == home, k]) for home in tree.apply(table)]
        table = np.column_stack([table, drawn])
    return table


# %%
attacks = {"distance": "nearest record", "density": "density", "moments": "means and products"}
leaves, targets = np.array([1, 2, 3, 5, 10, 20, 40, 80]), np.vstack([train, holdout])
areas = {attack: [] for attack in attacks}
for leaf in leaves:
    scored = scores.synthetic_scores(targets, made(leaf), others, len(train))
    for attack, drawn in areas.items():
        drawn.append(audit.Audit(*np.split(getattr(scored, attack), 2)).auc())
print(f"leaves of 1: {areas['distance'][0]:.2f}, of 20: {areas['distance'][5]:.2f}")

# %%
fig, ax = plt.subplots()
for attack, label in attacks.items():
    ax.plot(leaves, areas[attack], "o-", label=label)
ax.axhline(0.5, color="0.6", lw=1)
ax.annotate("guessing", (1, 0.507), color="0.5")
ax.set(xscale="log", xlabel="records in a leaf, at least", ylabel="AUC of the attack")
ax.set_xticks(leaves, leaves)
ax.minorticks_off()
ax.legend()
plt.show()
