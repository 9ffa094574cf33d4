# Types of the compiled core, one section per binding file; tests/test_codebase.py compares it with
# the built module.
from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[Any]
_Doubles = npt.NDArray[np.float64]

# --- bind_runtime.cpp ---

def set_num_threads(count: int) -> None: ...
def get_num_threads() -> int: ...
def active_isa() -> str: ...
def supported_isas() -> list[str]: ...
def select_isa(name: str) -> None: ...

# --- bind_distributions.cpp ---

# --- end of bind_distributions.cpp ---

# --- bind_scores.cpp ---

def linear(x: _Array, centre: _Doubles, weight: _Doubles) -> _Doubles: ...

# --- end of bind_scores.cpp ---

# --- bind_reference.cpp ---

# --- end of bind_reference.cpp ---

# --- bind_random.cpp ---

# --- end of bind_random.cpp ---

# --- bind_audit.cpp ---

# --- end of bind_audit.cpp ---
