"""Releases other than the mean: their features, and what cells of few records are judged by."""
