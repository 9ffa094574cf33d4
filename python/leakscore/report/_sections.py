"""What a report says: its sections, built once for the text and the page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from leakscore.render import document as doc
from leakscore.render.text import counted
from leakscore.report import _charts as charts
from leakscore.report._model import Content, Covariance, Driver, Remedy
from leakscore.report._previous_sections import joint_card, joint_section
from leakscore.report._words import ABOVE, budget, number, percent, plus_minus, remedies_table

__all__ = ["document"]

_DRIVEN, _DRIVING, _DRAWN = 3, 4, 8  # records, their columns in words, and as bars
_NOISY_COLUMNS = 5


def document(report: Content) -> doc.Document:
    """Return the sections of a report, in their order."""
    return doc.Document(
        f"leakscore report: {report.input.name}",
        _head(report),
        (
            _counts(report),
            _worst(report),
            *joint_section(report),
            _drivers(report),
            _games(report),
            _noise(report),
            _remedies(report),
            *_audit(report),
            doc.Section("To know", [doc.Notices(report.warnings)]),
            doc.Section("What was read", [doc.Definitions(list(_read(report)))]),
        ),
    )


def _head(report: Content) -> list[list[doc.Part]]:
    columns = counted(len(report.input.columns_judged), "column")
    informed, weaker = report.threat_models
    asked = f"The attacker knows {informed.knows}, not the other members, and asks: is that record"
    guarantee = (
        "This is not a differential-privacy guarantee. Without noise no epsilon exists. The "
        "numbers hold for these two attackers; an attacker who knows more, such as other members, "
        "may learn more."
    )
    what = f"The mean of n = {report.release.n} records in {columns} is published, without noise."
    return [
        [
            doc.Heading(what),
            doc.Paragraph(f"{asked} in the mean?", "lead"),
            doc.Paragraph(f"A weaker attacker knows {weaker.knows}.", "lead"),
        ],
        [doc.Cards([*_cards(report), *joint_card(report)])],
        [doc.Paragraph(guarantee, "plain")],
    ]


def _cards(report: Content) -> Iterator[doc.Card]:
    index, row = report.worst[0], report.counts[0].worst_row
    power, other = percent(report.informed.power[index]), percent(report.weaker.power[index])
    game = next((g for g in report.games if g.row == row and g.attacker == "informed"), None)
    text = (
        f"Row {row}: the attacker identifies {power} of the tables with this record; 1\u00a0% of "
        "the tables without it are flagged."
    )
    if math.isinf(report.informed.leakage[index]):
        text = (
            f"Row {row} gives itself away: every table with this record is identified, and no "
            "table without it is flagged."
        )
    elif game is not None:
        text += f" Simulated game: {plus_minus(game.power)}."
    yield doc.Card("informed", "Worst record, informed attacker", power, "identified", text)
    text = f"The weaker attacker identifies {other}: correlations of columns are not used."
    yield doc.Card("weaker", "Same record, weaker attacker", other, "identified", text)
    counts, weaker = report.counts
    median = percent(counts.median_power)
    text = (
        f"The median record: {median} (weaker attacker {percent(weaker.median_power)}); 1\u00a0% "
        f"is guessing. {counts.above['50%']} of {counts.records} records are identified more often "
        "than not."
    )
    yield doc.Card("", "Median record, informed attacker", median, "identified", text)


def _counts(report: Content) -> doc.Section:
    rows = [
        [
            f"{counts.attacker} attacker",
            *map(str, counts.above.values()),
            percent(counts.median_power),
            percent(counts.worst_power),
        ]
        for counts in report.counts
    ]
    header = ["power at 1\u00a0% false positives", *ABOVE, "median", "worst"]
    table = doc.Table(header, rows, f"Of {report.counts[0].records} records")
    figures = doc.Figures([charts.leakages(report), charts.roc(report)])
    return doc.Section("How many records are identified", [table, figures])


def _worst(report: Content) -> doc.Section:
    informed, base = report.informed, report.informed.ppv_at_base_rate
    header = ["row", "leakage\nleft out", "leakage\nin sample", "advantage", "power\ninformed"]
    header += ["power\nweaker", "flag true\nat n/N", "flag true\nat 1\u00a0%"]
    rows = [
        [
            str(report.rows[i]),
            number(informed.leakage[i]),
            number(report.in_sample[i]),
            percent(informed.advantage[i]),
            percent(informed.power[i]),
            percent(report.weaker.power[i]),
            "-" if base is None else percent(base[i]),
            percent(informed.ppv_at_low_prior[i]),
        ]
        for i in report.worst
    ]
    release = report.release
    rate = (
        "n/N (not known: --base-population)"
        if release.base_rate is None
        else f"n/N = {release.n}/{release.base_population} = {percent(release.base_rate)}"
    )
    legend = (
        "Left out: the attacker knows the population from the other records. In sample: this "
        "record is among them and hides itself. Power: the share of tables with the record that "
        "are flagged, at 1\u00a0% false positives. Flag true: the share of flagged tables that "
        f"hold the record, at the base rate {rate} and at 1\u00a0%."
    )
    table = doc.Table(header, rows, "Rows are numbered from 1, as in the file")
    return doc.Section("The worst records", [table, doc.Paragraph(legend, "soft")])


def _drivers(report: Content) -> doc.Section:
    lines = [
        (
            f"row {drivers.row}",
            ", ".join(f"{_named(one)} {_share(one)}" for one in drivers.columns[:_DRIVING]),
        )
        for drivers in report.drivers[:_DRIVEN]
    ]
    legend = (
        "Shares of the leakage: all columns add up to 100\u00a0%; a column that the others predict "
        "can have a negative share."
    )
    return doc.Section(
        "Which columns drive them",
        [
            doc.Definitions(lines),
            doc.PageOnly([_bars(report)]),
            doc.Paragraph(legend, "soft"),
            doc.Paragraph(_covariance(report.covariance), "soft"),
        ],
    )


def _covariance(known: Covariance) -> str:
    """Say how well the covariance is known."""
    interval = "no interval, as the covariance is shrunk"
    low, high = known.leakage_low, known.leakage_high
    least, most = known.power_low, known.power_high
    if not (low is None or high is None or least is None or most is None):
        interval = (
            f"{100 * known.interval_confidence:g}\u00a0% interval {number(low)} to {number(high)}, "
            f"power {percent(least)} to {percent(most)}, if the records are Gaussian"
        )
    condition = known.condition_number
    return (
        f"{known.rows_per_column:.1f} records a column; condition number of the correlations "
        f"{condition:{'.0f' if condition < 1e6 else '.1e'}}. Leakage of row {known.worst_row}, "
        f"from a covariance estimated on these records: {number(known.worst_leakage)} ({interval})."
    )


def _bars(report: Content) -> doc.Table:
    """Draw the shares of the worst record's columns, those of either sign."""
    first = report.drivers[0]
    ranked = sorted(first.columns, key=lambda one: -abs(one.share))[:_DRAWN]
    ranked.sort(key=lambda one: -one.share)
    low, high = min(0.0, ranked[-1].share), max(0.0, ranked[0].share)
    rows: list[list[str | doc.Bar]] = []
    for one in ranked:
        start, length = min(one.share, 0.0) - low, abs(one.share)
        style = "negative" if one.share < 0 else "informed"
        bar = doc.Bar(length / (high - low), start / (high - low), style)
        rows.append([_named(one), bar, _share(one)])
    return doc.Table(
        ["column", "", "share"], rows, f"Shares of the columns in the leakage of row {first.row}"
    )


def _named(one: Driver) -> str:
    """Name a column that drives a record, with its value if it may be shown."""
    return one.column if one.value is None else f"{one.column} (value {one.value:g})"


def _share(one: Driver) -> str:
    return f"{100 * one.share:+.0f}\u00a0%"


def _games(report: Content) -> doc.Section:
    games = tuple(dict.fromkeys((*report.games, report.noise.game)))
    header = ["row", "attacker", "advantage\nin theory", "advantage\nin the game"]
    header += ["power\nin theory", "power\nin the game", "agree"]
    rows = [
        [
            str(game.row),
            "with noise" if game.noise_std else game.attacker,
            percent(game.advantage.theory),
            plus_minus(game.advantage),
            percent(game.power.theory),
            plus_minus(game.power),
            doc.Flag("no") if game.differs else "yes",
        ]
        for game in games
    ]
    legend = (
        f"{games[0].rounds} rounds each, half with the record, half without it; the others "
        f"drawn {report.release.draw}; ± one standard error; seed {report.seed}."
    )
    informed = next(game for game in report.games if game.attacker == "informed")
    table = doc.Table(header, rows, legend, words=["attacker"])
    figures = doc.Figures([charts.ratios(informed)])
    return doc.Section("Theory beside the simulated game", [table, figures])


def _noise(report: Content) -> doc.Section:
    noise = report.noise
    if noise.standard_errors == 0:
        none = f"No noise is needed for {budget(noise)} of every record."
        return doc.Section("Noise", [doc.Paragraph(none)])
    stds = list(noise.noise_std.items())
    shown = "; ".join(f"{name} {std:.3g}" for name, std in stds[:_NOISY_COLUMNS])
    more = len(stds) - _NOISY_COLUMNS
    rest = f"; and {more} more (--json)" if more > 0 else ""
    told = (
        f"For {budget(noise)} of every record, add Gaussian noise of {noise.standard_errors:.3g} "
        f"standard errors of the mean to each column. Row {noise.binding_row} is then the worst: "
        f"leakage {number(noise.leakage)}, advantage {percent(noise.advantage)} (game "
        f"{plus_minus(noise.game.advantage)}), power {percent(noise.power)}. This bounds what the "
        "informed attacker learns of these records; a guarantee of differential privacy needs "
        "bounded records."
    )
    rows = [[name, f"{std:.4g}"] for name, std in stds]
    caption = "Standard deviation of the noise, in the column's units"
    table = doc.Table(["column", "noise"], rows, caption)
    sentence = f"Its standard deviation: {shown}{rest}."
    every = doc.Folded("Noise of every column", table, sentence)
    return doc.Section("Noise", [doc.Paragraph(told), every])


def _remedies(report: Content) -> doc.Section:
    remedies, size = report.remedies, report.input.rows_judged
    caption = (
        "Power of the informed attacker against the worst record, and how many records are above "
        "50\u00a0% and 10\u00a0%"
    )
    parts: list[doc.Part] = [
        remedies_table("the release", remedies, caption, report.counts[0]),
        doc.Paragraph(_clipping(remedies), "soft"),
    ]
    if any(remedy.records_missing for remedy in remedies):
        beyond = f"A mean of more than {size} records needs more than this table."
        parts.append(doc.Paragraph(beyond, "soft"))
    return doc.Section("Cheaper remedies, scored again", parts)


def _clipping(remedies: Sequence[Remedy]) -> str:
    costs = ", ".join(
        f"at {100 * remedy.clipped:g} % and {100 - 100 * remedy.clipped:g} % by up to "
        f"{remedy.mean_shift:.2g} standard errors"
        for remedy in remedies
        if remedy.clipped is not None
    )
    return (
        f"Clipping moves a mean: {costs}. Fix its limits beforehand: quantiles of this table are "
        "data of these people too, and so is the choice of records to leave out."
    )


def _audit(report: Content) -> Iterator[doc.Section]:
    found = report.audit
    if found is None:
        return
    meaning = " (0 is no evidence, not privacy)" if found.epsilon == 0 else ""
    text = (
        f"Row {found.row}, {found.rounds} rounds: epsilon >= {found.epsilon:.3g}{meaning} at delta "
        f"= {found.delta:g} with {100 * found.confidence:g}\u00a0% confidence ({found.method}). "
        f"The most that so many rounds can certify is {found.max_certifiable:.3g}."
    )
    yield doc.Section("Audit of the simulated game", [doc.Paragraph(text)])


def _read(report: Content) -> Iterator[tuple[str, str]]:
    seen = report.input
    yield "table", f"{seen.name}: {seen.rows} records, {counted(seen.columns, 'column')}"
    judged = counted(len(seen.columns_judged), "column")
    yield "judged", f"{seen.rows_judged} records, {judged}"
    yield "sha256", seen.sha256
    for rows in seen.rows_left_out:
        shown = ", ".join(map(str, rows.first)) + (", ..." if rows.count > 5 else "")
        yield "left out", f"{counted(rows.count, 'record')}, row {shown}: {rows.reason}"
    for column in seen.columns_left_out:
        yield "left out", f'column "{column.name}": {column.reason}'
    for note in seen.notes:
        yield "note", note
    yield "made by", f"leakscore {report.tool_version}, seed {report.seed}"
