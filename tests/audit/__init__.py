"""Tests of the room `audit`."""

BANDS = ("weighted-ell", "ell", "berk-jones", "bonferroni", "ks", "dkw", "dkw-two-sided")
