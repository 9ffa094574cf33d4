"""DP-SGD as it is run: allocated, fixed, truncated and shuffled batches, and correlated noise."""
