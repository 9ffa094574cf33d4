"""What a command finds, in its three forms: text, page and JSON."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import leakscore
from leakscore.results import ByValue, as_json
from leakscore_app._visible import in_json
from leakscore_app.document import text
from leakscore_app.document.document import Document, Notice

HIDDEN = {"hidden": True}
"""Metadata of a field that is for text and page, and not in the JSON."""


@dataclass(frozen=True, eq=False, repr=False)
class Findings(ByValue, ABC):
    """Base of the frozen dataclasses of numbers and words that commands return.

    A subclass says which document its text and page are laid out from, and what its JSON holds
    between the envelope (``schema_version``, ``tool``, ``command``, ``tool_version``) and the
    ``notices``: infinite numbers are "inf" and "-inf", NaN is null.
    """

    command: ClassVar[str]
    schema_version: ClassVar[int] = 1

    @property
    @abstractmethod
    def notices(self) -> Sequence[Notice]:
        """What must be known to read the numbers."""

    @abstractmethod
    def document(self) -> Document:
        """Return the sections of the text and the page."""

    def contents(self) -> dict[str, Any]:
        """Return what the JSON holds besides envelope and notices: fields that are not hidden."""
        shown = [field.name for field in fields(self) if not field.metadata.get("hidden")]
        return {name: getattr(self, name) for name in shown}

    @property
    def tool_version(self) -> str:
        """Of this package."""
        return leakscore.__version__

    @property
    def doubts(self) -> Sequence[Notice]:
        """What leaves nothing of the numbers, or makes them doubtful."""
        return [notice for notice in self.notices if notice.level == "warning"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, words, lists and dicts."""
        envelope = {
            "schema_version": self.schema_version,
            "tool": "leakscore",
            "command": self.command,
            "tool_version": self.tool_version,
        }
        plain: dict[str, Any] = as_json({**envelope, **self.contents(), "notices": self.notices})
        return plain

    def to_json(self) -> str:
        """Return strict JSON, no NaN and no Infinity."""
        return in_json(json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False))

    def to_text(self, width: int = 80) -> str:
        """Return the findings as aligned plain text.

        Parameters
        ----------
        width : int
            Of a line, in characters, from 1 on; one below 60 counts as 60.

        Returns
        -------
        str

        Raises
        ------
        TypeError, ValueError
            If `width` is no integer from 1 on.
        """
        return text.render(self.document(), width)

    def to_html(self) -> str:
        """Return the findings as one self-contained page: inline style and charts, no script."""
        from leakscore_app.document import html

        return html.render(self.document())

    def _repr_html_(self) -> str:
        """Show a notebook the page's head, in a frame that runs nothing and fetches nothing."""
        from leakscore_app.document import html

        return html.framed(self.to_html())
