"""The shape of noise that costs least: a smallest ellipsoid around records and a covariance.

In units in which a cost of noise is its trace, and with every record y over the root of its limit,
the problem is

    minimise tr(K - C)  subject to  K >= C  and  y_i' K^-1 y_i <= 1 for every record i,

where K = C + S and S is the covariance of the noise. `problem` states it, also for persons of
several records, and finds the few records that matter; `interior` solves it for these and bounds
the optimum from below; `subspace` reduces many columns to few.
"""
