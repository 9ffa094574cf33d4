"""What results have in common: they become plain data and carry notices for the reader."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np

__all__ = ["Notice", "Result", "as_json"]


@dataclasses.dataclass(frozen=True)
class Notice:
    """Something the reader must know, and a word that a program can test."""

    level: str
    code: str
    message: str


class Result:
    """Mixin of the frozen dataclasses that hold results."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain Python numbers, strings and (nested) lists."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        # Keyword-only fields come last, as in a call.
        ordered = sorted(fields, key=lambda field: field.kw_only is True)
        return {field.name: _plain(getattr(self, field.name)) for field in ordered}

    def to_json(self) -> str:
        """Return the fields as JSON; infinite numbers as "inf" and "-inf", NaN as null."""
        return json.dumps(as_json(self.to_dict()), allow_nan=False)


def _plain(value: Any) -> Any:
    """Numbers, texts and containers of them; any other object, such as a curve, by its name."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    plain = value is None or isinstance(value, (str, int, float, list, dict))
    return value if plain else repr(value)


def as_json(value: Any) -> Any:
    """Return what JSON can hold: infinite numbers become "inf" and "-inf", NaN becomes None."""
    if isinstance(value, dict):
        return {key: as_json(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [as_json(entry) for entry in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else str(value)
    return value
