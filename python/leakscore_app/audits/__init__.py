"""What ``leakscore audit FILE`` does: read scores, judge claims by them, and say what was found."""

from leakscore_app.audits.model import Claim, Setting

__all__ = ["Claim", "Setting"]
