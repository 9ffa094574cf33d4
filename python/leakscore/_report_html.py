"""The report as one page: inline style, inline SVG, no script, nothing fetched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib import resources

from leakscore import _report_charts as charts
from leakscore import _report_words as words
from leakscore._report_model import LEVELS, Report

__all__ = ["render"]


def render(report: Report) -> str:
    """Return the page; it is well-formed XML too."""
    style = (resources.files("leakscore") / "data" / "report.css").read_text("utf-8")
    body = "".join(part for section in _SECTIONS for part in section(report))
    name = escape(report.input.name)
    return (
        '<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml"><head>'
        '<meta charset="utf-8"/><meta name="viewport" content="width=device-width, '
        'initial-scale=1"/><meta name="color-scheme" content="light"/>'
        f"<title>Leakage of a mean: {name}</title><style>{style}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def _section(title: str, content: Iterable[str]) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(content)}</section>"


def _paragraph(text: str, style: str = "") -> str:
    attribute = f' class="{style}"' if style else ""
    return f"<p{attribute}>{escape(text)}</p>"


def _table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str,
    first: str = "",
    words: Sequence[str] = (),
) -> str:
    """Lay out a table; cells are escaped, those that start with a tag are taken as they are.

    `first` is the style of the first row, `words` names the columns that hold no numbers.
    """
    styles = ("word" if cell in words else "number" if cell else "meter" for cell in header)
    head = "".join(
        f'<th scope="col" class="{style}">{escape(cell)}</th>'
        for cell, style in zip(header, styles, strict=True)
    )
    lines: list[str] = []
    for row in rows:
        style = f' class="{first}"' if first and not lines else ""
        cells = "".join(
            cell if cell.startswith("<td") else f"<td>{escape(cell)}</td>" for cell in row[1:]
        )
        lines.append(f'<tr{style}><th scope="row">{escape(row[0])}</th>{cells}</tr>')
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}">'
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _head(report: Report) -> Iterator[str]:
    release, columns = report.release, len(report.input.columns_judged)
    yield f'<header><p class="kicker">leakscore report: {escape(report.input.name)}</p>'
    yield f"<h1>The mean of {release.n} records in {words.counted(columns, 'column')}</h1>"
    yield _paragraph(words.headline(report), "lead")
    yield _paragraph(words.attackers(report), "lead")
    yield f'<div class="cards">{"".join(_cards(report))}</div>'
    yield f'<p class="plain">{escape(words.guarantee())}</p></header>'


def _cards(report: Report) -> Iterator[str]:
    index, row = report.worst[0], report.counts[0].worst_row
    told = words.recognised(report.informed, index, row)
    game = next((g for g in report.games if g.row == row and g.attacker == "informed"), None)
    played = "" if game is None else f" Simulated game: {words.plus_minus(game.power, 1000)}."
    yield _card(
        "informed", "Worst record, informed attacker", report.informed.power[index], told + played
    )
    yield _card(
        "weaker",
        "Same record, weaker attacker",
        report.weaker.power[index],
        "He wrongly flags 10 of 1000 without it, too; he does not know how the columns "
        "vary together.",
    )
    counts = report.counts[0]
    yield _card(
        "",
        "Median record, informed attacker",
        counts.median_power,
        f"{counts.above['50%']} of {counts.records} records are recognised more often than "
        "not; 10 of 1000 would be guessing.",
    )


def _card(style: str, title: str, power: float, text: str) -> str:
    return (
        f'<div class="card {style}"><h2>{escape(title)}</h2><p class="big">'
        f"{words.thousand(power)} <small>of 1000 recognised</small></p>{_paragraph(text)}</div>"
    )


def _records(report: Report) -> Iterator[str]:
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
    yield _section(
        "How many records are recognised",
        (
            _table([*header, "median", "worst"], rows, caption=f"Of {size} records"),
            '<div class="pair charts">',
            charts.leakages(report),
            charts.roc(report),
            "</div>",
        ),
    )


def _worst(report: Report) -> Iterator[str]:
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
    yield _section(
        "The worst records",
        (
            _table(header, rows, caption="Rows are numbered from 1, as in the file"),
            _paragraph(words.worst_legend(report), "soft"),
        ),
    )


def _why(report: Report) -> Iterator[str]:
    yield '<div class="pair">'
    yield _section(
        "Which columns drive the worst record",
        (
            charts.drivers(report),
            _paragraph(words.shares_legend(), "soft"),
            _paragraph(words.covariance(report), "soft"),
        ),
    )
    game = next(game for game in report.games if game.attacker == "informed")
    yield _section("What the attacker sees", (charts.ratios(game),))
    yield "</div>"


def _games(report: Report) -> Iterator[str]:
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
            f'<td class="word">{escape(words.attack(game))}</td>',
            words.percent(game.advantage.theory),
            f"{words.plus_minus(game.advantage, 100)}\u00a0%",
            words.thousand(game.power.theory),
            words.plus_minus(game.power, 1000),
            '<td class="flag">no</td>' if game.differs else "yes",
        ]
        for game in (*report.games, report.noise.game)
    )
    yield _section(
        "Theory beside the simulated game",
        (_table(header, rows, caption=words.games_legend(report), words=["Attacker"]),),
    )


def _remedies(report: Report) -> Iterator[str]:
    yield _section("Noise", (_paragraph(words.noise(report)), _noise_table(report)))
    now = report.counts[0]
    lines = [("as it is", "-", now.worst_row, now.worst_power, now.above)]
    lines += [(r.what, r.cost, r.worst_row, r.power, r.above) for r in report.remedies]
    rows = (
        [
            what,
            f'<td class="word">{escape(cost)}</td>',
            str(row),
            words.thousand(power),
            f'<td class="meter"><span style="width:{100 * power:.1f}%"></span></td>',
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
    yield _section(
        "Cheaper remedies, scored again",
        (
            _table(
                header,
                rows,
                first="now",
                words=["Cost"],
                caption="Worst record: of 1000 tables with it, how many the informed attacker "
                "recognises; then how many records are above 50\u00a0% and 10\u00a0% power",
            ),
            _paragraph(words.clipping(report), "soft"),
        ),
    )


def _noise_table(report: Report) -> str:
    if report.noise.standard_errors == 0:
        return ""
    rows = ([name, f"{std:.4g}"] for name, std in report.noise.noise_std.items())
    table = _table(
        ["Column", "Noise"], rows, caption="Standard deviation of the noise, in the column's units"
    )
    return f"<details><summary>Noise of every column</summary>{table}</details>"


def _audit(report: Report) -> Iterator[str]:
    if report.audit is not None:
        yield _section("Audit of the simulated game", (_paragraph(words.audit(report)),))


def _notices(report: Report) -> Iterator[str]:
    items = "".join(
        f'<li class="{notice.level}">{escape(notice.message)}</li>' for notice in report.warnings
    )
    yield _section("To know", (f'<ul class="notices">{items}</ul>',))


def _input(report: Report) -> Iterator[str]:
    items = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in words.read(report)
    )
    yield _section("What was read", (f"<dl>{items}</dl>",))


_SECTIONS = (_head, _records, _worst, _why, _games, _remedies, _audit, _notices, _input)
