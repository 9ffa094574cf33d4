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
    """What was read, and what of it is judged; `rows_dropped` are those of small cells."""

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
    """What is published, and how its n records come about."""

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
    """Who attacks, and what is known to this attacker."""

    name: str
    knows: str
    does_not_know: str
    score: str


@dataclass(frozen=True)
class Risk:
    """What one attacker makes of every record, arrays (k,); infinite leakage is certainty."""

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
    """How well the covariance is known, and what that does to the worst record."""

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
    """A number of the theory beside the simulated one; the error is one standard error."""

    theory: float
    simulated: float
    std_error: float
    upper: float | None = None
    """Upper end of the simulated one with 95 % confidence, where a verdict hangs on it."""

    @property
    def z(self) -> float:
        """How many standard errors the two are apart; none of who shifts no mean."""
        return (self.simulated - self.theory) / self.std_error if self.std_error else 0.0

    def to_dict(self) -> dict[str, float]:
        """Return the fields and z; the upper end where there is one."""
        plain = vars(self) | {"z": self.z}
        return {name: value for name, value in plain.items() if value is not None}


@dataclass(frozen=True)
class Reason:
    """Why a game differs from the theory, told only if it explains the difference.

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

    Of what is fitted again, advantage and power are those of the best of several
    scores; all other numbers are those of the linear one.
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
        """Power or advantage: that in which game and theory are farther apart."""
        return "advantage" if abs(self.advantage.z) > abs(self.power.z) else "power"

    def to_act_on(self, quantity: str) -> float:
        """Return power or advantage as one should act on it: the game's where theory differs."""
        compared: Compared = getattr(self, quantity)
        return compared.simulated if self.differs else compared.theory


@dataclass(frozen=True)
class RevealedNoiseGame:
    """A game in which the noise is computed anew from every table drawn, and its matrix is known.

    Half of the `tables` hold the record. `advantage` is that of an attack on matrix and mean, which
    others may surpass; `upper` is its upper end with 95 % confidence.
    """

    tables: int
    advantage: float
    std_error: float
    upper: float


@dataclass(frozen=True)
class RevealedNoise:
    """What the matrix of the noise tells of a record, where the attacker is told the matrix.

    `leakage` is that under the noise computed with the record in the table, the others those
    under the noise computed without it. `anew` is the game with noise computed from every table, or
    None, and then `why_not_played` says why; `public` is the advantage, with its standard error,
    in the game of the same record with the one matrix that does not depend on the round's table.
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

    `theory_standard_errors` is what the theory asks. `standard_errors`, never less, is the noise
    offered: with it the game's upper end is within the budget, too, if `confirmed`, for the records
    `rows_played`, the worst ones. Both are root mean squares over the columns.

    `shape` is "optimal", "independent" (between columns) or "same" (in every column); `why_same`
    says why nothing cheaper is offered. The rest is that of the first two. `cost` is the sum of the
    squares of `column_standard_errors`; no noise of this shape that is within the limit in theory
    costs less than (1 - gap) cost. `covariance` is that of the noise on the mean, in the
    columns' units, of the first one. `beside` is what the
    other shapes take in theory, in standard errors. Of the first one, too, everyone within the
    Mahalanobis distance `protected_radius` of the mean is protected, in the table or not.
    `noisy_mean` are the numbers with one draw of the noise, where it was asked for. `noise_std` and
    `covariance` are of what is published, in its units: of a sum, a count, the mean of a group.
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
    """What the release tells about one column of a member, to who knows the other columns.

    `row` is the record of which it tells most, `leakage` that of its value beside the one that its
    other values say, or beside another category; `right` is how often the best guess between the
    two is right, without the release `prior`. Of numbers, `open_before`, `open_after` and
    `open_with_noise` (that is offered) are standard deviations of what is open about the value, and
    `colluding_members` how many must pool their records until it is told to within a tenth of the
    column's `spread`; null if not even all others suffice.
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
    """A cheaper change of the release, and the worst record after it."""

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
    """A record off the steps of a column on which all others lie, but for `others` of them.

    `exact` is the advantage of an attack on the remainder of the exact sum, `advantage` what is
    left of it as the sum is published.
    """

    row: int
    column: str
    step: float
    others: int
    exact: float
    advantage: float


@dataclass(frozen=True)
class Arithmetic:
    """What remainders of published sums tell, beyond a linear score, the worst records first.

    `hidden_by` are the most decimals with which a rounded release is within the limit, if that is
    why it is not; `unchecked` says why no steps were looked for.
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
    """Rows of the file that came between two means, and how many are identified."""

    rows: tuple[int, int]
    records: int
    new: bool
    alone: IdentifiedCounts
    joint: IdentifiedCounts


@dataclass(frozen=True, eq=False)
class Previous:
    """The means that were published before, and for comparison the present one alone.

    All other numbers of a report are what all means tell together. `told` is what the earlier ones
    told of each person, which nothing takes back, `added` what the present one adds; `new` are the
    persons in the last batch, `given_away` those who are all of a batch.
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
    """Whose records are judged: labels (P,), numbers of all records (N,), and persons of these."""

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
    """The record that a verdict hangs on, and how large its advantage or power may be."""

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
    """Whether to publish, and why; `noise_standard_errors` is what publishing would take.

    `decision` is "publish", "publish with noise" or "do not publish"; `limit` is the most that may
    leak of any record; `doubt` says which records may be of one person, "" if none are.
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
    """Leakages of all records of a long table: the least value of each bin, and how many."""

    least: Doubles
    counts: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Narrowing:
    """The record that narrows the spread of what is published most by being there.

    `column` is the predictor whose coefficient hangs most on it, the column whose correlations do,
    or that of the weights, and "" of who fills much of a mean; `advantage` that of an attacker who
    sees both tails. `unplayed` says that what is published is not linear in so few records, and
    that no game has fitted samples again.
    """

    row: int
    column: str
    leverage: float
    advantage: float
    unplayed: bool = False


@dataclass(frozen=True)
class Refit:
    """How far a record shifts the coefficient that it shifts most, in standard errors.

    By one Newton step, and exactly, by a fit without the record.
    """

    row: int
    coefficient: str
    one_step: float
    refit: float


@dataclass(frozen=True)
class Listed:
    """The record that the list of all sets of n of N records tells most of, where they are few.

    `advantage` is that of the best use of the list, `coarser` to how many decimals rounding keeps
    it within the limit, None if it is.
    """

    row: int
    sets: int
    advantage: float
    coarser: int | None


@dataclass(frozen=True)
class Observations:
    """What an analysis saw of the table, for the notices: columns that count the records among it.

    `embedded` is what is said of the embedded table, if it is judged, `records` are notices about
    whose the records are, `doubt` is why some may be of one person. `narrowing` is there if
    coefficients of a regression are published (of a long table correlations or weighted ratios,
    too), `refits` if those of another model are, `listed` of a finite population if its sets of n
    records are few.
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
    """What a report says of all records; `places` are those of the population's persons in it."""

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
    """All that an analysis finds; verdict and notices of `Report` follow from it."""

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
        """How many records, or persons, are judged."""
        return self.counts[0].records

    @property
    def noun(self) -> str:
        """What is judged: a record, or a person with all records."""
        return "record" if self.owned is None else "person"

    def place(self, row: int) -> dict[str, Any]:
        """Return line and person of a record, as far as they are known."""
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
