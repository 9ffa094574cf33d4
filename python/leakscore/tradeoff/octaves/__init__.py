"""Sums of ratios, and of losses, on lattices of octaves: in positive arithmetic."""
