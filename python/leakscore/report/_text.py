"""The report as aligned plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from leakscore._visible import visible
from leakscore.render.text import table, title, wrapped
from leakscore.report import _previous_words as earlier
from leakscore.report import _words as words
from leakscore.report._model import LEVELS, Content, Remedy

__all__ = ["render"]

_NOISY_COLUMNS = 5
_DRIVING_COLUMNS = 4
_LEVELS = LEVELS[:2]  # where both kinds of counts stand side by side


def render(report: Content, width: int = 80) -> str:
    """Lay the report out in lines of at most `width` characters where words allow it."""
    width = max(width, 60)
    sections = (
        _head,
        _counts,
        _worst,
        _previous,
        _drivers,
        _games,
        _noise,
        _remedies,
        _audit,
        _notices,
        _input,
    )
    blocks = ("\n".join(section(report, width)) for section in sections)
    text = "\n\n".join(block for block in blocks if block) + "\n"
    return text.replace("\u00a0", " ")


def _head(report: Content, width: int) -> Iterator[str]:
    yield from wrapped(words.headline(report), width)
    yield from wrapped(words.attackers(report), width)
    yield ""
    informed, weaker = report.counts
    index = report.worst[0]
    yield from wrapped(words.recognised(report.informed, index, informed.worst_row), width)
    simulated = [game for game in report.games if game.row == informed.worst_row]
    if simulated and simulated[0].attacker == "informed":
        game = simulated[0].power
        yield from wrapped(
            f"(In the simulated game {words.plus_minus(game, 1000)}; the weaker attacker "
            f"recognises {words.thousand(report.weaker.power[index])}.)",
            width,
        )
    yield from wrapped(
        f"The median record: {words.thousand(informed.median_power)} of 1000 (weaker attacker "
        f"{words.thousand(weaker.median_power)}); 10 would be guessing.",
        width,
    )
    if report.previous is not None:
        yield from wrapped(earlier.headline(report, report.previous), width)
    yield ""
    yield from wrapped(words.guarantee(), width)


def _counts(report: Content, width: int) -> Iterator[str]:
    yield title("HOW MANY RECORDS ARE RECOGNISED", width)
    size = report.counts[0].records
    header = ["power at 1 % false positives", *(f"> {100 * level:g} %" for level in LEVELS)]
    rows = [[*header, "median", "worst"]]
    for counts in report.counts:
        rows.append(
            [
                f"{counts.attacker} attacker",
                *(str(count) for count in counts.above.values()),
                words.percent(counts.median_power),
                words.percent(counts.worst_power),
            ]
        )
    yield from table(rows)
    yield f"  of {size} records"


def _worst(report: Content, width: int) -> Iterator[str]:
    yield title("THE WORST RECORDS", width)
    rows = [
        ["", "leakage", "leakage", "", "recognised", "weaker:", "flag true", "flag true"],
        ["row", "left out", "in sample", "advantage", "of 1000", "of 1000", "at n/N", "at 1 %"],
    ]
    informed, base = report.informed, report.informed.ppv_at_base_rate
    for i in report.worst:
        rows.append(
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
        )
    yield from table(rows)
    yield from wrapped(words.worst_legend(report), width, "  ")


def _previous(report: Content, width: int) -> Iterator[str]:
    previous = report.previous
    if previous is None:
        return
    yield title("WITH THE EARLIER MEANS", width)
    yield from wrapped(earlier.meaning(previous), width, "  ")
    header = [f"> {100 * level:g} %" for level in _LEVELS]
    rows = [["rows", "alone:", "", "worst", "jointly:", "", "worst"]]
    rows.append(["", *header, "of 1000", *header, "of 1000"])
    for batch in previous.batches:
        cells = [earlier.batch(batch)]
        for counts in (batch.alone, batch.joint):
            cells += [str(counts.above[f"{100 * level:g}%"]) for level in _LEVELS]
            cells.append(words.thousand(counts.worst_power))
        rows.append(cells)
    yield from table(rows)
    rows = [
        ["", "", "leakage", "leakage", "", "of 1000", "of 1000", "if"],
        ["row", "batch", "alone", "jointly", "advantage", "alone", "jointly", "Gaussian"],
    ]
    rows += [earlier.row_of_worst(report, previous, i) for i in earlier.rows_of(previous)]
    yield from table(rows)
    yield from wrapped(earlier.legend(), width, "  ")
    yield from wrapped(earlier.noise(report, previous), width, "  ")
    if previous.remedies:
        rows = [["what helps", "worst row", "of 1000", "> 50 %", "> 10 %"]]
        yield from table([*rows, *_remedy_rows(previous.remedies, rows[0], width)])
        yield from wrapped(earlier.helps(), width, "  ")


def _drivers(report: Content, width: int) -> Iterator[str]:
    yield title("WHICH COLUMNS DRIVE THEM", width)
    for drivers in report.drivers[:3]:
        shown = [
            f"{words.driver(one)} {100 * one.share:+.0f}\u00a0%"
            for one in drivers.columns[:_DRIVING_COLUMNS]
        ]
        yield from wrapped(
            f"{', '.join(shown)}", width, "           ", f"  {'row ' + str(drivers.row):8s} "
        )
    yield from wrapped(words.shares_legend(), width, "  ")
    yield from wrapped(words.covariance(report), width, "  ")


def _games(report: Content, width: int) -> Iterator[str]:
    yield title("THEORY BESIDE THE SIMULATED GAME", width)
    rows = [
        ["", "", "advantage, %", "", "of 1000 recognised", "", ""],
        ["row", "attacker", "theory", "game", "theory", "game", ""],
    ]
    for game in report.games:
        rows.append(
            [
                str(game.row),
                words.attack(game),
                f"{100 * game.advantage.theory:.1f}",
                words.plus_minus(game.advantage, 100),
                words.thousand(game.power.theory),
                words.plus_minus(game.power, 1000),
                "differs" if game.differs else "",
            ]
        )
    yield from table(rows, left=2)
    yield from wrapped(words.games_legend(report), width, "  ")


def _noise(report: Content, width: int) -> Iterator[str]:
    noise = report.noise
    yield title("NOISE", width)
    yield from wrapped(words.noise(report), width, "  ")
    if noise.standard_errors == 0:
        return
    stds = list(noise.noise_std.items())
    shown = "; ".join(f"{name} {std:.3g}" for name, std in stds[:_NOISY_COLUMNS])
    more = len(stds) - _NOISY_COLUMNS
    rest = f"; and {more} more (--json)" if more > 0 else ""
    yield from wrapped(f"Its standard deviation: {shown}{rest}.", width, "  ")


def _remedies(report: Content, width: int) -> Iterator[str]:
    yield title("CHEAPER REMEDIES, SCORED AGAIN", width)
    worst = report.counts[0]
    rows = [["the release", "worst row", "of 1000", "> 50 %", "> 10 %"]]
    rows.append(
        [
            "as it is",
            str(worst.worst_row),
            words.thousand(worst.worst_power),
            str(worst.above["50%"]),
            str(worst.above["10%"]),
        ]
    )
    yield from table([*rows, *_remedy_rows(report.remedies, rows[0], width)])
    yield from wrapped(words.clipping(report), width, "  ")
    beyond = [remedy for remedy in report.remedies if "than there are" in remedy.cost]
    if beyond:
        yield from wrapped(
            f"A mean of more than {report.input.rows_judged} records needs more than this table.",
            width,
            "  ",
        )


def _remedy_rows(
    remedies: Sequence[Remedy], header: Sequence[str], width: int
) -> Iterator[list[str]]:
    room = width - 2 - sum(len(cell) + 2 for cell in header[1:])
    for remedy in remedies:
        *lines, last = textwrap.wrap(visible(remedy.what), room, subsequent_indent="  ")
        for line in lines:
            yield [line, "", "", "", ""]
        yield [
            last,
            str(remedy.worst_row),
            words.thousand(remedy.power),
            str(remedy.above["50%"]),
            str(remedy.above["10%"]),
        ]


def _audit(report: Content, width: int) -> Iterator[str]:
    if report.audit is None:
        return
    yield title("AUDIT OF THE SIMULATED GAME", width)
    yield from wrapped(words.audit(report), width, "  ")


def _notices(report: Content, width: int) -> Iterator[str]:
    if not report.warnings:
        return
    yield title("TO KNOW", width)
    for notice in report.warnings:
        mark = "! " if notice.level == "warning" else "- "
        yield from wrapped(notice.message, width, "    ", f"  {mark}")


def _input(report: Content, width: int) -> Iterator[str]:
    yield title("WHAT WAS READ", width)
    for name, text in words.read(report):
        yield from wrapped(text, width, " " * 12, f"  {name:9s} ")
