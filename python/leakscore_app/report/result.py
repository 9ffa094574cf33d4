"""What a report says: the verdict and the notices that follow from its numbers, and its JSON."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.results import as_json
from leakscore_app._visible import counted, in_json, visible
from leakscore_app.document.document import Document, Findings, Notice
from leakscore_app.report._model import ALPHA, Content, Noise, Risk, Verdict
from leakscore_app.report._notices import notices_of
from leakscore_app.report._sections import document
from leakscore_app.report._verdict import named, to_publish, verdict_of, with_those_that_follow
from leakscore_app.report.engine.leakage import Budget


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Report(Content, Findings):
    """What leaks when the mean of n records is published; see `leakscore_app.analyse`."""

    command = "report"
    schema_version = 2

    budget: Budget
    max_noise: float

    def __repr__(self) -> str:
        what, index = self.release.what, self.worst[0]
        return (
            f"<Report on {visible(self.input.name)}: {visible(what[:1].lower() + what[1:])}, "
            f"{counted(self.records, self.noun)} judged; worst "
            f"{named(self, int(self.rows[index]))}: "
            f"leakage {self.informed.leakage[index]:.4g}, advantage "
            f"{self.informed.advantage[index]:.1%}, power {self.informed.power[index]:.1%} at "
            f"{ALPHA:.0%} false positives; {counted(len(self.notices), 'notice')}>"
        )

    @cached_property
    def verdict(self) -> Verdict:
        """Whether to publish, and why."""
        return verdict_of(self, self.budget, self.max_noise)

    @cached_property
    def notices(self) -> tuple[Notice, ...]:
        """What must be known to read the numbers, warnings first."""
        return notices_of(self)

    def document(self) -> Document:
        """Return the sections of the text and the page."""
        return document(self, self.verdict, self.notices)

    def contents(self) -> dict[str, Any]:
        """Return what the JSON holds besides envelope, notices and records."""
        always = {
            **self._named("seed", "verdict", "input", "release", "threat_models"),
            "differential_privacy": {
                "is_a_guarantee": False,
                "why": "a mean without noise has no finite epsilon",
                "gaussian_equivalent_delta": self.gaussian_delta,
            },
            "counts": self.counts,
            "worst_rows": [int(self.rows[i]) for i in self.worst],
            **self._named("drivers", "covariance"),
            "game": self.games,
            "arithmetic": self.arithmetic,
            "noise": self._noise_with_all(),
            **self._named("remedies", "audit"),
        }
        where_known = {
            "sensitive": self.sensitive,
            "refits": self.observations.refits,
            "previous": self.previous,
            "cells": self.cells,
            "min_cell": self.min_cell if self.cells else None,
            **self._named("pooled_cells", "effective_n"),
        }
        listed = {"which": self.listed_as, "count": len(self.listed), "of": self.records}
        present = {name: value for name, value in where_known.items() if value not in (None, ())}
        return {**always, **present, "records_listed": listed}

    def _named(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}

    def _noise_with_all(self) -> Noise | None:
        """Return the noise; its numbers have those that follow from them, too."""
        if self.noise is None or self.noise.noisy_mean is None:
            return self.noise
        return replace(self.noise, noisy_mean=with_those_that_follow(self, self.noise.noisy_mean))

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, words, lists and dicts."""
        return {**self._placed(super().to_dict()), "records": self._records()}

    def _placed(self, value: Any) -> Any:
        """Write line and person, where they are known, beside every record's number."""
        if isinstance(value, list):
            return [self._placed(item) for item in value]
        if not isinstance(value, dict):
            return value
        placed: dict[str, Any] = {}
        for key, item in value.items():
            placed[key] = self._placed(item)
            if key == "row" and isinstance(item, int):
                placed |= self.place(item)
        return placed

    def _records(self) -> list[dict[str, Any]]:
        """One dict for each listed record, built from whole columns."""
        listed = self.listed
        columns = {
            "row": self.rows[listed].tolist(),
            **self._owner_columns(),
            **_risk_columns(self.informed, listed),
            "leakage_in_sample": as_json(self.in_sample[listed]),
            "certain": np.isinf(self.informed.leakage[listed]).tolist(),
            "gaussian_equivalent_epsilon": as_json(self.gaussian_epsilon),
            "weaker": _by_record(_risk_columns(self.weaker, listed)),
            **self._previous_columns(),
        }
        return _by_record(columns)

    def _owner_columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {}
        if self.lines is not None:
            first = self.lines
            if self.owned is not None:
                first = first[np.searchsorted(self.owned.rows, self.rows)]
            columns["line"] = first[self.listed].tolist()
        if self.owned is not None:
            columns["id"] = self.owned.ids[self.listed].tolist()
            columns["rows"] = [self.owned.rows_of(i) for i in self.listed.tolist()]
        return columns

    def _previous_columns(self) -> dict[str, list[Any]]:
        if self.previous is None:
            return {}
        alone, listed = self.previous.alone, self.listed
        columns = ("leakage", "advantage", "power")
        shares = {name: as_json(getattr(alone, name)[listed]) for name in columns}
        return {
            "new": self.previous.new[listed].tolist(),
            "batch_sizes": [self.previous.batch_sizes[i] for i in listed.tolist()],
            "power_if_gaussian": as_json(self.previous.power_if_gaussian[listed]),
            "alone": _by_record(shares),
        }

    def to_csv(self) -> str:
        """Return the numbers to publish, one a line, with noise where the verdict says so.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If the verdict is not to publish, or `draw_noise` was not asked for.
        """
        numbers = to_publish(self, self.verdict)
        if numbers is None:
            why = f"the verdict is {self.verdict.decision.upper()}"
            why = "draw_noise was not asked for" if self.exact is None else why
            raise ValueError(f"no numbers to publish are written: {why}")
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows([("name", "value"), *numbers.items()])
        return file.getvalue()

    def to_json(self) -> str:
        """Return strict JSON, no NaN and no Infinity; one line for each record."""
        plain = self.to_dict()
        encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode
        records = ",\n    ".join(encode(record) for record in plain.pop("records"))
        head = json.dumps(plain, indent=2, allow_nan=False, ensure_ascii=False)
        listed = f"[\n    {records}\n  ]" if records else "[]"
        return in_json(f'{head[:-2]},\n  "records": {listed}\n}}')


def _by_record(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return a dict a record from the columns of all."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _risk_columns(risk: Risk, listed: npt.NDArray[np.int64]) -> dict[str, list[Any]]:
    at_base_rate = risk.ppv_at_base_rate
    return {
        "leakage": as_json(risk.leakage[listed]),
        "advantage": as_json(risk.advantage[listed]),
        "power": as_json(risk.power[listed]),
        "ppv_at_base_rate": [None] * len(listed)
        if at_base_rate is None
        else as_json(at_base_rate[listed]),
        "ppv_at_1_percent": as_json(risk.ppv_at_low_prior[listed]),
    }
