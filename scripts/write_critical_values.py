"""Solve for the critical values that are shipped, so that usual audits need not.

Writes python/leakscore/data/critical-values.json: method -> miss of one band -> size -> value. The
present file only gives the searches their starting points. Takes two minutes.
"""

from __future__ import annotations

import json
from pathlib import Path

from leakscore.audit import bands

CONFIDENCES = (0.9, 0.95, 0.99)
SIZES = sorted(
    {digit * 10**power for power in range(6) for digit in (1, 2, 5)}
    | {10**power for power in range(6, 10)}
    | {20_001, 200_001}  # and where the algorithm changes
)
TARGET = Path(__file__).parents[1] / "python/leakscore/data/critical-values.json"


def main() -> None:
    """Solve for all of them."""
    table = {
        method: {
            repr(miss): {str(n): bands.search(method, n, miss) for n in SIZES}
            for miss in ((1.0 - confidence) / 2.0 for confidence in CONFIDENCES)
        }
        for method in bands.LEVEL_METHODS
    }
    TARGET.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
