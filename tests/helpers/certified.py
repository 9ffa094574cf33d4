"""Both certified curves of a law of losses."""

from __future__ import annotations

from tests.helpers.parts import Losses, Polygon, lower_curve, upper_curve


def curves(losses: Losses) -> tuple[Polygon, Polygon]:
    """Give the certified lower and upper curve of an informed attacker."""
    return lower_curve(losses, "guarantee", "informed"), upper_curve(losses, "informed")
