"""The standard normal law by scipy, loaded on first use."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["norm"]


class _Norm:
    """The functions of the law that trade-off curves need."""

    def __getattr__(self, name: str) -> Any:
        from scipy import special

        functions: dict[str, Any] = {
            "cdf": special.ndtr,
            "sf": lambda x: special.ndtr(-x),
            "pdf": lambda x: np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi),
            "isf": lambda p: -special.ndtri(p),
            "logcdf": special.log_ndtr,
            "ilogcdf": special.ndtri_exp,
        }
        if name not in functions:
            raise AttributeError(name)
        return functions[name]


norm = _Norm()
