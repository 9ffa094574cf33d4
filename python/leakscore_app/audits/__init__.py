"""What ``leakscore audit FILE`` does: read scores, judge claims by them, and say what was found."""
