"""The command line: ``leakscore report``, ``audit``, ``risk`` and ``ask``.

Exit codes: 0 done, 1 an error (one line on standard error), 130 interrupted; for ``audit`` also 2
if the claim is refuted, and 3 if these scores could not refute it; for ``risk --check`` also 2 if
a record is certified, and 3 if none could have been; for ``ask`` 2 if the question is refused.
"""

from leakscore_app.cli._main import main

__all__ = [
    "main",
]
