"""Confidence bands around error rates, valid at all thresholds at once."""
