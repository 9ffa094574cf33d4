"""``python -m leakscore``: the command line."""

from __future__ import annotations

import sys

from leakscore_app.cli import main

if __name__ == "__main__":
    sys.exit(main())
