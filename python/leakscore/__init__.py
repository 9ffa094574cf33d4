"""Membership leakage: with what certainty an attacker can tell that a record was in the data.

The submodules (`audit`, `canaries`, `distributions`, `games`, `leakage`, `scores`, `sequential`,
`shadow`, `testing`, `tradeoff`, `whitebox`) and `Reference` are loaded on first use, so that
``import leakscore`` costs little more than ``import numpy``. So are `dask`, `opacus`, `plot`,
`reference`, `results`, `statistics`, `torch`, `typing` and `validation`, which are not in
``__all__``: four of them need more than numpy and scipy once they are used, the names of others
would hide the standard library's, and what `reference` holds lies here as well.

Files, verdicts and pages are the application's: `leakscore_app`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakscore._runtime import (
    active_isa,
    get_num_threads,
    set_num_threads,
    single_threaded_blas,
    supported_isas,
)

if TYPE_CHECKING:
    from leakscore import (
        audit,
        canaries,
        distributions,
        games,
        leakage,
        scores,
        sequential,
        shadow,
        testing,
        tradeoff,
        whitebox,
    )
    from leakscore import dask as dask
    from leakscore import opacus as opacus
    from leakscore import plot as plot
    from leakscore import reference as reference
    from leakscore import results as results
    from leakscore import statistics as statistics
    from leakscore import torch as torch
    from leakscore import typing as typing
    from leakscore import validation as validation
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
    "shadow",
    "single_threaded_blas",
    "supported_isas",
    "testing",
    "tradeoff",
    "whitebox",
]

_NOT_STARRED = frozenset(
    {
        "dask",
        "opacus",
        "plot",
        "reference",
        "results",
        "statistics",
        "torch",
        "typing",
        "validation",
    }
)
_OF_REFERENCE = frozenset({"ColumnGram", "Moments", "Reference", "SingularCovarianceError"})


if not TYPE_CHECKING:  # for whom a name that is not above is an error

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            return version("leakscore")
        from importlib import import_module

        if name in _OF_REFERENCE:
            return getattr(import_module("leakscore.reference"), name)
        if name in _NOT_STARRED.union(__all__):  # the other names of `__all__` are submodules
            return import_module(f"leakscore.{name}")
        raise AttributeError(f"module 'leakscore' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_NOT_STARRED, "__version__"])
