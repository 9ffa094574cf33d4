"""The shape of noise that costs least: a smallest ellipsoid around records and a covariance.

In units in which a cost of noise is its trace, and with every record y over the root of its limit,
the problem is

    minimise tr(K - C)  subject to  K >= C  and  y_i' K^-1 y_i <= 1 for every record i,

where K = C + S and S is the covariance of the noise: `problem` states it, `interior` solves it for
a few records and `independent` for noise that is independent between columns, `cover` finds the few
records that matter, `subspace` reduces many columns to few, and `certificate` bounds the optimum
from below.
"""
