"""How a report tells of noise: what to draw, what confirms it, what it does not promise."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_FLOOR
from math import floor

from leakscore_app._visible import capitalised, listed
from leakscore_app.document import document as doc
from leakscore_app.report._model import Compared, Content, Noise, RevealedNoise, Verdict
from leakscore_app.report._verdict import (
    PUBLISH,
    in_digits,
    kind_of_number,
    limited,
    named,
    number,
    percent,
    plus_minus,
    several,
    to_publish,
)

_NOISY_COLUMNS = 40  # that a text lists


def noise_section(report: Content) -> doc.Section:
    """Return the section on noise."""
    noise, earlier = report.noise, report.previous is not None
    if noise is None:
        none = (
            "A batch of one is no mean: no noise is computed. "
            f"{'; '.join(capitalised(remedy.what) for remedy in report.remedies)}."
        )
        return doc.Section("Noise", [doc.Paragraph(none)])
    if noise.standard_errors == 0:
        every = "every new record, whatever is subtracted" if earlier else "every record"
        none = f"No noise is needed for {limited(noise.budget)} of {every}."
        return doc.Section("Noise", [doc.Paragraph(none)])
    paragraphs = [doc.Paragraph(text) for text in _paragraphs(report, noise)]
    paragraphs += [doc.Paragraph(text) for text in _followed(report)]
    return doc.Section("Noise", [*paragraphs, _columns(noise, report.release.statistic)])


def _followed(report: Content) -> Iterator[str]:
    """Tell that what follows from noisy numbers has no noise of its own."""
    if report.release.statistic != "mean" or report.input.dependent_columns:
        yield (
            "Every other published number that follows from these, as the last of several counts "
            "that add up, must be computed from the noisy ones: published as it is, it takes noise "
            "off again."
        )


def _columns(noise: Noise, statistic: str) -> doc.Variant:
    """List the noise on every number, in its units; in standard errors, too, where they differ."""
    names, errors, unit = list(noise.noise_std), noise.column_standard_errors, ""
    columns = {"column": names, "noise": [in_digits(noise.noise_std[name], 4) for name in names]}
    if errors:
        columns["standard errors"] = [in_digits(errors[name]) for name in names]
        unit = " (in standard errors of the mean)"
    of_column = "the column's units" if statistic == "mean" else "the units of what is published"
    table = doc.TextTable.of(columns, f"Standard deviation of the noise, in {of_column}")
    return _in_words(table, f"Its standard deviation, in {of_column}{unit}", "--html, --json")


def _in_words(table: doc.TextTable, what: str, option: str) -> doc.Variant:
    """Let a text list the rows of a table; of very many, an option has the rest."""
    cells = [[str(cell) for cell in row] for row in table.rows]
    items = [" ".join([*row[:2], *(f"({error})" for error in row[2:])]) for row in cells]
    rest = f" ({option})" if len(items) > _NOISY_COLUMNS else ""
    return doc.Variant(table, f"{what}: {listed(items, _NOISY_COLUMNS, '; ')}{rest}.")


def _paragraphs(report: Content, noise: Noise) -> Iterator[str]:
    """Tell what noise the theory asks for, what the game confirms, and what else must be said."""
    every, earlier = "record", ""
    if report.previous is not None:
        every = "new record, whatever is subtracted"
        earlier = " What the earlier means told cannot be taken back."
    yield (
        f"For {limited(noise.budget)} of every {every}, {_recommendation(report, noise)} "
        f"{_confirmed(noise)} {_worst(report, noise)} This bounds what the informed attacker "
        "learns of these records; a guarantee of differential privacy needs bounded records."
        f"{earlier}"
    )
    if hidden := dict.fromkeys(record.column for record in report.arithmetic.records):
        yield (
            f"On the sum, it is at least a step of the other records in "
            f"{', '.join([*hidden][:_NOISY_COLUMNS])}: that hides what arithmetic tells."
        )
    if noise.why_same:
        yield f"The noise is the same in every column: {noise.why_same}."
    if noise.shape == "optimal":
        yield _how_to_draw(noise)
        yield _not_promised(report, noise)
    elif noise.shape == "independent":
        yield f"{_least('independent noise', noise)}{_SECRET}"
    # Without noise in theory no shape takes any, and of one column all shapes are the same.
    several_columns = len(noise.noise_std) > 1
    if noise.beside is not None and noise.theory_standard_errors > 0 and several_columns:
        yield _other_shapes(noise.beside)


def _recommendation(report: Content, noise: Noise) -> str:
    size = in_digits(noise.standard_errors)
    if noise.shape == "same" and kind_of_number(report) != "mean":
        return f"add Gaussian noise of {size} of its standard errors to each published number."
    if noise.shape == "same" or len(noise.noise_std) == 1:
        return f"add Gaussian noise of {size} standard errors of the mean to each column."
    kind = {
        "optimal": "of the shape that costs least, correlated between columns",
        "independent": "independent between columns",
    }[noise.shape]
    return (
        f"add Gaussian noise {kind}: {size} standard errors of the mean, root mean square over the "
        "columns."
    )


def _confirmed(noise: Noise) -> str:
    required, offered = in_digits(noise.theory_standard_errors), in_digits(noise.standard_errors)
    if not noise.confirmed:
        return f"The theory asks for {required}; the simulated game did not confirm {offered}."
    if noise.standard_errors == noise.theory_standard_errors:
        return "The theory asks for it, and the simulated game confirms it."
    return f"The theory asks for {required}; the simulated game confirms {offered}."


def _worst(report: Content, noise: Noise) -> str:
    game = noise.game
    played: Compared = game.power if "max_power" in noise.budget else game.advantage
    upper = 1.0 if played.upper is None else played.upper
    return (
        f"{capitalised(named(report, noise.binding_row))} is then the worst: leakage "
        f"{number(noise.leakage)}, advantage {percent(noise.advantage)} (game "
        f"{plus_minus(game.advantage)}), power {percent(noise.power)} (game "
        f"{plus_minus(game.power)}); the game's upper end is {percent(upper)}."
    )


def _how_to_draw(noise: Noise) -> str:
    return (
        "Draw it once, with numpy.random.default_rng().multivariate_normal(means, covariance): the "
        f"matrix is noise.covariance of --json. The mean of repeated draws has less noise. "
        f"{_least('noise', noise)}"
    ).rstrip()


def _least(what: str, noise: Noise) -> str:
    """Say what share of the variance any noise must have, less rather than more; or nothing."""
    share = floor(1000 * (1 - (noise.gap or 0.0))) / 10
    if share == 0:
        return ""
    return (
        f"No other {what} is within the limit in theory with less than {share:.1f}\u00a0% of this "
        "variance, in squared standard errors. "
    )


_SECRET = (
    "The noise is computed from these records, and whoever sees how much there is learns of them. "
    "The limit holds for an attacker who is not told, or if the noise is computed from another "
    "table (an earlier, a public or a simulated one)."
)


def _not_promised(report: Content, noise: Noise) -> str:
    shown, measured = noise.told, " How much it tells of the worst record was not computed."
    if shown is not None:
        measured = (
            f" Whoever is told the matrix can compare: under the matrix of this table the leakage "
            f"of {named(report, shown.row)} is {number(shown.leakage)}, under that of the table "
            f"without it {number(shown.leakage_without)} (advantage "
            f"{percent(shown.advantage_without)}, power {percent(shown.power_without)})."
        )
        measured += _played(shown)
    return (
        "Keep the matrix to yourself: it is computed from these records, and whoever sees it "
        "learns of them. The limit holds for an attacker who is not told the matrix, or if the "
        "matrix is computed from another table (an earlier, a public or a simulated one)."
        f"{measured} The noise protects the records in this table, not everyone who might be in "
        f"it{_radius(noise)}. It is no differential privacy."
    )


_CERTAIN = (
    "Whoever knows all other records computes the matrix with the record and without it: if the "
    "matrix is published exactly, this attacker is certain, whatever the noise."
)


def _played(revealed: RevealedNoise) -> str:
    """Tell both games: with a matrix that is public, and with that of each table."""
    error = max(100 * revealed.public_std_error, 0.1)
    public = f"{100 * revealed.public:.1f}\u00a0±\u00a0{error:.1f}\u00a0%"
    if revealed.anew is None:
        return (
            f" In the game with one public matrix the advantage is {public}; of the game in which "
            f"each table has its own: {revealed.why_not_played}. {_CERTAIN}"
        )
    game = revealed.anew
    return (
        " Played: with one public matrix, which does not depend on the table, the advantage is "
        f"{public}; with a matrix computed anew from each of {game.tables} tables and given to an "
        "attacker who knows the population only, an attack on matrix and mean has "
        f"{100 * game.advantage:.0f}\u00a0±\u00a0{max(100 * game.std_error, 1):.0f}\u00a0%, and "
        f"another may have more. {_CERTAIN}"
    )


def _radius(noise: Noise) -> str:
    if noise.protected_radius is None:
        return ""
    radius = in_digits(noise.protected_radius, way=ROUND_FLOOR)
    return f": beyond the table, whoever is within a Mahalanobis distance of {radius} of the mean"


def numbers_to_publish(report: Content, verdict: Verdict) -> Iterator[doc.Section]:
    """List the numbers to publish; a text of very many names the file that has them all."""
    numbers, noisy = to_publish(report, verdict), verdict.decision != PUBLISH
    if numbers is None:
        return
    columns = {"name": numbers, "value": [f"{value:.10g}" for value in numbers.values()]}
    caption = "With one draw of the noise" if noisy else "Without noise"
    shown = _in_words(doc.TextTable.of(columns, caption), caption, "--csv")
    more = [_MATRIX + _INDEFINITE * noisy] if report.release.statistic == "covariance" else []
    more += [_ONE_DRAW] * noisy
    yield doc.Section("The numbers to publish", [shown, *map(doc.Paragraph, more)])


_MATRIX = (
    "a*b is the covariance of columns a and b, divided by n: it stands at both places of the "
    "symmetric matrix, and a*a is the variance of a."
)
_INDEFINITE = (
    " With noise a variance may be negative. Whatever is computed from these numbers, as the "
    "nearest matrix without negative eigenvalues, tells no more than they do."
)


_ONE_DRAW = (
    "Publish one draw only: the mean of several has less noise. If you gave --draw-noise a seed, "
    "whoever has it takes the noise off again, and the history of the shell keeps it: delete that "
    "line, and use the seed for no other release. Without a seed one is drawn and kept nowhere."
)


def _other_shapes(beside: dict[str, float]) -> str:
    return (
        "If the noise must be independent between columns, it takes "
        f"{several(beside['independent'])} in theory (--noise-shape independent), and the same in "
        f"every column {in_digits(beside['same'])} (--noise-shape same)."
    )
