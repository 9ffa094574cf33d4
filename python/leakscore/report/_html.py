"""The report as one page: inline style, inline SVG, no script, nothing fetched."""

from __future__ import annotations

from collections.abc import Iterator

from leakscore._visible import markup
from leakscore.render.html import (
    bar,
    card,
    cell,
    definitions,
    notices,
    page,
    paragraph,
    section,
    table,
)
from leakscore.render.text import counted
from leakscore.report import _charts as charts
from leakscore.report import _previous_words as earlier
from leakscore.report import _words as words
from leakscore.report._model import LEVELS, Content, Previous

__all__ = ["render"]


def render(report: Content) -> str:
    """Return the page; it is well-formed XML too."""
    body = "".join(part for section in _SECTIONS for part in section(report))
    return page(f"Leakage of a mean: {report.input.name}", body)


def _head(report: Content) -> Iterator[str]:
    release, columns = report.release, len(report.input.columns_judged)
    yield f'<header><p class="kicker">leakscore report: {markup(report.input.name)}</p>'
    yield f"<h1>The mean of {release.n} records in {counted(columns, 'column')}</h1>"
    yield paragraph(words.headline(report), "lead")
    yield paragraph(words.attackers(report), "lead")
    if report.previous is not None:
        yield paragraph(earlier.headline(report, report.previous), "lead")
    yield f'<div class="cards">{"".join(_cards(report))}</div>'
    yield f'<p class="plain">{markup(words.guarantee())}</p></header>'


def _cards(report: Content) -> Iterator[str]:
    index, row = report.worst[0], report.counts[0].worst_row
    told = words.recognised(report.informed, index, row)
    game = next((g for g in report.games if g.row == row and g.attacker == "informed"), None)
    played = "" if game is None else f" Simulated game: {words.plus_minus(game.power, 1000)}."
    yield _recognised(
        "informed", "Worst record, informed attacker", report.informed.power[index], told + played
    )
    yield _recognised(
        "weaker",
        "Same record, weaker attacker",
        report.weaker.power[index],
        "He wrongly flags 10 of 1000 without it, too; he does not know how the columns "
        "vary together.",
    )
    counts = report.counts[0]
    yield _recognised(
        "",
        "Median record, informed attacker",
        counts.median_power,
        f"{counts.above['50%']} of {counts.records} records are recognised more often than "
        "not; 10 of 1000 would be guessing.",
    )


def _recognised(style: str, title: str, power: float, text: str) -> str:
    return card(style, title, words.thousand(power), "of 1000 recognised", text)


def _records(report: Content) -> Iterator[str]:
    header = [
        "Power at 1\u00a0% false positives",
        *(f">\u00a0{100 * level:g}\u00a0%" for level in LEVELS),
    ]
    rows = (
        [
            f"{counts.attacker} attacker",
            *(str(count) for count in counts.above.values()),
            words.percent(counts.median_power),
            words.percent(counts.worst_power),
        ]
        for counts in report.counts
    )
    size = report.counts[0].records
    yield section(
        "How many records are recognised",
        (
            table([*header, "median", "worst"], rows, caption=f"Of {size} records"),
            '<div class="pair charts">',
            charts.leakages(report),
            charts.roc(report),
            "</div>",
        ),
    )


def _worst(report: Content) -> Iterator[str]:
    informed, base = report.informed, report.informed.ppv_at_base_rate
    header = [
        "Row",
        "Leakage, left out",
        "Leakage, in sample",
        "Advantage",
        "Recognised of 1000",
        "By the weaker, of 1000",
        "Flag true, at n/N",
        "Flag true, at 1\u00a0%",
    ]
    rows = (
        [
            str(report.rows[i]),
            words.number(informed.leakage[i]),
            words.number(report.in_sample[i]),
            words.percent(informed.advantage[i]),
            words.thousand(informed.power[i]),
            words.thousand(report.weaker.power[i]),
            "-" if base is None else words.percent(base[i]),
            words.percent(informed.ppv_at_low_prior[i]),
        ]
        for i in report.worst
    )
    yield section(
        "The worst records",
        (
            table(header, rows, caption="Rows are numbered from 1, as in the file"),
            paragraph(words.worst_legend(report), "soft"),
        ),
    )


def _previous(report: Content) -> Iterator[str]:
    previous = report.previous
    if previous is None:
        return
    worst = [
        "Row",
        "Batch",
        "Leakage, alone",
        "Leakage, jointly",
        "Advantage, jointly",
        "Of 1000, alone",
        "Of 1000, jointly",
        "If Gaussian",
    ]
    rows = (earlier.row_of_worst(report, previous, i) for i in earlier.rows_of(previous))
    yield section(
        "With the earlier means",
        (
            paragraph(earlier.meaning(previous)),
            _batches(previous),
            table(worst, rows, caption="The worst new records, then the worst old ones"),
            paragraph(earlier.legend(), "soft"),
            paragraph(earlier.noise(report, previous)),
            _helps(previous),
        ),
    )


def _above_levels() -> list[str]:
    return [f">\u00a0{100 * level:g}\u00a0%" for level in LEVELS]


def _batches(previous: Previous) -> str:
    header = ["Rows", "Records"]
    for how in ("alone", "jointly"):
        header += [f"{how} {level}" for level in _above_levels()]
        header.append(f"worst, {how}, of 1000")
    rows = []
    for batch in previous.batches:
        cells = [earlier.batch(batch), str(batch.records)]
        for counts in (batch.alone, batch.joint):
            cells += [str(count) for count in counts.above.values()]
            cells.append(words.thousand(counts.worst_power))
        rows.append(cells)
    caption = (
        "Records recognised from the present mean alone, and from all means jointly, with more "
        "than so much power at 1\u00a0% false positives"
    )
    return table(header, rows, caption=caption)


def _helps(previous: Previous) -> str:
    levels = _above_levels()
    header = ["What helps", "Cost", "Worst row", "Of 1000", levels[1], levels[0]]
    rows = [
        [
            r.what,
            cell("word", markup(r.cost)),
            str(r.worst_row),
            words.thousand(r.power),
            str(r.above["50%"]),
            str(r.above["10%"]),
        ]
        for r in previous.remedies
    ]
    return table(header, rows, words=["Cost"], caption=earlier.helps()) if rows else ""


def _why(report: Content) -> Iterator[str]:
    yield '<div class="pair">'
    yield section(
        "Which columns drive the worst record",
        (
            charts.drivers(report),
            paragraph(words.shares_legend(), "soft"),
            paragraph(words.covariance(report), "soft"),
        ),
    )
    game = next(game for game in report.games if game.attacker == "informed")
    yield section("What the attacker sees", (charts.ratios(game),))
    yield "</div>"


def _games(report: Content) -> Iterator[str]:
    header = [
        "Row",
        "Attacker",
        "Advantage, theory",
        "Advantage, game",
        "Of 1000, theory",
        "Of 1000, game",
        "Agree",
    ]
    rows = (
        [
            str(game.row),
            cell("word", markup(words.attack(game))),
            words.percent(game.advantage.theory),
            f"{words.plus_minus(game.advantage, 100)}\u00a0%",
            words.thousand(game.power.theory),
            words.plus_minus(game.power, 1000),
            cell("flag", "no") if game.differs else "yes",
        ]
        for game in (*report.games, report.noise.game)
    )
    yield section(
        "Theory beside the simulated game",
        (table(header, rows, caption=words.games_legend(report), words=["Attacker"]),),
    )


def _remedies(report: Content) -> Iterator[str]:
    yield section("Noise", (paragraph(words.noise(report)), _noise_table(report)))
    now = report.counts[0]
    lines = [("as it is", "-", now.worst_row, now.worst_power, now.above)]
    lines += [(r.what, r.cost, r.worst_row, r.power, r.above) for r in report.remedies]
    rows = (
        [
            what,
            cell("word", markup(cost)),
            str(row),
            words.thousand(power),
            cell("meter", bar(0, power)),
            str(above["50%"]),
            str(above["10%"]),
        ]
        for what, cost, row, power, above in lines
    )
    header = [
        "The release",
        "Cost",
        "Worst row",
        "Of 1000",
        "",
        ">\u00a050\u00a0%",
        ">\u00a010\u00a0%",
    ]
    yield section(
        "Cheaper remedies, scored again",
        (
            table(
                header,
                rows,
                first="now",
                words=["Cost"],
                caption="Worst record: of 1000 tables with it, how many the informed attacker "
                "recognises; then how many records are above 50\u00a0% and 10\u00a0% power",
            ),
            paragraph(words.clipping(report), "soft"),
        ),
    )


def _noise_table(report: Content) -> str:
    if report.noise.standard_errors == 0:
        return ""
    rows = ([name, f"{std:.4g}"] for name, std in report.noise.noise_std.items())
    noises = table(
        ["Column", "Noise"], rows, caption="Standard deviation of the noise, in the column's units"
    )
    return f"<details><summary>Noise of every column</summary>{noises}</details>"


def _audit(report: Content) -> Iterator[str]:
    if report.audit is not None:
        yield section("Audit of the simulated game", (paragraph(words.audit(report)),))


def _notices(report: Content) -> Iterator[str]:
    yield section("To know", (notices(report.warnings),))


def _input(report: Content) -> Iterator[str]:
    yield section("What was read", (definitions(words.read(report)),))


_SECTIONS = (_head, _records, _worst, _previous, _why, _games, _remedies, _audit, _notices, _input)
