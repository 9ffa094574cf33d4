"""Who is in a pool whose allele frequencies are published? On real genotypes of 1000 Genomes.

The oldest membership attack: Homer et al., PLoS Genetics 4 (2008). People are split at random into
a pool of 100, whose allele frequencies at d common variants are released, 300 references, from
which the attacker estimates the population, and outsiders. The attacker scores everybody in the
pool and every outsider by Homer's distance; by the exact likelihood ratio of independent variants
(Sankararaman et al., Nature Genetics 41, 2009); and by the covariance score, whose covariance of d
x d numbers is held as the 300 reference rows.

The likelihood ratio represents the attacks that take variants for independent: it is the exact one
if they are. The covariance score with the variances only is its Gaussian limit. Its AUC is the same
to about 0.002, and as the score is linear in the release, this AUC can be computed beforehand.

What is checked. Given the references, the pool is a random 100 of the other people, so the mean AUC
of a linear score is known (`_pool.expected_auc`) for any law of the genotypes, and the measured AUC
must agree with it. On the frequencies of 100 references, none of them a target, the AUC of every
attack must be 1/2. The likelihood ratio must be significantly above Homer's distance, and the
covariance score above both. Standard errors are over random splits of these people; they do not
extend to other people or other variants.

What is reported, not checked: Gaussian theory with the leakage score m. With the population's
covariance the mean of m is d/n; an estimate of d^2 correlations from 300 people does not attain it.
For attacks that take variants for independent, theory needs only the correlations r: d variants
count as d_eff = d^2 / (sum of r^2) independent ones, m = d_eff/n. So 7,000 variants give these
attacks hardly more than 1,000. With one threshold for all targets the references' errors count in
full, and m/(1 + n/n0) remains. The AUC is then about 0.01 too low: few directions (ancestry, long
blocks) carry the noise, so it differs from release to release, which costs less than its mean. The
exact law of that noise (`_pool.Linkage.auc`) closes the gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import Reference
from leakscore.audit import Audit
from leakscore.leakage import effective_leakage
from leakscore.scores import covariance_score, genotype_llr, homer_distance
from leakscore.tradeoff import gaussian
from reproduce import _vcf
from reproduce._outcome import SEEN, Above, Outcome, Row, standard_error, student
from reproduce._pool import Linkage, expected_auc
from reproduce.azize import deviations

__all__ = ["draw", "reproduce"]

Doubles = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int8]

POOL, REFERENCES, OUTSIDERS = 100, 300, 20  # outsiders: at least; all others are
SIZES = (200, 1000, 7000)
CHOICES = 3  # of as many variants, none of them in two, where there are enough
RARE = 0.05

HOMER, RATIO, DIAGONAL, COVARIANCE = "Homer", "likelihood ratio", "diagonal", "covariance"
ATTACKS = {
    HOMER: ("Homer's distance", "C2"),
    RATIO: ("likelihood ratio of independent variants", "C0"),
    DIAGONAL: ("covariance score, variances alone", "C9"),
    COVARIANCE: ("covariance score", "C3"),
}
LINEAR = (DIAGONAL, COVARIANCE)
TITLE = (
    f"Allele frequencies of a pool of {POOL} people, {REFERENCES} references: real genotypes "
    "against three attacks"
)


@dataclass(frozen=True)
class Common:
    """Allele counts of people at common variants, and what was left out."""

    counts: Counts  # (people, variants)
    notes: tuple[str, ...]

    def choice(self, size: int, which: int) -> Counts:
        """Return `size` variants, evenly spread; different `which` give different variants."""
        total = self.counts.shape[1]
        places = np.arange(size) + which / self.choices(size)
        return np.ascontiguousarray(self.counts[:, (places * total / size).astype(np.intp)])

    def choices(self, size: int) -> int:
        """Return how many choices there are that share no variant."""
        return min(CHOICES, int(self.counts.shape[1]) // size)


@dataclass(frozen=True)
class Split:
    """One random split of the people at one choice of variants: scores and expected AUCs."""

    scores: dict[str, Doubles]  # (2, targets): of the pool, and of as many references
    expected: dict[str, float]

    def audit(self, attack: str, release: int = 0) -> Audit:
        """Return the attack's scores on the pool's release (0), or on one without targets (1)."""
        scores = self.scores[attack][release]
        return Audit(scores[:POOL], scores[POOL:])


def load(paths: Sequence[Path]) -> Common:
    """Read the people of one file or two; keep common variants without missing genotypes."""
    tables = [_vcf.read(path) for path in paths]
    table = tables[0] if len(tables) == 1 else _vcf.merge(*tables)
    people, most = len(table.people), max(len(each.variants) for each in tables)
    if people < POOL + REFERENCES + OUTSIDERS:
        raise ValueError(
            f"There must be at least {POOL + REFERENCES + OUTSIDERS} people in "
            f"{' and '.join(map(str, paths))}, not {people}"
        )
    complete = (table.counts != _vcf.MISSING).all(axis=0)
    copies = table.counts.sum(axis=0, dtype=np.int64)
    common = complete & (np.minimum(copies, 2 * people - copies) > RARE * 2 * people)
    if common.sum() < SIZES[0]:
        raise ValueError(
            f"There must be at least {SIZES[0]} variants with a minor allele frequency above "
            f"{RARE:g} in {' and '.join(map(str, paths))}, not {common.sum()}"
        )
    left_out = {
        "without exactly one alternate allele": table.skipped,
        "in one file only": most - len(table.variants),
        "with missing genotypes": int((~complete).sum()),
    }
    said = "".join(f", {count:,} {why}" for why, count in left_out.items() if count)
    return Common(
        np.ascontiguousarray(table.counts[:, common]),
        (
            f"{people} people, {people - POOL - REFERENCES} of them outsiders. Of "
            f"{len(table.variants):,} variants {common.sum():,} have a minor allele frequency "
            f"above {RARE:.0%}.",
            *([f"Left out{said}."] if said else []),
        ),
    )


def play(counts: Counts, order: npt.NDArray[np.intp]) -> Split:
    """Release the frequencies of the first people of an order; attack them and the outsiders."""
    references = counts[order[POOL : POOL + REFERENCES]]
    targets = counts[np.delete(order, slice(POOL, POOL + REFERENCES))]
    releases = np.stack([targets[:POOL].mean(axis=0), references[:POOL].mean(axis=0)])
    p = references.mean(axis=0) / 2
    known = {
        DIAGONAL: Reference.fit(references, cov="diagonal"),
        COVARIANCE: Reference.fit(references, cov="low-rank"),
    }
    scores = {
        HOMER: homer_distance(releases / 2, targets / 2, p),
        RATIO: genotype_llr(releases / 2, targets, p, POOL),
    }
    expected = {}
    for name, reference in known.items():
        scores[name] = covariance_score(releases, targets, reference, POOL)
        away = targets - reference.mean
        expected[name] = expected_auc(reference.inner(away, away), POOL)
    return Split(scores, expected)


def reproduce(*, data: Sequence[Path], rounds: int = 20, seed: int = 1) -> Outcome:
    """Split the people `rounds` times, attack every pool and compare with the theory."""
    common = load(data)
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(len(common.counts)) for _ in range(rounds)]
    games: dict[int, list[list[Split]]] = {}  # by size, split and choice of variants
    for size in SIZES:
        choices = [common.choice(size, which) for which in range(common.choices(size))]
        if choices:
            games[size] = [[play(counts, order) for counts in choices] for order in orders]
    rows = tuple(row for size, splits in games.items() for row in compare(size, splits))
    notes = (*common.notes, *summary(games), *theory(common, list(games)))
    return Outcome(TITLE, rounds, seed, rows, {"games": games}, notes, "splits")


def compare(size: int, splits: list[list[Split]]) -> list[Row]:
    """Compare measured AUCs with their theory, and with each other, split by split."""
    measured = {attack: aucs(splits, attack) for attack in ATTACKS}
    first = splits[0][0].audit(COVARIANCE)
    pairs = first.n_members * first.n_nonmembers
    rows: list[Row] = []
    for attack in LINEAR:
        expected = np.array([[each.expected[attack] for each in split] for split in splits])
        name = f"{size}: AUC, {attack}"
        rows.append(agreement_row(name, measured[attack], expected.mean(axis=1), pairs))
    for attack in (HOMER, RATIO, COVARIANCE):
        absent = aucs(splits, attack, release=1)
        name = f"{size}: no target in the pool, {attack}"
        rows.append(agreement_row(name, absent, np.array(0.5), pairs))
    for better, worse in ((RATIO, HOMER), (COVARIANCE, RATIO)):
        above, below = measured[better], measured[worse]
        least = SEEN * standard_error(above - below)
        name = f"{size}: {better} > {worse}"
        rows.append(Above(name, float(above.mean()), float(below.mean()), least))
    return rows


def aucs(splits: list[list[Split]], attack: str, release: int = 0) -> Doubles:
    """Return the AUC in each split, the mean over the choices of variants."""
    values = [[each.audit(attack, release).auc() for each in split] for split in splits]
    return np.asarray(np.mean(values, axis=1))


def agreement_row(name: str, measured: Doubles, theory: Doubles, pairs: int) -> Row:
    """Compare means over splits: Student's quantile at the level of 4 normal standard errors.

    The error is at least that of as many independent pairs of a member and an outsider.
    """
    expected = float(theory.mean())
    least = np.sqrt(expected * (1 - expected) / (measured.size * pairs))
    allowed = student(measured.size) * max(standard_error(measured - theory), float(least))
    return Row(name, float(measured.mean()), expected, allowed)


# --- what is told beside it -----------------------------------------------------------------------


def summary(games: dict[int, list[list[Split]]]) -> list[str]:
    """Return the AUC of every attack at every size."""
    lines = [_line("AUC +- its standard error; variants:", (f"{size:,}" for size in games))]
    for attack, (label, _) in ATTACKS.items():
        values = [aucs(splits, attack) for splits in games.values()]
        cells = (f"{value.mean():.3f} +- {standard_error(value):.3f}" for value in values)
        lines.append(_line(f"  {label}", cells))
    return lines


def theory(common: Common, sizes: list[int]) -> list[str]:
    """Return the Gaussian theory of a population of which these people are a sample."""
    linkages = [Linkage.of(common.choice(size, 0)) for size in sizes]
    worth = np.array([linkage.effective_number for linkage in linkages])
    left = [
        effective_leakage(d, POOL, max(1, round(d)), n_reference=REFERENCES, redrawn=True)
        for d in worth
    ]
    exact = [linkage.auc(POOL, REFERENCES) for linkage in linkages]
    return [
        "Theory, AUC = Phi(sqrt(m/2)), not checked:",
        _line("  known covariance, m = d/n", map(_auc, np.array(sizes) / POOL)),
        _line("  variants taken for independent: d_eff", (f"{d:.0f}" for d in worth)),
        _line("    known frequencies, m = d_eff/n", map(_auc, worth / POOL)),
        _line("    references' frequencies, m/(1 + n/n0)", map(_auc, left)),
        _line("    the same, exact law of the noise", (f"{auc:.3f}" for auc in exact)),
    ]


def _line(name: str, cells: Any) -> str:
    return f"{name:42s}" + "".join(f"{cell:>16s}" for cell in cells)


def _auc(m: float) -> str:
    return f"{gaussian(leakage=float(m)).auc():.3f}"


# --- the figure -----------------------------------------------------------------------------------


def draw(outcome: Outcome, path: Path) -> None:
    """Draw AUC against the number of variants, ROC curves, and the distances from theory."""
    from matplotlib.figure import Figure

    games = outcome.curves["games"]
    figure = Figure(figsize=(14, 4.8), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _aucs(left, games)
    _rocs(middle, max(games), games[max(games)])
    equal = tuple(row for row in outcome.rows if not isinstance(row, Above))
    deviations(right, replace(outcome, rows=equal))
    figure.suptitle(
        f"{outcome.title}\n{outcome.notes[0]} Means of {outcome.rounds} random splits", fontsize=11
    )
    figure.savefig(path, dpi=150)


def _aucs(axes: Any, games: dict[int, list[list[Split]]]) -> None:
    sizes = list(games)
    for attack, (label, colour) in ATTACKS.items():
        values = [aucs(splits, attack) for splits in games.values()]
        means = [value.mean() for value in values]
        errors = [standard_error(value) for value in values]
        faint = 0.5 if attack == DIAGONAL else 1.0
        axes.errorbar(
            sizes, means, errors, fmt="o-", ms=4, capsize=3, color=colour, alpha=faint, label=label
        )
    for attack in LINEAR:
        expected = [
            np.mean([each.expected[attack] for split in splits for each in split])
            for splits in games.values()
        ]
        axes.plot(sizes, expected, "x", color="black", ms=8, zorder=3)
    axes.plot([], [], "x", color="black", label="expected over the draw of the pool")
    axes.set(title="AUC, ± 1 standard error", xlabel="common variants", ylabel="AUC", xscale="log")
    axes.set_ylim(0.5, None)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.legend(fontsize=8, loc="lower right")


def _rocs(axes: Any, size: int, splits: list[list[Split]]) -> None:
    grid = np.geomspace(0.01, 1, 100)
    for attack, (label, colour) in ATTACKS.items():
        if attack != DIAGONAL:
            powers = [each.audit(attack).tpr_at(grid) for split in splits for each in split]
            axes.plot(grid, np.mean(powers, axis=0), color=colour, lw=1.5, label=label)
    axes.plot(grid, grid, color="0.6", lw=0.8, label="guessing")
    axes.set(xscale="log", yscale="log", xlim=(grid[0], 1), ylim=(grid[0], 1.05), aspect="equal")
    axes.set(xlabel="false positive rate", ylabel="true positive rate")
    axes.set(title=f"mean ROC curve, {size:,} variants")
    axes.legend(fontsize=8, loc="lower right")
