from typing_extensions import TypeVarTuple, Unpack

Parts = TypeVarTuple("Parts")

class Drawn(tuple[Unpack[Parts]]):
    seed: int | None
    def __new__(cls, parts: tuple[Unpack[Parts]], seed: int | None) -> Drawn[Unpack[Parts]]: ...
