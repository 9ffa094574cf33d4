"""Covariances estimated anew without each row of a table, from sums over the whole table."""
