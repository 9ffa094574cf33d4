"""The sections of a report, built once for the text and the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

import leakscore
from leakscore_app._visible import capitalised, counted, listed, visible
from leakscore_app.document import document as doc
from leakscore_app.document.document import Notice
from leakscore_app.report import _charts as charts
from leakscore_app.report._model import (
    LEVELS,
    WITHIN,
    Content,
    Driver,
    Previous,
    Remedy,
    ReportInput,
    Verdict,
    Worst,
)
from leakscore_app.report._noise_section import noise_section, numbers_to_publish
from leakscore_app.report._verdict import (
    are,
    in_100,
    label,
    limited,
    named,
    number,
    percent,
    plus_minus,
    texts_of,
    times,
)
from leakscore_app.report.engine.attack import LINEAR, NEARLY_LINEAR
from leakscore_app.tables.doubts import option

_SINGULAR = ("mean", "sum", "weighted-ratio", "known-weights")
_REFITS = 5  # that are listed; the JSON has all
_REMAINDERS = 10  # that are listed
_DRIVEN, _DRIVING, _DRAWN = 3, 4, 8  # records, their columns in words, and as bars


def document(report: Content, verdict: Verdict, notices: Sequence[Notice]) -> doc.Document:
    """Return the sections of a report, in their order."""
    return doc.Document(
        f"leakscore report: {report.input.name}",
        _head(report, verdict),
        (
            *numbers_to_publish(report, verdict),
            _counts(report),
            _worst(report),
            *_refits(report),
            *_cells(report),
            _games(report),
            *_sensitive(report),
            _arithmetic(report),
            noise_section(report),
            _remedies(report),
            *_audit(report),
            doc.Section("To know", [doc.Notices(notices)]),
            _read(report),
        ),
    )


def _head(report: Content, verdict: Verdict) -> list[list[doc.Part]]:
    informed, weaker = report.threat_models
    who = "record" if report.owned is None or report.owned.alone else "person"
    asks = f"The attacker knows {informed.knows}, not the other members, and asks: is that {who}"
    guarantee = (
        "This is not a differential-privacy guarantee. Without noise no epsilon exists. The "
        "numbers hold for these two attackers and their scores; an attacker who knows more, "
        "such as other members, may learn more."
    )
    decimals = report.release.decimals
    rounded = "" if decimals is None else f"rounded to multiples of {10.0**-decimals:g}, "
    is_or_are = "is" if report.release.statistic in _SINGULAR else "are"
    what = f"{report.release.what} {is_or_are} published, {rounded}without noise."
    if report.release.synthetic:
        source = f"{report.release.what[:1].lower()}{report.release.what[1:]}"
        what = (
            f"A synthetic table is published. It is drawn from {source} alone, {rounded}without "
            "noise, and tells no more than these numbers do."
        )
    what = " ".join(
        [what, *(f"{note}." for note in report.input.notes if " is read as 1, " in note)]
    )
    embedded = "This is the embedded table: leakscore report FILE judges yours."
    tables = [doc.Paragraph(embedded, "lead")] if report.observations.embedded else []
    return [
        [doc.Heading(verdict.line, verdict.decision.replace(" ", "-"))],
        [
            *tables,
            doc.Paragraph(what, "lead"),
            *_earlier_means(report),
            doc.Paragraph(f"{asks} in the {_kind(report)}?", "lead"),
            doc.Paragraph(f"A weaker attacker knows {weaker.knows}.", "lead"),
            doc.Paragraph(_limit(verdict), "lead"),
        ],
        [doc.Cards([*_cards(report, verdict.worst), *_worst_old(report)])],
        [doc.Paragraph(guarantee, "plain")],
    ]


def _kind(report: Content) -> str:
    return "mean" if report.release.statistic == "mean" else "data"


def _cells(report: Content) -> Iterator[doc.Section]:
    """List the cells of a table by group."""
    if not report.cells:
        return
    cells, who = report.cells, report.noun
    columns = {
        "cell": [cell.cell for cell in cells],
        f"{who}s": [str(cell.persons) for cell in cells],
        f"worst {who}": [label(report, cell.row) for cell in cells],
        "power": [percent(cell.power) for cell in cells],
        "advantage": [percent(cell.advantage) for cell in cells],
        "> 50\u00a0%": [str(cell.above_half) for cell in cells],
    }
    caption = (
        f"Power at 1\u00a0% false positives, advantage in theory. Cells of fewer than "
        f"{report.min_cell} {who}s are not to be published. In a cell of few "
        f"{who}s the normal theory is rough: trust the simulated game."
    )
    yield doc.Section("The cells", [doc.TextTable.of(columns, caption)])


def _refits(report: Content) -> Iterator[doc.Section]:
    """Compare Newton steps with exact fits, for the records that leak most."""
    refits = report.observations.refits
    if not refits:
        return
    shown = refits[:_REFITS]
    columns = {
        "without": [named(report, each.row) for each in shown],
        "shifts most": [visible(each.coefficient) for each in shown],
        "by one step": [f"{each.one_step:+.3g}" for each in shown],
        "by the refit": [f"{each.refit:+.3g}" for each in shown],
    }
    off = max(abs(fit.one_step - fit.refit) for fit in refits)
    caption = (
        f"Shifts in standard errors. The fit was repeated without each of {len(refits)} records: "
        "those that leak most by one Newton step, and those of large leverage. Their leakage is "
        f"that of the refit. Of these coefficients step and refit differ by at most {off:.2g}."
    )
    yield doc.Section("Fits without a record", [doc.TextTable.of(columns, caption)])


def _sensitive(report: Content) -> Iterator[doc.Section]:
    """Write how well one value of a member can be guessed from the release."""
    value = report.sensitive
    if value is None:
        return
    name, who = visible(value.column), named(report, value.row)
    right, prior = (times(share) for share in (value.right.theory, value.prior))
    between = "two categories" if value.categories else "it and what the other values say"
    texts = [
        f"The attacker knows that a record is in the {_kind(report)}, and all its values but "
        f"{name}. Most is told about {who}: the best guess between {between} is right {right} "
        f"times in 100 (simulated {times(value.right.simulated)}), without the release {prior}."
    ]
    before, after, spread = value.open_before, value.open_after, value.spread
    if before is not None and after is not None and spread is not None:
        noisy = value.open_with_noise
        more = "" if noisy is None else f", {number(noisy)} with the noise that is offered"
        texts.append(
            f"Of a spread of {number(spread)} the other values leave {number(before)} open, for "
            f"every record; after the release it is {number(after)}{more}."
        )
        texts.append(_to_within(before, spread, value.colluding_members))
    texts.append("Exact for normal records, otherwise a limit for many.")
    yield doc.Section(f"The value of {name}", [doc.Paragraph(text) for text in texts])


def _to_within(before: float, spread: float, members: int | None) -> str:
    """Write how many members together know the value to within a tenth of its spread."""
    within = "to within a tenth of its spread"
    if before <= WITHIN * spread:
        return f"The other values tell it {within}, whatever is published."
    if members is None:
        return f"Not even all other members together know it {within}."
    whom = "The release alone tells" if members == 0 else f"With {members} other members it tells"
    return f"{whom} it {within}."


def _limit(verdict: Verdict) -> str:
    """Write the limit of the decision."""
    right = ""
    if "max_advantage" in verdict.limit:
        right = f" (right {50 * (1 + verdict.limit['max_advantage']):.6g} times in 100)"
    return (
        f"The limit for every record is {limited(verdict.limit)}{right}, in theory and at the "
        "upper 95\u00a0% end of the simulated game."
    )


def _cards(report: Content, worst: Worst) -> Iterator[doc.Card]:
    row = worst.row
    index, who = int(np.searchsorted(report.rows, row)), named(report, row)
    power, how, more = _to_act_on(report, row, "informed", report.informed.power[index])
    if worst.arithmetic:
        power, how, more = worst.power, "by arithmetic", ", by arithmetic"
    text = (
        f"If {who} is in the table, the attack says so {in_100(power)}{more}; if it is "
        "not, once in 100 (chosen rate of false alarms)."
    )
    if worst.certain:
        text = (
            f"{capitalised(who)} gives itself away: every table with this record is recognised, "
            "and no table without it is taken for one."
        )
    if report.previous is not None and report.previous.given_away[index]:
        text = f"{capitalised(who)} is given away: the difference of the two means is its values."
    yield doc.Card("informed", "Worst record", percent(power), f"recognised, {how}", text)
    power, how, more = _to_act_on(report, row, "weaker", report.weaker.power[index])
    text = (
        "A weaker attacker, who does not know how the columns vary together, recognises it "
        f"{in_100(power)}{more}."
    )
    title = "Same record, weaker attacker"
    yield doc.Card("weaker", title, percent(power), f"recognised, {how}", text)
    counts, weaker = report.counts
    half = (
        f"Half of the {report.noun}s are recognised at most {in_100(counts.median_power)}, "
        f"in theory (weaker attacker: {times(weaker.median_power)}; guessing: 1). "
        f"{counts.above['50%']} of {counts.records} {report.noun}s {are(counts.above['50%'])} "
        "recognised more often than not."
    )
    median = percent(counts.median_power)
    yield doc.Card("", f"Half of the {report.noun}s", median, "at most, in theory", half)


def _to_act_on(report: Content, row: int, attacker: str, power: float) -> tuple[float, str, str]:
    """Return the power to act on, its source, and in brackets the theory's, if the game differs."""
    games = (g for g in report.games if g.row == row and g.attacker == attacker)
    game = next(games, None)
    if game is None or not game.differs:
        return power, "in theory", ""
    return game.to_act_on("power"), "simulated", f" (theory {times(power)})"


def _counts(report: Content) -> doc.Section:
    columns = {
        "power at 1\u00a0% false positives": [f"{of.attacker} attacker" for of in report.counts],
        **_above(of.above for of in report.counts),
        "median": [percent(of.median_power) for of in report.counts],
        "worst": [percent(of.worst_power) for of in report.counts],
    }
    caption = f"Of {report.records} {report.noun}s, in theory"
    tables = [doc.TextTable.of(columns, caption)]
    if report.previous is not None:
        tables.append(_batches(report.previous))
    drawn = doc.PageOnly(
        lambda: [
            doc.Figures([charts.leakages(report), charts.roc(report)]),
            charts.leakages_table(report),
            charts.roc_table(report),
        ]
    )
    return doc.Section("How many records are identified", [*tables, drawn])


def _above(counts: Iterable[Mapping[str, int]]) -> dict[str, list[str]]:
    """Return columns with the number of records above each level of power."""
    each = list(counts)
    levels = [f"{100 * level:g}" for level in LEVELS]
    return {f">\u00a0{level}\u00a0%": [str(of[f"{level}%"]) for of in each] for level in levels}


def _worst(report: Content) -> doc.Section:
    informed, worst, release = report.informed, report.worst, report.release
    base = informed.ppv_at_base_rate
    columns = {
        "record": [label(report, int(report.rows[i])) for i in worst],
        "leakage\nleft out": [number(informed.leakage[i]) for i in worst],
        "leakage\nin sample": [number(report.in_sample[i]) for i in worst],
        "advantage": [percent(informed.advantage[i]) for i in worst],
        "power\ninformed": [percent(informed.power[i]) for i in worst],
        "power\nweaker": [percent(report.weaker.power[i]) for i in worst],
        "flag true\nat n/N": ["-" if base is None else percent(base[i]) for i in worst],
        "flag true\nat 1\u00a0%": [percent(informed.ppv_at_low_prior[i]) for i in worst],
    }
    if report.previous is not None:
        alone = report.previous.alone.power
        columns["present\nmean alone"] = [percent(alone[i]) for i in worst]
    rate = (
        "n/N (not known: --base-population)"
        if release.base_rate is None
        else f"n/N = {release.n}/{release.base_population} = {percent(release.base_rate)}"
    )
    legend = (
        "Left out: the attacker knows the population from the other records. Power: the share of "
        "tables with the record that are flagged, at 1\u00a0% false positives. Flag true: the "
        f"share of flagged tables that hold the record, at the base rate {rate} and at 1\u00a0%."
    )
    in_sample = doc.Paragraph("In sample: this record is among them, and hides itself.", "soft")
    crowded = ["leakage\nin sample"] if _long_names(report) else []
    beside = doc.PageOnly(lambda: [in_sample]) if crowded else in_sample
    crowded += ["flag true\nat n/N"] if report.previous is not None else []
    table = doc.TextTable.of(columns, _numbering(report), page_only=crowded)
    parts = [table, doc.Paragraph(legend, "soft"), beside, *_drivers(report)]
    return doc.Section("The worst records", parts)


def _long_names(report: Content) -> bool:
    """Whether the names of records leave too little room in a text for every column."""
    return report.lines is not None or report.owned is not None


def _numbering(report: Content) -> str:
    lines = "" if report.lines is None else "; lines are those of the file"
    return f"Records are numbered from 1, in the order of the file{lines}"


def _drivers(report: Content) -> list[doc.Part]:
    """Show which columns drive the worst records."""
    lines = [
        (
            named(report, drivers.row),
            ", ".join(f"{_named(each)} {_share(each)}" for each in drivers.columns[:_DRIVING]),
        )
        for drivers in report.drivers[:_DRIVEN]
    ]
    legend = (
        "Which columns drive them, in shares of the leakage: all columns add up to 100\u00a0%; a "
        "column that the others predict can have a negative share."
    )
    return [
        doc.Paragraph(legend, "soft"),
        doc.Definitions(lines),
        doc.PageOnly(lambda: [_bars(report)]),
        doc.Paragraph(_covariance(report), "soft"),
    ]


def _covariance(report: Content) -> str:
    """Write how well the covariance is estimated."""
    fit = report.covariance
    how = "pooled" if fit.kind == "pooled" else "shrunk"
    interval = f"no interval, as the covariance is {how}"
    low, high = fit.leakage_low, fit.leakage_high
    least, most = fit.power_low, fit.power_high
    if not (low is None or high is None or least is None or most is None):
        interval = (
            f"{100 * fit.interval_confidence:g}\u00a0% interval {number(low)} to {number(high)}, "
            f"power {percent(least)} to {percent(most)}, if the records are Gaussian"
        )
    condition = fit.condition_number
    return (
        f"{fit.rows_per_column:.1f} records a column; condition number of the correlations "
        f"{condition:{'.0f' if condition < 1e6 else '.1e'}}. Leakage of "
        f"{named(report, fit.worst_row)}, from a covariance estimated on these records: "
        f"{number(fit.worst_leakage)} ({interval})."
    )


def _bars(report: Content) -> doc.TextTable:
    """Draw the shares of the worst record's columns, which may be negative."""
    first = report.drivers[0]
    ranked = sorted(first.columns, key=lambda driver: -abs(driver.share))[:_DRAWN]
    ranked.sort(key=lambda driver: -driver.share)
    low, high = min(0.0, ranked[-1].share), max(0.0, ranked[0].share)
    bars = []
    for driver in ranked:
        start, length = min(driver.share, 0.0) - low, abs(driver.share)
        style = "negative" if driver.share < 0 else "informed"
        bars.append(doc.Bar(length / (high - low), start / (high - low), style))
    caption = f"Shares of the columns in the leakage of {named(report, first.row)}"
    names, shares = map(_named, ranked), map(_share, ranked)
    return doc.TextTable.of({"column": names, "": bars, "share": shares}, caption)


def _named(driver: Driver) -> str:
    """Name a column that drives a record, with its value if it may be shown."""
    return driver.column if driver.value is None else f"{driver.column} (value {driver.value:g})"


def _share(driver: Driver) -> str:
    return f"{100 * driver.share:+.0f}\u00a0%"


def _games(report: Content) -> doc.Section:
    noisy = () if report.noise is None else (report.noise.game,)
    games = tuple(dict.fromkeys((*report.games, *noisy)))
    columns = {
        "record": [label(report, game.row) for game in games],
        "attacker": ["with noise" if game.noise_std else game.attacker for game in games],
        "advantage\nin theory": [percent(game.advantage.theory) for game in games],
        "advantage\nin the game": [plus_minus(game.advantage) for game in games],
        "power\nin theory": [percent(game.power.theory) for game in games],
        "power\nin the game": [plus_minus(game.power) for game in games],
        "agree": [doc.Flag("no") if game.differs else "yes" for game in games],
    }
    played = len({game.row for game in report.games})
    ranked = f", of {report.ranked} ranked by it" if report.ranked < report.records else ""
    legend = (
        f"{played} of {counted(report.records, report.noun)} played: the worst in theory, those "
        f"whom the law of the sums puts among the worst{ranked}, and the middle; "
        f"{games[0].rounds} rounds each, half with the record, half without it; the others "
        f"drawn {report.release.draw}; {_coefficients(report)}± one standard error; seed "
        f"{report.seed}."
    )
    informed = next(game for game in report.games if game.attacker == "informed")
    crowded = ["agree"] if _long_names(report) else []
    table = doc.TextTable.of(columns, legend, words=["attacker"], page_only=crowded)
    drawn = doc.PageOnly(
        lambda: [
            doc.Figures([charts.ratios(report, informed)]),
            charts.ratios_table(informed),
        ]
    )
    return doc.Section("Theory beside the simulated game", [table, drawn])


_STEPS = (
    "A use that is not linear can tell more. One is checked, column by column: if the values of "
    "all other records go in steps (whole thousands), so does their sum, and a record off the "
    "steps leaves its remainder."
)
_ADDED = "Both attackers use a linear score: they add up the published numbers with weights"
_UNCHECKED = (
    "Not checked: steps that columns have only together, values that lie near steps, not on them, "
    "and columns that follow from others."
)


_FITTED = ("regression", "glm", "cox")
_AGAIN = (*_FITTED, "correlations", "weighted-ratio")
"""Statistics that a game computes again in every round."""
_HOLDERS = (
    " Not played: who knows the few records that hold a value tells from exact coefficients, all "
    "together, which of them are in."
)


def _coefficients(report: Content) -> str:
    """Write how a round of a game refits coefficients."""
    if report.release.statistic not in _AGAIN:
        return ""
    return (
        f"those of the largest leverages above {NEARLY_LINEAR} are played, too; samples are fitted "
        f"again where a record's leverage is above {LINEAR}, and the informed attacker's score is "
        "the best of a linear one and of others that are learned from more rounds; "
    )


def _arithmetic(report: Content) -> doc.Section:
    """Write which records the remainders of sums reveal, and what was checked."""
    arithmetic, others = report.arithmetic, ""
    checked = _UNCHECKED if arithmetic.records else f"No record is off such steps. {_UNCHECKED}"
    if arithmetic.unchecked:
        checked = f"It is not checked here: {arithmetic.unchecked}."
        checked += _HOLDERS if report.release.statistic in _FITTED else ""
        if _coefficients(report):
            others = " (of what is fitted again, the informed one other scores, too)"
    text = doc.Paragraph(f"{_ADDED}{others}. {_STEPS} {checked}")
    if not arithmetic.records:
        return doc.Section("Arithmetic", [text])
    shown = arithmetic.records[:_REMAINDERS]
    columns = {
        "record": [label(report, record.row) for record in shown],
        "column": [record.column for record in shown],
        "step of\nothers": [f"{record.step:g}" for record in shown],
        "others\noff it": [str(record.others) for record in shown],
        "exact\nsum": [percent(record.exact) for record in shown],
        "as it is\npublished": [percent(record.advantage) for record in shown],
    }
    more = len(arithmetic.records) - len(shown)
    caption = "Advantage of an attack on the remainder of the sum; without noise"
    table = doc.TextTable.of(columns, caption + (f"; {more} more in --json" if more > 0 else ""))
    return doc.Section("Arithmetic", [text, table, doc.Paragraph(_hiding(report), "soft")])


def _hiding(report: Content) -> str:
    """Write how remainders can be hidden."""
    text = "Noise with a standard deviation of a step, on the sum, hides them; "
    if report.noise is not None and report.noise.confirmed and report.noise.standard_errors:
        text = "The noise of this report is at least a step on the sum, and hides them; "
    return text + (
        "so does rounding (--decimals D), if n 10^-D is much more than a step: step / (2 n 10^-D) "
        "of the advantage is left."
    )


def _remedies(report: Content) -> doc.Section:
    remedies, now, previous = report.remedies, report.counts[0], report.previous
    caption = (
        "Power of the informed attacker against the worst record, and how many records are above "
        "50\u00a0% and 10\u00a0%"
    )
    if previous is not None:
        now = previous.batches[-1].joint
        caption += ", of the new records by all means together (noise on every mean: of all)"
    powers = [now.worst_power, *(remedy.power for remedy in remedies)]
    worst = [now.worst_row, *(remedy.worst_row for remedy in remedies)]
    above = _above([now.above, *(remedy.above for remedy in remedies)])
    columns: dict[str, Iterable[str | doc.Bar]] = {
        "the release": ["as it is", *(remedy.what for remedy in remedies)],
        "cost": ["-", *(remedy.cost for remedy in remedies)],
        "worst record": [label(report, row) for row in worst],
        "power": map(percent, powers),
        "": map(doc.Bar, powers),
        **dict(list(above.items())[1::-1]),
    }
    table = doc.TextTable.of(columns, caption, words=["cost"], page_only=["cost"])
    parts: list[doc.Part] = [table]
    if any(remedy.clipped for remedy in remedies):
        parts.append(doc.Paragraph(_clipping(remedies), "soft"))
    if any(remedy.records_missing for remedy in remedies):
        beyond = f"More records than these {report.input.rows_judged} need more than this table."
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
    audit = report.audit
    if audit is None:
        return
    meaning = " (0 is no evidence, not privacy)" if audit.epsilon == 0 else ""
    text = (
        f"{capitalised(named(report, audit.row))}, {audit.rounds} rounds: "
        f"epsilon >= {audit.epsilon:.3g}{meaning} at delta = {audit.delta:g} with "
        f"{100 * audit.confidence:g}\u00a0% confidence ({audit.method}). "
        f"The most that so many rounds can certify is {audit.max_certifiable:.3g}."
    )
    yield doc.Section("Audit of the simulated game", [doc.Paragraph(text)])


def _read(report: Content) -> doc.Section:
    """Write how the file was read, and which part of it is judged."""
    seen = report.input
    judged = (
        f"{seen.name} holds {counted(seen.rows, 'record')} in {counted(seen.columns, 'column')}; "
        f"{counted(seen.rows_judged, 'record')} in {counted(len(seen.columns_judged), 'column')} "
        "are judged."
    )
    said = [doc.Paragraph(judged)]
    if seen.notes:
        said.append(doc.Paragraph(f"How it was read: {'; '.join(seen.notes)}."))
    for rows in seen.rows_left_out:
        shown = listed([str(row) for row in rows.first], count=rows.count)
        many = counted(rows.count, "record") + (" is" if rows.count == 1 else " are")
        which = "record" if rows.count == 1 else "records"
        cells = [f"{name} in {count}" for name, count in rows.columns.items()]
        where = f": {listed(cells)}" if cells else ""
        said.append(doc.Paragraph(f"{many} left out: {rows.reason} ({which} {shown}){where}."))
    said += [doc.Paragraph(text) for text in _columns_left_out(seen)]
    origin = [
        ("sha256", seen.sha256),
        ("made by", f"leakscore {leakscore.__version__}, seed {report.seed}"),
    ]
    return doc.Section("What was read", [*said, doc.Definitions(origin)])


def _columns_left_out(seen: ReportInput) -> Iterator[str]:
    """Name the excluded columns, by reason, and the options that include those of text."""
    names: dict[str, list[str]] = {}
    for column in seen.columns_left_out:
        names.setdefault(column.reason, []).append(column.name)
    for reason, of in names.items():
        yield f"{listed(of, len(of))} {'is' if len(of) == 1 else 'are'} left out: {reason}."
    if texts := texts_of(seen):
        yield (
            f"Of a column of text, {option('--proportions', visible(texts[-1]))} publishes the "
            f"share of each value, {option('--group-by', visible(texts[-1]))} the means by it."
        )


def _earlier_means(report: Content) -> Iterator[doc.Part]:
    """Write what was published before, and which means the report is about."""
    previous = report.previous
    if previous is None:
        return
    *before, now = previous.records_published
    new = previous.batches[-1].records
    batch = f"a mean of {new}, not of {now}" if new > 1 else "the record itself"
    yield doc.Paragraph(
        f"The mean of the first {', then '.join(map(str, before))} records was published before, "
        f"that of all {now} is published now. All numbers are those of all means together. Their "
        f"differences give away the mean of each batch: for a new record the release is {batch}. "
        "What the earlier means told cannot be taken back.",
        "lead",
    )


def _worst_old(report: Content) -> Iterator[doc.Card]:
    """Write what the earlier means leak, if that is worse than the basis of the verdict."""
    previous, index = report.previous, report.worst[0]
    if previous is None or previous.new[index]:
        return
    power = float(report.informed.power[index])
    who = named(report, int(report.rows[index]))
    how = f"shown by the attack {in_100(power)}, at 1\u00a0% false positives"
    if math.isinf(report.informed.leakage[index]):
        how = "given away"
    text = (
        f"{capitalised(who)} is {how}, by the earlier means: what they told cannot be taken back."
    )
    yield doc.Card("informed", "Worst old record", percent(power), "recognised, in theory", text)


def _batches(previous: Previous) -> doc.TextTable:
    """Count the identified records by batch, with the present mean alone for comparison."""
    batches = previous.batches
    ends = ["-".join(map(str, dict.fromkeys(batch.rows))) for batch in batches]
    ages = ["new" if batch.new else "old" for batch in batches]
    columns = {
        "records": map(", ".join, zip(ends, ages, strict=True)),
        "size": [str(batch.records) for batch in batches],
        **_above(batch.joint.above for batch in batches),
        "worst": [percent(batch.joint.worst_power) for batch in batches],
        "present\nmean alone": [percent(batch.alone.worst_power) for batch in batches],
    }
    caption = (
        "Batch by batch: records recognised with more than so much power from all means together, "
        "and the power against the worst one; for comparison, the worst from the present mean alone"
    )
    return doc.TextTable.of(columns, caption, page_only=["size"])
