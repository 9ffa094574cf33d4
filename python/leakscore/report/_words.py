"""The sentences and numbers that the text and the page share, so that both say the same."""

from __future__ import annotations

import math

from leakscore.render.text import counted
from leakscore.report._model import Compared, Content, Driver, Game, Risk

__all__ = [
    "attack",
    "attackers",
    "audit",
    "budget",
    "clipping",
    "covariance",
    "driver",
    "games_legend",
    "guarantee",
    "headline",
    "noise",
    "number",
    "percent",
    "plus_minus",
    "predictive",
    "read",
    "recognised",
    "shares_legend",
    "thousand",
    "worst_legend",
]


def percent(share: float) -> str:
    """Return 94.4 %, and never 100.0 % or 0.0 % of what is not certain."""
    if 0.9995 <= share < 1:
        return "> 99.9\u00a0%"
    if 0 < share < 0.0005:
        return "< 0.1\u00a0%"
    return f"{100 * share:.1f}\u00a0%"


def thousand(share: float) -> str:
    """Return how many of 1000; never all of them or none unless it is so."""
    if 0.9995 <= share < 1:
        return "999"
    if 0 < share < 0.0005:
        return "< 1"
    return f"{1000 * share:.0f}"


def number(value: float | None, digits: int = 4) -> str:
    """Return a number in a few digits, and words for what is not one."""
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "infinite"
    return f"{value:.{digits}g}"


def plus_minus(one: Compared, scale: float) -> str:
    """Return the simulated number with one standard error."""
    digits = 1 if scale < 1000 else 0
    error = max(scale * one.std_error, 10.0**-digits)
    return f"{scale * one.simulated:.{digits}f}\u00a0±\u00a0{error:.{digits}f}"


def headline(report: Content) -> str:
    """Say what is published, n, and who attacks."""
    release, columns = report.release, len(report.input.columns_judged)
    return (
        f"The mean of n = {release.n} records in {counted(columns, 'column')} is published, "
        f"without noise. The attacker knows {report.threat_models[0].knows}, not the other "
        "members, and asks: is that record in the mean?"
    )


def attackers(report: Content) -> str:
    """Say who the weaker attacker is."""
    return f"Beside him a weaker attacker, who knows {report.threat_models[1].knows}."


def guarantee() -> str:
    """Say what none of the numbers is."""
    return (
        "This is not a differential-privacy guarantee. Without noise no epsilon exists, and an "
        "attacker who knows more than this one (other members, say) may learn more. The numbers "
        "say what these two attackers can do, no more and no less."
    )


def recognised(risk: Risk, index: int, row: int) -> str:
    """Say the power of the informed attacker in words."""
    if math.isinf(risk.leakage[index]):
        return (
            f"Row {row} gives itself away: every table with this record is recognised, and none "
            "without it is flagged."
        )
    return (
        f"Row {row}: of 1000 tables with this record he recognises "
        f"{thousand(risk.power[index])}, and wrongly flags 10 of 1000 without it."
    )


def predictive(report: Content) -> str:
    """Name the base rates of the predictive values."""
    release = report.release
    if release.base_rate is None:
        return "base rate n/N not known (--base-population)"
    return f"base rate n/N = {release.n}/{release.base_population} = {percent(release.base_rate)}"


def attack(game: Game) -> str:
    """Name the attacker of a game."""
    return f"{game.attacker}, noise" if game.noise_std else game.attacker


def budget(report: Content) -> str:
    """Name the budget of the noise."""
    limits = report.noise.budget
    if "max_advantage" in limits:
        return f"an advantage of at most {percent(limits['max_advantage'])}"
    return f"a Gaussian epsilon of at most {limits['epsilon']:g} at delta = {limits['delta']:g}"


def worst_legend(report: Content) -> str:
    """Explain the columns of the table of the worst records."""
    return (
        "Left out: the record is not among those that the attacker knows the population from; in "
        "sample, it hides itself. Flag true: of the tables that he flags, the share that do hold "
        f"the record, at the {predictive(report)}, and at 1\u00a0%."
    )


def shares_legend() -> str:
    """Explain the shares of the columns."""
    return (
        "Shares of the leakage: all columns add up to 100\u00a0%; a column that the others "
        "predict can have a negative share."
    )


def covariance(report: Content) -> str:
    """Say how well the covariance is known."""
    known = report.covariance
    interval = (
        "no interval, as the covariance is shrunk"
        if known.leakage_low is None or known.power_low is None or known.power_high is None
        else (
            f"{100 * known.interval_confidence:g}\u00a0% interval {number(known.leakage_low)} to "
            f"{number(known.leakage_high)}, power {percent(known.power_low)} to "
            f"{percent(known.power_high)}, if the records were Gaussian"
        )
    )
    return (
        f"{known.rows_per_column:.1f} records a column; condition number of the correlations "
        f"{_condition(known.condition_number)}. Leakage of row {known.worst_row}, from a "
        f"covariance estimated on these records: {number(known.worst_leakage)} ({interval})."
    )


def _condition(value: float) -> str:
    return f"{value:.0f}" if value < 1e6 else f"{value:.1e}"


def driver(one: Driver) -> str:
    """Name a column that drives a record, with its value if it may be shown."""
    return one.column if one.value is None else f"{one.column} (value {one.value:g})"


def games_legend(report: Content) -> str:
    """Say how the games are played."""
    return (
        f"{report.games[0].rounds} rounds each, half with the record, half without it; the others "
        f"drawn {report.release.draw}; ± one standard error; seed {report.seed}."
    )


def noise(report: Content) -> str:
    """Say what noise meets the budget, and what that is worth."""
    found = report.noise
    if found.standard_errors == 0:
        return f"No noise is needed for {budget(report)} of every record."
    return (
        f"For {budget(report)} of every record, add Gaussian noise of {found.standard_errors:.3g} "
        f"standard errors of the mean to each column. Row {found.binding_row} is then the worst: "
        f"leakage {number(found.leakage)}, advantage {percent(found.advantage)} (game "
        f"{plus_minus(found.game.advantage, 100)}\u00a0%), of 1000 tables {thousand(found.power)} "
        "recognised. This bounds what the informed attacker learns of these records; a guarantee "
        "of differential privacy would need bounded records."
    )


def clipping(report: Content) -> str:
    """Say what clipping costs, and what must not be forgotten."""
    costs = [
        f"{remedy.what.removeprefix('columns clipped ')} it {remedy.cost}"
        for remedy in report.remedies
        if remedy.kind == "winsorising"
    ]
    return (
        f"Clipping has a price: {', '.join(costs)}. Fix its limits beforehand: quantiles of this "
        "table are data of these people too, and so is the choice of records to leave out."
    )


def audit(report: Content) -> str:
    """Say what the audit certified; empty if there was none."""
    found = report.audit
    if found is None:
        return ""
    meaning = " (0 is no evidence, not privacy)" if found.epsilon == 0 else ""
    return (
        f"Row {found.row}, {found.rounds} rounds: epsilon >= {found.epsilon:.3g}{meaning} at delta "
        f"= {found.delta:g} with {100 * found.confidence:g}\u00a0% confidence ({found.method}). "
        f"The most that so many rounds could certify is {found.max_certifiable:.3g}."
    )


def read(report: Content) -> list[tuple[str, str]]:
    """List what was read and what was left out, and why."""
    seen = report.input
    lines = [
        ("table", f"{seen.name}: {seen.rows} records, {counted(seen.columns, 'column')}"),
        ("judged", f"{seen.rows_judged} records, {counted(len(seen.columns_judged), 'column')}"),
        ("sha256", seen.sha256),
    ]
    for rows in seen.rows_left_out:
        shown = ", ".join(str(row) for row in rows.first) + (", ..." if rows.count > 5 else "")
        lines.append(("left out", f"{counted(rows.count, 'record')}, row {shown}: {rows.reason}"))
    lines += [
        ("left out", f'column "{column.name}": {column.reason}') for column in seen.columns_left_out
    ]
    lines += [("note", note) for note in seen.notes]
    lines.append(("made by", f"leakscore {report.tool_version}, seed {report.seed}"))
    return lines
