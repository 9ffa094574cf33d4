"""Terms of the Edgeworth scores, one for each coordinate, as the equations are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import Reference

Array = npt.NDArray[Any]


def edgeworth(
    x: Array, z: Array, reference: Reference, n: int, l3: Array, l4: Array, order: int
) -> Array:
    sigma = np.sqrt(reference.variances.astype(np.longdouble))
    D = np.sqrt(np.longdouble(n)) * (x - reference.mean) / sigma
    a = (z - reference.mean) / sigma
    terms = a * D / np.sqrt(np.longdouble(n)) - (a**2 + (D**2 - 1) * (1 + l3 * a)) / (2 * n)
    if order == 3:
        inner = 3 * a**2 * l3 + 3 * a * D**2 * l3**2 - a * D**2 * l4 - 6 * a * l3**2
        inner += 3 * a * l4 + 6 * a + 2 * D**2 * l3 - 3 * l3
        terms += D * inner / (6 * np.longdouble(n) ** 1.5)
    return np.asarray(terms)
