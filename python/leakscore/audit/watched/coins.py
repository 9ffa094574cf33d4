"""Whether the memberships look like the coins that a design needs."""

from __future__ import annotations

import math
import warnings

from leakscore.typing import Flags

_EVIDENCE = math.log(500.0)  # fair coins ever reach it with probability 1/500
_ORDERLY = 5.0  # standard deviations of the number of changes from member to non-member
_FEWEST, _MANY = 20, 2000  # rounds of which exactly half are members


def warn_of_unfair(members: int, rounds: int, inclusion: float) -> bool:
    """Warn if the shares of members and non-members refute the coin; True if they do."""
    others = rounds - members
    # The mean over Beta(1/2, 1/2) of the likelihood ratio of a coin: a martingale, if it is fair.
    mixture = math.lgamma(members + 0.5) + math.lgamma(others + 0.5) - math.lgamma(rounds + 1.0)
    null = members * math.log(inclusion) + others * math.log1p(-inclusion)
    if mixture - math.log(math.pi) - null < _EVIDENCE:
        return False
    warnings.warn(
        f"{members} of {rounds} rounds have a member, which hardly happens with coins that say "
        f"member with probability {inclusion:g}: evidence from such rounds does not hold. Other "
        "coins: inclusion=; numbers fixed beforehand: design='pairs'",
        stacklevel=3,
    )
    return True


def warn_of_fixed(member: Flags) -> bool:
    """Warn if exactly half are members, in an order or a number that is rare; True if so."""
    rounds = member.size
    if rounds < _FEWEST or 2 * int(member.sum()) != rounds:
        return False
    changes = int((member[1:] != member[:-1]).sum())
    orderly = abs(changes - rounds / 2.0) > _ORDERLY * math.sqrt(rounds) / 2.0
    if not orderly and rounds < _MANY:
        return False
    warnings.warn(
        f"Exactly half of {rounds} rounds have a member: if these numbers were fixed beforehand, "
        "the memberships were no coins, and only design='pairs' is valid",
        stacklevel=3,
    )
    return True
