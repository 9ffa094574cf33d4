"""Measured error and speed of `leakscore.distributions`: ``python -m bench.accuracy`` writes them.

One module a law lists its points with values from many-digit arithmetic; measure.py compares every
implementation with them, and page.py writes docs/reference/distributions.md.
"""
