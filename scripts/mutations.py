"""The mutations of `scripts/mutate`: what is undone, and which tests must fail then.

One for every certified term of docs/certified.md: deleted, or turned round, or made so large that
the bound says nothing.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["MUTATIONS", "Mutation"]


class Mutation(NamedTuple):
    """One text of one file and what takes its place; tests as pytest takes them."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def compiled(self) -> bool:
        """Whether the module must be built anew."""
        return self.file.startswith("cpp/")


TRADEOFF = "python/leakscore/tradeoff/"
COMPOSITION = "tests/test_tradeoff_composition.py"

MUTATIONS = (
    Mutation(
        "composition-unit",
        TRADEOFF + "_composition.py",
        "_UNIT = 100.0 * _U",
        "_UNIT = 0.0",
        (COMPOSITION,),
    ),
)
