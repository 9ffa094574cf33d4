"""The command line: ``leakscore report`` and ``leakscore audit``.

Exit codes: 0 done, 1 an error (one line on standard error), for ``audit`` 2 a claim that is refuted
and 3 one that so few scores could not refute, 130 interrupted.
"""

from leakscore.cli._main import main

__all__ = [
    "main",
]
