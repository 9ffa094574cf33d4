"""The words of a report: how numbers and remedies read, and the verdict.

Whether to publish: the larger of theory and game against the limit, and the noise it takes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore_app._visible import capitalised, counted, listed, visible
from leakscore_app.report._model import (
    Compared,
    Content,
    Doubles,
    Game,
    Noise,
    ReportInput,
    Verdict,
    Worst,
)
from leakscore_app.report.engine.leakage import Budget, least_size, shares_of
from leakscore_app.tables.doubts import option


def named(report: Content, row: int, *, whole: bool = True) -> str:
    """Name a record by its number, and by line and person where they are known.

    With `whole`, it represents all records of its person.
    """
    place, more = report.place(row), _others_of_its_person(report, row)
    if whole and more:
        line = f", line {place['line']}," if "line" in place else ""
        return f"person {place['id']} (record {row}{line} and {more} more)"
    return f"record {_numbered(row, place)}"


def label(report: Content, row: int) -> str:
    """Return a short name for the cells of a table; for a person with several records, the id."""
    place = report.place(row)
    several = _others_of_its_person(report, row)
    return f"person {place['id']}" if several else _numbered(row, place)


def _numbered(row: int, place: Mapping[str, Any]) -> str:
    line = f" (line {place['line']})" if "line" in place else ""
    return f"{row}{line}{', person ' + str(place['id']) if 'id' in place else ''}"


def _others_of_its_person(report: Content, row: int) -> int:
    return report.owned.records_of(row) - 1 if report.owned is not None else 0


def times(share: float) -> str:
    """Return a share as a number of times in 100, in at least two digits unless it is certain."""
    shown = f"{100 * share:.0f}" if 0.0995 <= share <= 0.9905 else f"{100 * share:.1f}"
    if share < 1 and float(shown) == 100:
        shown = "more than 99.9"
    return shown.removesuffix(".0")


def in_100(share: float) -> str:
    """Return 58 times in 100, and once in 100."""
    shown = times(share)
    return "once in 100" if shown == "1" else f"{shown} times in 100"


def percent(share: float) -> str:
    """Return a share such as 94.4 %; 100.0 % and 0.0 % only if it is certain."""
    if 0.9995 <= share < 1:
        return "> 99.9\u00a0%"
    if 0 < share < 0.0005:
        return "< 0.1\u00a0%"
    return f"{100 * share:.1f}\u00a0%"


def number(value: float) -> str:
    """Return a leakage in four digits."""
    return "infinite" if math.isinf(value) else f"{value:.4g}"


def plus_minus(share: Compared) -> str:
    """Return the simulated share with one standard error, in percent."""
    return f"{100 * share.simulated:.1f}\u00a0±\u00a0{max(100 * share.std_error, 0.1):.1f}\u00a0%"


def in_digits(value: float, digits: int = 3, way: str = ROUND_CEILING) -> str:
    """Return a number in few digits, rounded up: less noise would be too little."""
    return f"{float(Context(digits, way).create_decimal_from_float(value)):.{digits}g}"


def several(errors: float) -> str:
    """Return a size such as "0.8 standard errors", rounded up."""
    shown = in_digits(errors)
    return f"{shown} standard error{'' if shown == '1' else 's'}"


def share_against(share: float, limit: float) -> str:
    """Return a share in percent, in enough digits to show on which side of a limit it is."""
    for digits in range(1, 12):
        shown = f"{100 * share:.{digits}f}"
        if (float(shown) > 100 * limit) == (share > limit):
            break
    return percent(share) if digits == 1 else f"{shown}\u00a0%"


def limited(limit: dict[str, float]) -> str:
    """Name a limit: an advantage, a power, or a Gaussian epsilon."""
    if "max_advantage" in limit:
        return f"an advantage of at most {_share(limit['max_advantage'])}"
    if "max_power" in limit:
        return f"a power of at most {_share(limit['max_power'])}"
    return f"a Gaussian epsilon of at most {limit['epsilon']:g} at delta = {limit['delta']:g}"


def _share(share: float) -> str:
    return f"{100 * share:.6g}\u00a0%"


PUBLISH, PUBLISH_WITH_NOISE = "publish", "publish with noise"
DO_NOT_PUBLISH = "do not publish"

EXIT_CODES = {PUBLISH: 0, PUBLISH_WITH_NOISE: 2, DO_NOT_PUBLISH: 3}
"""Of `leakscore report --check`, by decision; 1 is an error."""

_IN_DOUBT = 4  # publish, with noise or without, if no two records are of one person

_LOST = 0.05  # share of the records beyond which the verdict tells how many are judged
_MOST_ROUNDS = 1e7  # that it makes sense to ask for
_NAMED = 5  # columns left out that the verdict names


@dataclass(frozen=True, eq=False)
class VerdictBasis:
    """The numbers on which a verdict rests.

    Attributes
    ----------
    rows : (k,) ndarray of int
        Numbers of the records judged.
    leakage : (k,) ndarray
        Their leakages from everything that is published.
    games : tuple of Game
        Games without noise against the informed attacker.
    added : dict
        Number of a record -> what arithmetic on the sums adds to its advantage, without noise.
    refused : str
        Sentences on why no noise helps, and what does; empty if noise may help.
    remedy : str
        A sentence on what helps if too much noise would be needed.
    """

    rows: npt.NDArray[np.int64]
    leakage: Doubles
    games: tuple[Game, ...]
    added: dict[int, float]
    refused: str
    remedy: str


def judged(report: Content, budget: Budget) -> VerdictBasis:
    """Collect the basis of the verdict; after earlier means, for the persons with new records.

    The leakage from earlier means does not depend on this release. So persons without a new record
    are not judged, and persons over the limit already are judged by what this release adds.
    """
    rows, leakage = report.rows, report.informed.leakage
    games = tuple(game for game in report.games if game.attacker == "informed")
    remedy, how = _remedy(report, budget), "gives itself away: every mean with it shows it"
    previous = report.previous
    if previous is not None:
        answered = budget.answered_for(previous.told, previous.added)[previous.new]
        played = rows[previous.new & (previous.told <= budget.largest_leakage())]
        games = tuple(game for game in games if game.row in played)
        rows, leakage = rows[previous.new], answered
        how = "is given away by the difference of two means"
    certain = rows[np.isinf(leakage)]
    refused = _small_cells(report)
    if len(certain):
        refused = f"{named(report, int(certain[0]))} {how}. {refused or remedy}"
    refused = refused or _narrowed(report, budget) or _missing(report, budget)
    refused = refused or _present(report, budget)
    added = {row: more for row, more in report.arithmetic.added.items() if row in rows}
    return VerdictBasis(rows, leakage, games, added, refused, remedy)


def _small_cells(report: Content) -> str:
    """Name the cells with too few records to be published."""
    small = [cell for cell in report.cells if cell.persons < report.min_cell]
    if not small:
        return ""
    least = min(small, key=lambda cell: cell.persons)
    holds, smallest = ("cell holds", "") if len(small) == 1 else ("cells hold", "the smallest ")
    return (
        f"{len(small)} {holds} fewer than {report.min_cell} {report.noun}s "
        f"({smallest}{least.persons}: {least.cell}). Join cells, or run again with "
        "--drop-small-cells to judge the others."
    )


def _missing(report: Content, budget: Budget) -> str:
    """Warn that a missing cell reveals its records, if by more than the limit.

    The largest cell that is left out has K - 1 persons, of whom an attacker may know K - 2. Further
    missing cells of the same table reveal nothing more. Missing cells of other tables reveal most
    if nobody else is in two of them: the numbers of missing cells with the person and without are
    binomial then.
    """
    from scipy.special import bdtrc

    least, dropped = report.min_cell, report.input.rows_dropped
    if not dropped or least < 3:  # nobody else is in a cell of one: it is missing anyway
        return ""
    others = report.input.rows_judged + dropped - 1
    tables = _tables(report)
    fewer = np.arange(tables)

    def advantage(size: int) -> float:
        most = min(size - 2, others)
        present = bdtrc(most, others, most / others)
        absent = bdtrc(most + 1, others + 1, most / others)
        return float((bdtrc(fewer, tables, present) - bdtrc(fewer, tables, absent)).max())

    if advantage(least) <= budget.allowed_advantage:
        return ""
    enough = least_size(lambda size: advantage(size) <= budget.allowed_advantage, least, others)
    return (
        f"That a cell is missing tells that fewer than {least} are in it, an advantage of up to "
        f"{percent(advantage(least))} for one of them ({counted(dropped, 'record')} left out). Ask "
        f"for larger cells ({option('--min-cell', str(enough))}), or join them."
    )


def _tables(report: Content) -> int:
    """Return the number of tables by group."""
    return round(sum(cell.records for cell in report.cells) / report.input.rows_judged)


def _present(report: Content, budget: Budget) -> str:
    """Warn that the presence of a cell reveals its persons, if by more than the limit.

    No noise hides it: a sample without one person of K may lack the other K - 1, too. In several
    tables the person may be in the smallest cell of each. One of these is missing most often if no
    two of them have another person in common.
    """
    if not report.cells:
        return ""
    least, size = min(report.cells, key=lambda cell: cell.persons), report.input.rows_judged
    n, tables = report.release.n, _tables(report)

    def lacking(others: int) -> float:
        if report.release.population == "finite":  # each is drawn once at most
            drawn = n / np.arange(max(size - others, 1), size)
            return float(np.prod(1 - np.minimum(drawn, 1)))
        return float(max(1 - others / (size - 1), 0) ** n)

    complete = sum(  # by inclusion and exclusion
        (-1) ** k * math.comb(tables, k) * lacking(k * (least.persons - 1))
        for k in range(tables + 1)
    )
    advantage = min(1 - complete, 1.0)
    if advantage <= budget.allowed_advantage:
        return ""
    return (
        f"That there is a cell {least.cell} tells of its {counted(least.persons, report.noun)} by "
        f"an advantage of up to {percent(advantage)}, which no noise hides. Join cells, or run "
        "again with --drop-small-cells and a larger --min-cell."
    )


_SHARE = (
    "every number",
    "Leave out some of its records, cut a large weight",
    "even if its values are the means",
)
_NARROWED = {
    "regression": (
        "the coefficient of {}",
        "Leave out the column ({})",
        "to who knows all predictors, even if its residual is 0",
    ),
    "correlations": (
        "each correlation with {}",
        "Leave out the column ({})",
        "even if it moves none of them",
    ),
    "weighted-ratio": (
        "every mean with the weights {}",
        "Cut the largest weights, leave out the heaviest record",
        "even if its values are the means",
    ),
}
"""What a record narrows the spread of, the remedy, and where it shows though it moves nothing."""


def _narrowed(report: Content, budget: Budget) -> str:
    """Name the record that narrows the spread of the numbers by more than the limit allows."""
    worst = report.observations.narrowing
    if worst is None:
        return ""
    what, without, quiet = _NARROWED[report.release.statistic] if worst.column else _SHARE
    what = what.format(repr(visible(worst.column)))
    leave = without.format(option("--exclude", worst.column.partition("=")[0]))
    who = f"{named(report, worst.row)} has leverage {worst.leverage:.2g}"
    if worst.advantage > budget.allowed_advantage:
        return (
            f"{who}: by being there it narrows the spread of {what}, an advantage of "
            f"{100 * worst.advantage:.3g} % {quiet}; no noise is sought for that. {leave} or that "
            "record."
        )
    if worst.unplayed:
        return (
            f"{who}: {what} hangs on few records, and samples of so long a table are not fitted "
            f"again in every round of a game. {leave}, or judge a part of the table."
        )
    return ""


def _listed(report: Content, budget: Budget) -> str:
    """Warn of an attacker who knows the records and tries all sets of n, if these are few."""
    worst, size = report.observations.listed, report.input.rows_judged
    if worst is None or worst.advantage <= budget.allowed_advantage:
        return ""
    rounded = ""
    if worst.coarser is not None and report.release.exact == "exact":
        rounded = f" Publish them rounded: --decimals {worst.coarser}."
    return (
        f"only {worst.sets} sets of {report.release.n} of these {size} records exist: who knows "
        f"the records lists the numbers of all sets, and whether {named(report, worst.row)} is in "
        f"is told with an advantage of {percent(worst.advantage)}, which a linear score does not "
        f"show.{rounded}"
    )


def _undetermined(report: Content, budget: Budget) -> str:
    """Warn if records leak less by a shrunk covariance than on average by any covariance.

    The squared distances of a population from its mean are d on average.
    """
    size, release = report.input.rows_judged, report.release
    dim = round(size / report.covariance.rows_per_column)
    spread = 1 - release.n / size if release.population == "finite" else 1.0
    average = dim / release.n / spread if spread else math.inf
    if not report.covariance.shrinkage or budget.met_by(average):
        return ""
    share = share_against(float(budget.shares(average)), budget.limit)
    return (
        f"how {dim} columns vary together is not known from {size} records, and the covariance "
        f"that is taken for it hides what it shrinks: records leak {average:.3g} on average, "
        f"whatever it is ({budget.quantity} {share}). Publish fewer columns (--columns, --exclude)."
    )


def verdict_of(report: Content, budget: Budget, max_noise: float) -> Verdict:
    """Judge the release.

    The limit is compared with the theory for all records, and with the game's upper 95 % end for
    the played ones, whichever is larger, plus what arithmetic adds.
    """
    basis = judged(report, budget)
    within = budget.met_by(float(basis.leakage.max())) and all(
        budget.upper(game) <= budget.limit for game in basis.games
    )
    worst = _worst(basis, budget, basis.added if within else {}, _thinned(report, budget))
    within = within and worst.value <= budget.limit
    if within and not basis.refused:
        unscored = _listed(report, budget) or _undetermined(report, budget)
        basis = replace(basis, refused=unscored)
    noise = report.noise
    if basis.refused:
        decision = DO_NOT_PUBLISH
    elif within:
        decision = PUBLISH
    elif noise is not None and noise.confirmed and noise.standard_errors <= max_noise:
        decision = PUBLISH_WITH_NOISE
    else:
        decision = DO_NOT_PUBLISH
    verdict = Verdict(
        decision=decision,
        why="",
        worst=worst,
        limit=budget.options(),
        max_noise=max_noise,
        noise_standard_errors=None if noise is None else noise.standard_errors,
        given_away=tuple(basis.rows[_certain(basis)].tolist()),
        doubt=report.observations.doubt,
    )
    parts = [_why(report, basis, verdict, budget), *_rounds(verdict, basis, budget)]
    parts += [verdict.doubt] if verdict.doubt else []
    return replace(
        verdict, why=" ".join([*parts, *_already_over_limit(report, budget), *_scope(report)])
    )


def to_publish(report: Content, verdict: Verdict) -> dict[str, float] | None:
    """Return the numbers to publish, noisy if the verdict asks for noise; None if not drawn."""
    numbers = report.exact
    if numbers is None or verdict.decision == DO_NOT_PUBLISH:
        return None
    if verdict.decision == PUBLISH_WITH_NOISE:
        numbers = None if report.noise is None else report.noise.noisy_mean
    decimals = report.release.decimals
    if numbers is None:
        return None
    if decimals is None:
        return with_those_that_follow(report, numbers)
    numbers = {name: round(value, decimals) for name, value in numbers.items()}
    numbers = with_those_that_follow(report, numbers)
    return {name: round(value, decimals) for name, value in numbers.items()}


def with_those_that_follow(report: Content, numbers: dict[str, float]) -> dict[str, float]:
    """Return the numbers and those that follow from them: last counts, last shares."""
    return {
        **dict(_counts_that_follow(report, numbers)),
        **dict(_shares_that_follow(report, numbers)),
        **numbers,
    }


def _shares_that_follow(report: Content, numbers: dict[str, float]) -> Iterator[tuple[str, float]]:
    """Yield the last share of each column of categories, which follows from the others."""
    if report.release.statistic != "mean":
        return
    for first, *others in filter(None, report.input.shares.values()):
        if all(name in numbers for name in others):
            yield first, 1.0 - sum(numbers[name] for name in others)


def _counts_that_follow(report: Content, numbers: dict[str, float]) -> Iterator[tuple[str, float]]:
    """Yield the last count of each table by group, which follows from the others."""
    if report.owned is not None:
        return
    table: list[str] = []
    records = 0
    for cell in report.cells:
        table, records = [*table, cell.cell], records + cell.records
        if records < report.input.rows_judged:
            continue
        without = [name for name in table if name not in numbers]
        if len(without) == 1:
            others = sum(numbers[name] for name in table if name in numbers)
            yield without[0], report.release.n - others
        table, records = [], 0


def exit_code_of(verdict: Verdict) -> int:
    """Return the exit code of `leakscore report --check`; 4 if persons are not identified."""
    code = EXIT_CODES[verdict.decision]
    return _IN_DOUBT if verdict.doubt and verdict.decision != DO_NOT_PUBLISH else code


def _certain(basis: VerdictBasis) -> npt.NDArray[np.bool_]:
    """Return which records are certain to be identified."""
    revealed = [row for row, more in basis.added.items() if more == 1]
    return np.isinf(basis.leakage) | np.isin(basis.rows, revealed)


def _thinned(report: Content, budget: Budget) -> dict[int, float]:
    """Return the advantage on a person with a large share of a mean, whose games are linear."""
    worst = report.observations.narrowing
    if worst is None or worst.column or budget.quantity != "advantage":
        return {}
    return {worst.row: worst.advantage}


def _worst(
    basis: VerdictBasis, budget: Budget, added: dict[int, float], thinned: dict[int, float]
) -> Worst:
    """Return the record with the largest advantage or power, by theory or by the game's end.

    Arithmetic (`added`) counts if these are within the limit.
    """
    theory = budget.shares(basis.leakage)
    values = theory.copy()
    played = {int(np.searchsorted(basis.rows, game.row)): game for game in basis.games}
    for index, game in played.items():
        values[index] = max(values[index], budget.upper(game))
    for row, least in thinned.items():
        if row in basis.rows:
            at = np.searchsorted(basis.rows, row)
            values[at] = max(values[at], least)
    for row, more in added.items():
        values[np.searchsorted(basis.rows, row)] += more
    values = np.minimum(values, 1.0)
    index = int(np.lexsort((basis.leakage, values))[-1])  # of equal shares, the larger leakage
    simulated = played.get(index)
    power = shares_of(float(basis.leakage[index]))["power"]
    power = power if simulated is None else simulated.to_act_on("power")
    more = added.get(int(basis.rows[index]), 0.0)
    return Worst(
        row=int(basis.rows[index]),
        quantity=budget.quantity,
        value=float(values[index]),
        theory=float(theory[index]),
        simulated=None if simulated is None else getattr(simulated, budget.quantity).simulated,
        upper=None if simulated is None else budget.upper(simulated),
        power=min(1.0, power + more),
        arithmetic=more,
        certain=bool(np.isinf(basis.leakage[index])) or more == 1,
    )


def _why(report: Content, basis: VerdictBasis, verdict: Verdict, budget: Budget) -> str:
    """Write the problem, the remedy, and its cost."""
    if basis.refused:
        return basis.refused
    seen, new = _seen(report, verdict.worst, budget), "" if report.previous is None else "new "
    if verdict.decision == PUBLISH:
        return f"{seen} No {new}record stands out more."
    if report.noise is None or not report.noise.confirmed:
        return f"{seen} No noise was found that the simulated attack confirms. {basis.remedy}"
    noise = _amount(report, report.noise)
    rounded = _rounded(report) if verdict.worst.arithmetic else ""
    if verdict.decision == PUBLISH_WITH_NOISE:
        secret = "" if report.noise.shape == "same" else ", if its shape stays secret"
        help_ = f"Noise of {noise} brings every {new}record under the limit{secret}."
        return f"{seen} {help_} {rounded}{_drawing(report)}".rstrip()
    return (
        f"{seen} It would take noise of {noise}, and at most {verdict.max_noise:g} is allowed "
        f"(--max-noise). {rounded.strip() or basis.remedy}"
    )


def _seen(report: Content, worst: Worst, budget: Budget) -> str:
    """Write how often an attacker is right on the worst record, by guessing, and at the limit."""
    who, source = named(report, worst.row), ""
    if budget.epsilon is not None:
        source = f", epsilon {budget.epsilon:g}"
    if budget.quantity == "power":
        value = _of_100(share_against(worst.value, budget.limit))
        limit = f"(false alarms: 1; your limit: {100 * budget.limit:.6g})"
        seen = f"if {who} is in, an attacker says so up to {value} times in 100 {limit}."
    else:
        right, most = (1 + worst.value) / 2, (1 + budget.limit) / 2
        digits = 6 if budget.epsilon is None else 4  # as asked, or what the epsilon allows
        limit = f"(guessing: 50; your limit: {100 * most:.{digits}g}{source})"
        value = _of_100(share_against(right, most))
        seen = (
            f"asked whether {who} is in, an attacker is right up to {value} times in 100 {limit}."
        )
    if worst.arithmetic:
        return f"{who} {_off(report, worst)}. {capitalised(seen)}"
    return seen


def _of_100(share: str) -> str:
    """Return a share in percent as so many times in 100."""
    return share.removesuffix("\u00a0%").removesuffix(".0").replace("> ", "more than ")


def _drawing(report: Content) -> str:
    """Write how to get the numbers to publish, if none were drawn."""
    if report.exact is not None or report.release.statistic == "covariance":
        return ""
    if report.release.n != report.input.rows_judged:
        return ""
    return f"Run again with --draw-noise to get the {kind_of_number(report)}s to publish."


def kind_of_number(report: Content) -> str:
    """Return the kind of the published numbers: "mean" or another."""
    return "mean" if report.release.statistic in ("mean", "known-weights") else "number"


def _off(report: Content, worst: Worst) -> str:
    """Write how arithmetic reveals a record."""
    first = next(record for record in report.arithmetic.records if record.row == worst.row)
    how = "gives itself away" if worst.certain else "is told"
    others = "all other records"
    if first.others:
        others = f"all but {first.others} of the other records"
    steps = f"go in steps of {first.step:g}, not this one"
    return f"{how} by arithmetic: in {first.column} {others} {steps}"


def _rounded(report: Content) -> str:
    """Write how rounding hides a record, if that is enough."""
    decimals = report.arithmetic.hidden_by
    return "" if decimals is None else f"Or publish it rounded: --decimals {decimals}. "


def _amount(report: Content, noise: Noise) -> str:
    """Write the size of the noise: on each mean, or as a root mean square over the means."""
    amount = several(noise.standard_errors)
    if noise.shape == "same":
        return f"{amount} on each {kind_of_number(report)}"
    kind = "independent" if noise.shape == "independent" else "shaped"
    return f"{amount} (root mean square, {kind})"


def _rounds(verdict: Verdict, basis: VerdictBasis, budget: Budget) -> Iterator[str]:
    """Ask for more rounds, where nothing but their number keeps the game from confirming it."""
    if verdict.decision == PUBLISH or basis.refused:
        return
    pairs = [(getattr(game, budget.quantity), game.rounds) for game in basis.games]
    inside = budget.met_by(float(basis.leakage.max()))
    if basis.added or not (inside and all(share.simulated < budget.limit for share, _ in pairs)):
        return
    # The error falls as the root of the rounds.
    needed = max(
        rounds * ((share.upper - share.simulated) / (budget.limit - share.simulated)) ** 2
        for share, rounds in pairs
    )
    if needed < _MOST_ROUNDS:
        yield (
            f"Theory and simulation are within the limit, but {pairs[0][1]} rounds are too few to "
            f"confirm it: try --rounds {float(in_digits(needed, 2)):.0f}."
        )


def _remedy(report: Content, budget: Budget) -> str:
    """Name the first change of the release that meets the limit in theory."""
    for remedy in report.remedies:
        if remedy.kind == "larger batch" and budget.met_by(remedy.leakage):
            return f"{remedy.what[:1].upper()}{remedy.what[1:]}."
        if remedy.kind != "noise on every mean" and budget.met_by(remedy.leakage):
            how = remedy.what if remedy.what.startswith("without") else f"for {remedy.what}"
            missing = f" ({remedy.cost})" if remedy.records_missing else ""
            if remedy.columns and "=" not in "".join(remedy.columns):
                missing = f" ({_excluding(remedy.columns)})"
            return f"In theory the limit holds {how}{missing}."
    return "No change that was tried is enough."


def _excluding(names: Sequence[str]) -> str:
    """Return the option that leaves out columns: their names are a line of csv."""
    quoted = ('"{}"'.format(name.replace('"', '""')) for name in names)
    pairs = zip(names, quoted, strict=True)
    line = ",".join(text if set(name) & set(',"') else name for name, text in pairs)
    return option("--exclude", line, of_list=False)


def _already_over_limit(report: Content, budget: Budget) -> Iterator[str]:
    """Write how many persons are over the limit by earlier means, which no verdict changes."""
    if report.previous is None:
        return
    beyond = int((report.previous.told > budget.largest_leakage()).sum())
    if beyond:
        yield (
            f"Of {counted(beyond, report.noun)} the earlier means told more already, which cannot "
            "be taken back."
        )


def _scope(report: Content) -> Iterator[str]:
    """Say of how many columns and records the verdict speaks, if some were left out unasked."""
    seen, parts = report.input, []
    if seen.columns_unjudged:
        total, names = seen.columns_published, seen.columns_unjudged
        keep = ": --proportions or --group-by keeps text" if texts_of(seen) else ""
        shown = listed(names, _NAMED)
        parts.append(f"{total - len(names)} of {counted(total, 'column')} ({shown} left out{keep})")
    if seen.rows - seen.rows_judged > _LOST * seen.rows:
        parts.append(f"{seen.rows_judged} of {counted(seen.rows, 'record')}")
    if parts:
        yield f"The verdict covers only {' and '.join(parts)}."
    if seen.rows_dropped:
        yield (
            f"{counted(seen.rows_dropped, 'record')} of small cells {are(seen.rows_dropped)} left "
            "out. Publish no total or mean that holds them: the difference would be theirs."
        )
    columns = dict.fromkeys(name.partition(" where ")[0] for name in seen.columns_judged)
    codes = [n for n in columns if _CODES & set(_WORD.findall(n.lower())) and "=" not in n]
    for name in codes[:1]:
        yield (
            f"{visible(name)!r} looks like a code: is its mean meant? If not, leave it out "
            f"({_excluding(codes)}) or publish means by it ({option('--group-by', name)})."
        )


def texts_of(seen: ReportInput) -> list[str]:
    """Return the columns that are left out as they are text, which options can keep."""
    texts = {column.name for column in seen.columns_left_out if column.reason.startswith("text ")}
    return [name for name in seen.columns_unjudged if name in texts]


_WORD = re.compile("[a-z]+")
_CODES = frozenset(
    {"zip", "zipcode", "postcode", "postal", "plz", "code", "ward", "icd", "fips", "naics", "nace"}
    | {"region", "district", "department", "clinic", "category", "status"}
)
"""Words in names of columns whose numbers stand for something else."""


def are(count: int) -> str:
    """Return the verb for so many."""
    return "is" if count == 1 else "are"
