"""Write docs/reference/figures.md from the registry of the reproduced figures.

Run it after an entry changes; tests/docs/test_written.py says when it is due.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "figures.md"
sys.path.insert(0, str(ROOT))

from reproduce._index import page  # noqa: E402

if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
