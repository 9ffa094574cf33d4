"""Rounds that are read as they come, and looked at after each."""
