"""Both certified curves of a law of losses."""

from __future__ import annotations

from leakscore.tradeoff.composition.laws import Losses, lower_curve, upper_curve
from leakscore.tradeoff.polygon import Polygon


def curves(losses: Losses) -> tuple[Polygon, Polygon]:
    """Give the certified lower and upper curve of an informed attacker."""
    return lower_curve(losses, "guarantee", "informed"), upper_curve(losses, "informed")
