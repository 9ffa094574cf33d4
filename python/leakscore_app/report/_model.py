"""What a report holds: frozen dataclasses of numbers and words, no arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.leakage.groups import Groups
from leakscore_app.document.document import HIDDEN, Notice

Doubles = npt.NDArray[np.float64]

ALPHA = 0.01
"""Rate of false positives at which the power is told."""

LOW_PRIOR = 0.01
"""Base rate of the second positive predictive value."""

LEVELS = (0.1, 0.5, 0.9)
"""Powers above which records are counted."""


@dataclass(frozen=True)
class ReportInput:
    """The table as read, and its judged part; `rows_dropped` counts the rows of small cells."""

    name: str
    path: str | None
    sha256: str
    rows: int
    columns: int
    rows_judged: int
    columns_judged: tuple[str, ...]
    columns_left_out: tuple[Any, ...]
    columns_published: int
    columns_unjudged: tuple[str, ...]
    rows_left_out: tuple[Any, ...]
    dependent_columns: tuple[str, ...]
    notes: tuple[str, ...]
    rows_dropped: int = 0
    shares: Mapping[str, tuple[str, ...]] = field(default_factory=dict, metadata=HIDDEN)


@dataclass(frozen=True)
class Release:
    """The published statistic of n records, and how these are drawn."""

    statistic: str
    exact: str
    what: str
    n: int
    population: str
    draw: str
    neighbours: str
    base_population: int | None
    base_rate: float | None
    alpha: float
    low_prior: float
    decimals: int | None = None  # to which it is rounded
    synthetic: bool = False  # whether a synthetic table is published that is drawn from it


@dataclass(frozen=True)
class ThreatModel:
    """An attacker, and the knowledge of this attacker."""

    name: str
    knows: str
    does_not_know: str
    score: str


@dataclass(frozen=True)
class Risk:
    """Risk of every record from one attacker, arrays (k,); an infinite leakage is certainty."""

    leakage: Doubles
    advantage: Doubles
    power: Doubles
    ppv_at_base_rate: Doubles | None
    ppv_at_low_prior: Doubles


@dataclass(frozen=True)
class IdentifiedCounts:
    """How many records an attacker identifies with more than 10, 50 and 90 % power."""

    attacker: str
    records: int
    above: dict[str, int]
    median_power: float
    worst_power: float
    median_advantage: float
    worst_advantage: float
    median_row: int
    worst_row: int


@dataclass(frozen=True)
class Driver:
    """Share of one column in a record's leakage; the shares of all columns add up to 1."""

    column: str
    share: float
    leakage_without: float
    value: float | None


@dataclass(frozen=True)
class Drivers:
    """The columns that drive one record, largest share first."""

    row: int
    columns: tuple[Driver, ...]
    negative_shares: int


@dataclass(frozen=True)
class CovarianceQuality:
    """How well the covariance is estimated, and its effect on the worst record."""

    kind: str
    shrinkage: float | None
    condition_number: float
    rows_per_column: float
    worst_row: int
    worst_leakage: float
    interval_confidence: float
    leakage_low: float | None
    leakage_high: float | None
    power_low: float | None
    power_high: float | None


@dataclass(frozen=True)
class Compared:
    """A number by the theory and by simulation; the error is one standard error."""

    theory: float
    simulated: float
    std_error: float
    upper: float | None = None
    """Upper end of the simulated one with 95 % confidence, where a verdict hangs on it."""

    @property
    def z(self) -> float:
        """Difference in standard errors; 0 for a record that shifts no mean."""
        return (self.simulated - self.theory) / self.std_error if self.std_error else 0.0

    def to_dict(self) -> dict[str, float]:
        """Return the fields and z, with the upper end if there is one."""
        plain = vars(self) | {"z": self.z}
        return {name: value for name, value in plain.items() if value is not None}


@dataclass(frozen=True)
class Reason:
    """Why a game differs from the theory; shown only if it explains the difference.

    `edgeworth` is the share (power or advantage, as `quantity` says) by the law with skewness and
    kurtosis; `row` is the record with most of the variance along the attack, `share` of it.
    """

    quantity: str
    edgeworth: float
    row: int
    share: float


@dataclass(frozen=True, eq=False)
class Game:
    """One record in the simulated game, half of the rounds with it and half without.

    For refitted numbers, advantage and power are those of the best of several scores; all other
    numbers are those of the linear score.
    """

    row: int
    attacker: str
    rounds: int
    leakage: float
    noise_std: float
    advantage: Compared
    power: Compared
    false_positives: Compared
    mean: tuple[Compared, Compared]
    variance: tuple[Compared, Compared]
    skewness: float
    differs: bool
    reason: Reason | None
    roc: dict[str, list[float]]
    members: Doubles = field(repr=False, metadata=HIDDEN)
    nonmembers: Doubles = field(repr=False, metadata=HIDDEN)

    @property
    def acts_by(self) -> str:
        """Power or advantage, whichever differs more between game and theory."""
        return "advantage" if abs(self.advantage.z) > abs(self.power.z) else "power"

    def to_act_on(self, quantity: str) -> float:
        """Return the power or advantage to act on: the game's if the theory differs."""
        compared: Compared = getattr(self, quantity)
        return compared.simulated if self.differs else compared.theory


@dataclass(frozen=True)
class RevealedNoiseGame:
    """A game with noise recomputed for each table, and its covariance shown to the attacker.

    Half of the `tables` hold the record. `advantage` is that of an attack on matrix and mean;
    another attack may do better. `upper` is its upper end with 95 % confidence.
    """

    tables: int
    advantage: float
    std_error: float
    upper: float


@dataclass(frozen=True)
class RevealedNoise:
    """Leakage of a record if the covariance of the noise is shown to the attacker.

    `leakage` is under noise computed with the record in the table; `*_without` are under noise
    computed without it. `anew` is the game with noise recomputed for each table, or None for the
    reason `why_not_played`. `public` is the record's advantage, with its standard error, in a game
    with one public matrix that does not depend on the round's table.
    """

    row: int
    leakage: float
    leakage_without: float
    advantage_without: float
    power_without: float
    public: float
    public_std_error: float
    anew: RevealedNoiseGame | None
    why_not_played: str


@dataclass(frozen=True, eq=False)
class Noise:
    """The Gaussian noise on the mean that brings every record under the budget.

    `theory_standard_errors` is enough in theory. `standard_errors`, never less, is the offered
    noise. If it is `confirmed`, the games' upper ends are within the budget, too, for the worst
    records (`rows_played`). Both are root mean squares over the columns.

    `shape` is "optimal", "independent" (between columns) or "same" (in every column); `why_same` is
    the reason why nothing cheaper is offered. The following fields are for the first two shapes.
    `cost` is the sum of the squares of `column_standard_errors`; no noise of this shape that is
    within the limit in theory costs less than (1 - gap) cost. For the first shape, `covariance` is
    that of the noise, `beside` the size of noise of the other shapes in theory, in standard errors,
    and everyone within the Mahalanobis distance `protected_radius` of the mean is protected, in the
    table or not. `noisy_mean` are the numbers with one draw of the noise, if asked. `noise_std` and
    `covariance` are in the units of the published numbers: a sum, a count, the mean of a group.
    """

    budget: dict[str, float]
    binding_row: int
    standard_errors: float
    theory_standard_errors: float
    confirmed: bool
    rows_played: tuple[int, ...]
    noise_std: dict[str, float]
    leakage: float
    advantage: float
    power: float
    game: Game
    shape: str = "same"
    why_same: str = ""
    column_standard_errors: dict[str, float] = field(default_factory=dict)
    cost: float | None = None
    gap: float | None = None
    rows_at_limit: tuple[int, ...] = ()
    covariance: Doubles | None = None
    told: RevealedNoise | None = None
    beside: dict[str, float] | None = None
    protected_radius: float | None = None
    noisy_mean: dict[str, float] | None = None


WITHIN = 0.1
"""Share of a column's spread to within which a value counts as known."""


@dataclass(frozen=True)
class SensitiveValue:
    """Attribute inference: a member's value of one column, by an attacker who knows the others.

    `row` is the record whose value the release reveals most. `leakage` is between that value and
    its prediction from the other columns, or another category. `right` is the rate at which the
    best guess between the two is right; without the release it is `prior`. For numbers,
    `open_before`, `open_after` and `open_with_noise` (the offered noise) are standard deviations of
    the attacker's uncertainty. `colluding_members` is the number who must pool their records to
    know the value to within a tenth of the column's `spread`; null if not even all others suffice.
    """

    column: str
    row: int
    categories: bool
    leakage: float
    prior: float
    right: Compared
    spread: float | None
    open_before: float | None
    open_after: float | None
    open_with_noise: float | None
    colluding_members: int | None


@dataclass(frozen=True)
class Remedy:
    """A change of the release other than noise, and the worst record after it."""

    kind: str
    what: str
    cost: str
    worst_row: int
    leakage: float
    advantage: float
    power: float
    above: dict[str, int]
    clipped: float | None = field(default=None, metadata=HIDDEN)  # at this quantile, and above
    mean_shift: float = field(default=0.0, metadata=HIDDEN)  # standard errors, if clipped
    records_missing: int = field(default=0, metadata=HIDDEN)  # that the table does not have
    columns: tuple[str, ...] = field(default=(), metadata=HIDDEN)  # that are left out


@dataclass(frozen=True)
class Remainder:
    """A record off the steps of a column on which all other records lie, except `others` of them.

    `exact` is the advantage of an attack on the remainder of the exact sum, `advantage` that of the
    sum as published.
    """

    row: int
    column: str
    step: float
    others: int
    exact: float
    advantage: float


@dataclass(frozen=True)
class Arithmetic:
    """Records that remainders of published sums reveal, beyond a linear score, the worst first.

    `hidden_by` is the largest number of decimals that brings the release within the limit, if
    remainders exceed it; `unchecked` is the reason why no search for steps was made.
    """

    records: tuple[Remainder, ...] = ()
    hidden_by: int | None = None
    unchecked: str = ""

    @cached_property
    def added(self) -> dict[int, float]:
        """The advantage of arithmetic on all columns, at most 1, by record."""
        sums: dict[int, float] = {}
        for record in self.records:
            sums[record.row] = min(1.0, sums.get(record.row, 0.0) + record.advantage)
        return sums


@dataclass(frozen=True)
class Batch:
    """Rows of the file between two means, and the number of identified ones."""

    rows: tuple[int, int]
    records: int
    new: bool
    alone: IdentifiedCounts
    joint: IdentifiedCounts


@dataclass(frozen=True, eq=False)
class Previous:
    """The means that were published before, and for comparison the present one alone.

    All other numbers of a report are for all means together. `told` is each person's leakage from
    the earlier means, which nothing takes back, and `added` that from the present one. `new` are
    the persons in the last batch, `given_away` those who are all of a batch.
    """

    rows_published: tuple[int, ...]
    records_published: tuple[int, ...]
    alone: Risk = field(metadata=HIDDEN)
    told: Doubles = field(metadata=HIDDEN)
    added: Doubles = field(metadata=HIDDEN)
    new: npt.NDArray[np.bool_] = field(metadata=HIDDEN)
    given_away: npt.NDArray[np.bool_] = field(metadata=HIDDEN)
    batch_sizes: list[list[int]] = field(metadata=HIDDEN)
    power_if_gaussian: Doubles = field(metadata=HIDDEN)
    batches: tuple[Batch, ...]


@dataclass(frozen=True, eq=False)
class Owned:
    """Judged persons: labels (P,), numbers of all records (N,), and the person of each record."""

    ids: npt.NDArray[np.str_]
    rows: npt.NDArray[np.int64]
    persons: Groups

    @property
    def alone(self) -> bool:
        """Whether every person has one record."""
        return len(self.ids) == len(self.rows)

    def records_of(self, row: int) -> int:
        """Return how many records the owner of a record has."""
        person = self.persons.of_row[np.searchsorted(self.rows, row)]
        return int(self.persons.sizes[person])

    def rows_of(self, person: int) -> list[int]:
        """Return the numbers of a person's records."""
        return list(self.rows[self.persons.rows(person)].tolist())


@dataclass(frozen=True)
class AuditResult:
    """Certified lower bound on epsilon of the simulated game; 0 is no evidence."""

    row: int
    rounds: int
    epsilon: float
    max_certifiable: float
    delta: float
    confidence: float
    method: str


@dataclass(frozen=True)
class Worst:
    """The record that decides a verdict, and the upper end of its advantage or power."""

    row: int
    quantity: str
    value: float
    theory: float
    simulated: float | None
    upper: float | None
    power: float
    certain: bool
    arithmetic: float = 0.0  # what it adds to the advantage


@dataclass(frozen=True)
class Verdict:
    """Whether to publish, and why; `noise_standard_errors` is the noise that it would take.

    `decision` is "publish", "publish with noise" or "do not publish"; `limit` is the limit for
    every record; `doubt` names records that may be of one person, "" if none are.
    """

    decision: str
    why: str
    worst: Worst
    limit: dict[str, float]
    max_noise: float
    noise_standard_errors: float | None
    given_away: tuple[int, ...]
    doubt: str

    @property
    def line(self) -> str:
        """The first line of text and page."""
        return f"{self.decision.upper()}: {self.why}"


@dataclass(frozen=True)
class Cell:
    """One cell of a table by group, and its worst record or person."""

    cell: str
    records: int
    persons: int
    row: int
    leakage: float
    advantage: float
    power: float
    above_half: int


@dataclass(frozen=True, eq=False)
class Bars:
    """Histogram of the leakages of a long table: the lower end of each bin, and its count."""

    least: Doubles
    counts: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Narrowing:
    """The record whose presence narrows the spread of the published numbers most.

    `column` is the predictor whose coefficient depends most on the record, the column whose
    correlations do, or that of the weights; "" for a person with a large share of a mean.
    `advantage` is that of an attacker who uses both tails. `unplayed` is True if the numbers are
    not linear in so few records, and no game refits samples.
    """

    row: int
    column: str
    leverage: float
    advantage: float
    unplayed: bool = False


@dataclass(frozen=True)
class Refit:
    """The largest shift of a coefficient by a record, in standard errors.

    By one Newton step, and exactly, by a fit without the record.
    """

    row: int
    coefficient: str
    one_step: float
    refit: float


@dataclass(frozen=True)
class Listed:
    """The record that a list of all sets of n of N records reveals most, where these are few.

    `advantage` is that of the best attack by the list. `coarser` is the number of decimals to which
    rounding keeps it within the limit, None if it is.
    """

    row: int
    sets: int
    advantage: float
    coarser: int | None


@dataclass(frozen=True)
class Observations:
    """Observations on the table, for the notices; `counting` are columns that number the records.

    `embedded` is the note on the embedded table, if it is judged; `records` are notices about the
    persons of the records; `doubt` is why several may be of one person. `narrowing` is given for
    coefficients of a regression (in a long table also for correlations and weighted ratios),
    `refits` for those of another model, `listed` for a finite population with few sets of n.
    """

    counting: tuple[str, ...]
    records: tuple[Notice, ...]
    embedded: str | None = None
    doubt: str = ""
    narrowing: Narrowing | None = None
    refits: tuple[Refit, ...] = ()
    listed: Listed | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Listing:
    """Risks of all records in a report; `places` are those of the population's persons in them."""

    rows: npt.NDArray[np.int64]
    places: npt.NDArray[np.intp]
    in_sample: Doubles
    informed: Risk
    weaker: Risk
    counts: tuple[IdentifiedCounts, IdentifiedCounts]
    lines: npt.NDArray[np.int64] | None = None
    owned: Owned | None = None
    cells: tuple[Cell, ...] = ()
    pooled_cells: tuple[str, ...] = ()  # judged by the covariance within all cells
    previous: Previous | None = None
    effective_n: float | None = None  # of a plain mean that varies as that with known weights
    bars: tuple[Bars, Bars] | None = None  # of a table whose records are not all in `rows`


@dataclass(frozen=True, eq=False, kw_only=True)
class Content(Listing):
    """All results of an analysis; verdict and notices of `Report` follow from it."""

    seed: int
    input: ReportInput
    release: Release
    threat_models: tuple[ThreatModel, ThreatModel]
    listed: npt.NDArray[np.int64]  # indices of the records that the JSON lists
    listed_as: str  # "all", "worst" or "none"
    gaussian_epsilon: Doubles  # of these
    gaussian_delta: float
    worst: tuple[int, ...]
    drivers: tuple[Drivers, ...]
    covariance: CovarianceQuality
    games: tuple[Game, ...]
    noise: Noise | None
    remedies: tuple[Remedy, ...]
    audit: AuditResult | None
    observations: Observations
    arithmetic: Arithmetic
    min_cell: int
    sensitive: SensitiveValue | None
    exact: dict[str, float] | None  # numbers without noise, where they may be published
    ranked: int  # how many persons the law of the sums ranks, too

    @property
    def records(self) -> int:
        """Number of judged records, or persons."""
        return self.counts[0].records

    @property
    def noun(self) -> str:
        """The unit that is judged: "record", or "person" with all records."""
        return "record" if self.owned is None else "person"

    def place(self, row: int) -> dict[str, Any]:
        """Return line and person of a record, where they are known."""
        rows = self.rows if self.owned is None else self.owned.rows
        index = int(np.searchsorted(rows, row))
        place: dict[str, Any] = {}
        if index == len(rows) or rows[index] != row:  # a row of a long table that is not kept
            return place
        if self.lines is not None:
            place["line"] = int(self.lines[index])
        if self.owned is not None:
            place["id"] = str(self.owned.ids[self.owned.persons.of_row[index]])
        return place
