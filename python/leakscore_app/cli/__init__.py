"""The command line."""

from leakscore_app.cli.program import main

__all__ = ["main"]
