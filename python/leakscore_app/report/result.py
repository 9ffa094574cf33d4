"""A report: its numbers, and the verdict, notices and JSON that follow from them.

A notice qualifies the numbers: an assumption (a note) or a doubt (a warning). The engine adds those
about the persons of the records.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.results import as_json
from leakscore_app._visible import capitalised, counted, in_json, listed, visible
from leakscore_app.document.document import (
    Document,
    Findings,
    Notice,
    note,
    warning,
    warnings_first,
)
from leakscore_app.report._model import (
    ALPHA,
    Compared,
    Content,
    Game,
    Noise,
    Risk,
    Verdict,
)
from leakscore_app.report._sections import document
from leakscore_app.report._verdict import (
    named,
    times,
    to_publish,
    verdict_of,
    with_those_that_follow,
)
from leakscore_app.report.engine.game import DIFFERENCE, default_rounds
from leakscore_app.report.engine.leakage import Budget

_FEW_ROWS_PER_COLUMN = 10
_ILL_CONDITIONED = 1e8
_SMALL_N = 30
_DIFFERENCES = 3  # between theory and games that are written out
_SYNTHETIC = (
    "The bound is for a generator that sees the records only through the numbers that it draws "
    "from; its random draws, and any number of tables, add nothing. Ranks and ranges of columns, "
    "the categories that occur, a choice of model by its fit and a trained network are no such "
    "numbers: with them there is no bound, and leakscore audit-synthetic measures. Noise and "
    "rounding must come before it draws."
)
_MUCH = 0.1  # of the variation along an attack: too much for one record of a mean


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
        """Notices that qualify the numbers, warnings first."""
        return notices_of(self)

    def document(self) -> Document:
        """Return the sections of the text and the page."""
        return document(self, self.verdict, self.notices)

    def contents(self) -> dict[str, Any]:
        """Return the contents of the JSON besides envelope, notices and records."""
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
        """Return the noise, with the numbers that follow from its own."""
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
    """Return one dict for each record from columns of all records."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _risk_columns(risk: Risk, listed: npt.NDArray[np.int64]) -> dict[str, list[Any]]:
    of_all = vars(risk) | {"ppv_at_1_percent": risk.ppv_at_low_prior}
    del of_all["ppv_at_low_prior"]
    absent = [None] * len(listed)
    return {name: absent if of is None else as_json(of[listed]) for name, of in of_all.items()}


def notices_of(report: Content) -> tuple[Notice, ...]:
    """Collect the notices, warnings first."""
    notices = [
        *_about_table(report),
        *_about_release(report),
        *report.observations.records,
        *_about_previous(report),
        *_about_covariance(report),
        *_about_games(report),
    ]
    return warnings_first(notices)


def _about_table(report: Content) -> Iterator[Notice]:
    if report.input.rows_left_out:
        lost = report.input.rows - report.input.rows_judged
        yield warning(
            "rows-left-out",
            f"{lost} of {report.input.rows} records are left out and not judged; the mean of the "
            "others is what this report speaks of.",
        )
    if report.input.columns_left_out:
        yield (warning if report.input.columns_unjudged else note)(
            "columns-left-out",
            "A column that is left out (see the end) is not judged, unless it follows from others: "
            "do not publish it.",
        )
    if report.input.dependent_columns:
        yield note(
            "dependent-columns",
            "Columns that follow exactly from others change nothing without noise. With noise, "
            "compute them from the noisy means of the others: noise of their own would be a "
            "second look at the same numbers.",
        )
    if counting := report.observations.counting:
        yield warning(
            "identifier",
            f"{_names(counting)} counts the records: an identifier? Leave it out with --exclude.",
        )


def _about_release(report: Content) -> Iterator[Notice]:
    release, size = report.release, report.input.rows_judged
    if release.synthetic:
        yield note("synthetic-bound", _SYNTHETIC)
    if (embedded := report.observations.embedded) is not None:
        yield note(
            "embedded-table",
            f"No table was given: this is the embedded one ({embedded}), with n = "
            f"{release.n}{'' if report.previous else ' unless --n says otherwise'}.",
        )
    if release.population == "infinite":
        yield note("infinite-population", _infinite(report))
    else:
        yield note(
            "finite-population",
            f"The {release.n} records are drawn without replacement from these {size}, which are "
            "the whole population that the attacker knows. If the table is itself a sample, use "
            f"--population infinite. {_sets(report)}".rstrip(),
        )
    if release.base_rate is None:
        yield note(
            "base-rate-unknown",
            "All records are averaged, so the table does not tell how many people might have been "
            "in it: give --base-population N for the predictive value at the base rate n/N.",
        )
    if report.effective_n is not None:
        yield note(
            "known-weights",
            "The weights are taken as known to everybody. With them this mean varies as one of "
            f"{report.effective_n:.4g} records with equal weights, and a record leaks in proportion"
            " to the square of its weight.",
        )
    if (report.effective_n or release.n) < _SMALL_N:
        yield warning(
            "small-n",
            f"With n = {report.effective_n or release.n:.4g} the normal theory is rough; trust the "
            "simulated game.",
        )


def _about_previous(report: Content) -> Iterator[Notice]:
    previous = report.previous
    if previous is None:
        return
    yield note(
        "order-of-rows",
        "The first rows are taken as those of the earlier means, in the order of the file; rows "
        "that were withdrawn or changed since would leak by their difference, too.",
    )
    rows = report.rows[previous.given_away]
    if len(rows):
        yield warning(
            "batch-of-one",
            f"{capitalised(_rows(report, rows))} came alone between two means: their difference is "
            "the record itself, all its values, not its membership only (of a person's records, "
            "their mean).",
        )
    smallest = min((batch.records for batch in previous.batches if batch.records > 1), default=0)
    if 0 < smallest < _SMALL_N:
        yield warning(
            "small-batch",
            f"A batch has {smallest} records: the normal theory of so small a mean is rough, and "
            "the best test may do better or worse than the leakage says; mind the game.",
        )
    both = report.rows[previous.new & (previous.told > 0)]
    if len(both):
        yield note(
            "old-and-new",
            f"{counted(len(both), 'person')} with new records had records in the earlier means, "
            f"too ({_rows(report, both)}): what these told is counted with what is added now, and "
            "cannot be taken back.",
        )


def _sets(report: Content) -> str:
    """Note that sets of a finite population can be listed, unless the verdict says so."""
    if report.observations.listed is not None or report.release.decimals is not None:
        return ""
    return (
        f"Who knows all records can look for the sets of {report.release.n} that have the "
        "published numbers, which is no linear score and is not checked: publish them rounded "
        "(--decimals)."
    )


def _infinite(report: Content) -> str:
    n, size = report.release.n, report.input.rows_judged
    text = (
        f"The {n} records are taken as draws from a larger population, of which these {size} are "
        "a sample."
    )
    if n > size - 2:
        return text
    scores = report.informed.leakage
    worst = float(scores.max())
    if not np.isfinite(worst):
        return text
    return (
        f"{text} If they are drawn from these {size} themselves, use --population finite: the "
        f"worst leakage is then {worst / (1 - n / size):.4g} instead of {worst:.4g}."
    )


def _about_covariance(report: Content) -> Iterator[Notice]:
    fit = report.covariance
    alone = np.isinf(report.informed.leakage)
    if report.previous is not None:
        alone &= ~report.previous.given_away
    certain = report.rows[alone]
    if len(certain):
        yield warning(
            "certain-records",
            f"{counted(len(certain), 'record')} can be given away ({_rows(report, certain)}): in "
            "some direction all others are alike, so that any trace of it in the mean proves "
            "membership. No game is played for them.",
        )
    if fit.shrinkage:
        dim = len(report.input.columns_judged)
        few = (
            f"{report.input.rows_judged} records do not determine the covariance of "
            f"{dim} columns: it"
        )
        yield warning(
            "shrinkage",
            f"{few if fit.rows_per_column < 1 + 2 / dim else 'The covariance'} is shrunk towards "
            f"its diagonal by {fit.shrinkage:.3g}. The leakage depends on that choice, and theory "
            "and game may differ.",
        )
    elif report.pooled_cells:
        yield warning("pooled-covariance", _pooled(report))
    elif fit.rows_per_column < _FEW_ROWS_PER_COLUMN:
        yield warning(
            "few-rows",
            f"Only {fit.rows_per_column:.1f} records a column: the covariance is uncertain, and "
            "leakage looks larger than it is to an attacker who knows no more than this table.",
        )
    if fit.condition_number > _ILL_CONDITIONED:
        yield warning(
            "ill-conditioned",
            f"The correlations have condition number {fit.condition_number:.1e}: some columns "
            "nearly follow from others, and what leaks along them hangs on their last digits.",
        )


def _pooled(report: Content) -> str:
    cells = report.pooled_cells
    which = f"{len(cells)} of the cells ({listed(cells, 3, '; ')}) hold"
    which = f"The cell {cells[0]} holds" if len(cells) == 1 else which
    return (
        f"{which} fewer than 10 (d + 1) records, "
        "d the columns of numbers: too few to tell how these vary together. The covariance within "
        f"all cells is taken for {'its own' if len(cells) == 1 else 'theirs'}. The game draws the "
        "records themselves and, unless columns are too many, attacks by how each column varies "
        "there if that tells more: theory and game may differ."
    )


def _about_games(report: Content) -> Iterator[Notice]:
    noisy = () if report.noise is None else (report.noise.game,)
    differing = [game for game in (*report.games, *noisy) if game.differs]
    if differing:
        different = [_difference(report, game) for game in dict.fromkeys(differing)]
        more = len(different) - _DIFFERENCES
        shown = different[:_DIFFERENCES] + [f"{more} more of these games differ."] * (more > 0)
        yield warning("theory-differs", f"{' '.join(shown)} {_RULE}")
    rounds = report.games[0].rounds
    size = report.records
    if rounds == default_rounds(report.release.n, size) < default_rounds(2, size):
        yield note("rounds", f"{rounds} rounds a game, for speed; more with --rounds.")


_RULE = (
    f"Theory and game differ by more than {DIFFERENCE:g} standard errors there: the number to act "
    "on is the game's."
)


def _difference(report: Content, game: Game) -> str:
    """Write how game and formula differ, and why, if the reason explains it."""
    compared: Compared = getattr(game, game.acts_by)
    shown, formula = times(compared.simulated), times(compared.theory)
    which = "" if game.acts_by == "power" else " as the advantage"
    noisy = ", with noise" if game.noise_std else ""
    weaker = ", weaker attacker" if game.attacker == "weaker" else ""
    why = ""
    if game.reason is not None:
        share = f"{100 * game.reason.share:.2g}\u00a0% of the variation along this attack"
        alone = " alone" if game.reason.share > _MUCH else ""
        why = f": {named(report, game.reason.row, whole=False)}{alone} makes {share}"
    return (
        f"{capitalised(named(report, game.row))}{weaker}{noisy}: the simulation finds {shown} in "
        f"100{which}, the formula {formula}{why}. Use {shown}."
    )


def _names(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _rows(report: Content, rows: np.ndarray) -> str:
    return listed([named(report, int(row)) for row in rows[:5]], count=len(rows))
