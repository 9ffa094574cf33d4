"""Membership leakage: with what certainty an attacker can tell that a record was in the data.

The rooms (`audit`, `canaries`, `distributions`, `games`, `leakage`, `scores`, `sequential`,
`tradeoff`, `whitebox`) and `Reference` are loaded on first use, so that ``import leakscore`` costs
little more than ``import numpy``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakscore._runtime import active_isa, get_num_threads, set_num_threads, supported_isas

if TYPE_CHECKING:
    from leakscore import (
        audit,
        canaries,
        distributions,
        games,
        leakage,
        scores,
        sequential,
        tradeoff,
        whitebox,
    )
    from leakscore.reference import ColumnGram, Moments, Reference, SingularCovarianceError

    __version__: str

__all__ = [
    "ColumnGram",
    "Moments",
    "Reference",
    "SingularCovarianceError",
    "active_isa",
    "audit",
    "canaries",
    "distributions",
    "games",
    "get_num_threads",
    "leakage",
    "scores",
    "sequential",
    "set_num_threads",
    "supported_isas",
    "tradeoff",
    "whitebox",
]

_ROOMS = frozenset(
    {
        "audit",
        "canaries",
        "distributions",
        "games",
        "leakage",
        "scores",
        "sequential",
        "tradeoff",
        "whitebox",
    }
)
_HOMES = {
    "ColumnGram": "reference",
    "Moments": "reference",
    "Reference": "reference",
    "SingularCovarianceError": "reference",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("leakscore")
    from importlib import import_module

    if name in _ROOMS:
        return import_module(f"leakscore.{name}")
    if name in _HOMES:
        return getattr(import_module(f"leakscore.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'leakscore' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
