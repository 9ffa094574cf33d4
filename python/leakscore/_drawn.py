"""What is drawn at random, and the seed that draws it again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVarTuple, Unpack

    Parts = TypeVarTuple("Parts")

    class Drawn(tuple[Unpack[Parts]]):
        """A tuple of what was drawn, beside its seed."""

        seed: int | None

        def __new__(cls, parts: tuple[Unpack[Parts]], seed: int | None) -> Drawn[Unpack[Parts]]: ...

else:

    class Drawn(tuple):
        """A tuple of what was drawn; `seed`, as `rng`, draws it again.

        It is None where `rng` was a Generator or a BitGenerator, whose state moved on, or a
        SeedSequence that no int stands for: their owner has them.
        """

        def __new__(cls, parts: Iterable[Any], seed: int | None) -> Drawn:
            """Keep the seed beside the parts."""
            made = super().__new__(cls, parts)
            made.seed = seed
            return made

        def __getnewargs__(self) -> tuple[tuple[Any, ...], int | None]:
            return tuple(self), self.seed
