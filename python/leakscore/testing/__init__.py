"""Tests of mechanisms: a false privacy claim is refuted by playing the mechanism.

`check_private` plays fair coins between two neighbouring data sets, learns an attack on the first
rounds, and bets against the claim on the others. What it finds is a proof, at the confidence; that
it finds nothing proves nothing.
"""

from leakscore.testing._check import PrivacyCheck, assert_private, check_private

__all__ = ["PrivacyCheck", "assert_private", "check_private"]
