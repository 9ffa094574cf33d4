"""What is drawn at random, and the seed that draws it again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Drawn(tuple):
    """A tuple of what was drawn; `seed`, as `rng`, draws it again.

    It is None where `rng` was a Generator or a BitGenerator, whose state moved on, or a
    SeedSequence that no int stands for: their owner has them.
    """

    def __new__(cls, parts: Iterable[Any], seed: int | None) -> Drawn:
        """Keep the seed beside the parts."""
        drawn = super().__new__(cls, parts)
        drawn.seed = seed
        return drawn

    def __getnewargs__(self) -> tuple[tuple[Any, ...], int | None]:
        return tuple(self), self.seed
