"""Who is in a pool: on simulated genotypes, linked as real ones, and on real ones if present."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

import reproduce
from leakscore import Reference
from reproduce import _data, genotypes
from reproduce.__main__ import main
from reproduce._outcome import Above, student
from reproduce._pool import Linkage, expected_auc
from tests.helpers.linked import linked, write

PEOPLE, VARIANTS = 430, 450


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    return linked(PEOPLE, VARIANTS, 1)


@pytest.fixture(scope="module")
def folder(counts: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package's files, plain text under the names of compressed ones."""
    folder = tmp_path_factory.mktemp("genotypes")
    write(folder / "reference.vcf.gz", counts[:300], 0, True)
    write(folder / "unphased.vcf.gz", counts[300:], 300, False)
    return folder


# --- one split ------------------------------------------------------------------------------------


def test_scores_of_one_split(counts: np.ndarray) -> None:
    order = np.random.default_rng(5).permutation(PEOPLE)
    split = genotypes.play(counts[:, :60], order)
    pool, references, outsiders = np.split(counts[order, :60].astype(float), [100, 400])
    targets = np.concatenate([pool, outsiders])
    p = references.mean(axis=0) / 2
    fitted = Reference.fit(references, cov="low-rank")
    covariances = {
        genotypes.COVARIANCE: fitted.shrinkage * np.diag(np.var(references, axis=0))
        + (1 - fitted.shrinkage) * np.cov(references.T, ddof=0),
        genotypes.DIAGONAL: np.diag(np.var(references, axis=0)),
    }
    member = np.arange(len(targets)) < 100
    for release, people in enumerate((pool, references[:100])):
        x = people.mean(axis=0)
        expected = {genotypes.HOMER: (abs(targets / 2 - p) - abs(targets / 2 - x / 2)).sum(axis=1)}
        for name, covariance in covariances.items():
            away = targets - 2 * p
            weights = np.linalg.solve(covariance, away.T).T
            expected[name] = weights @ (x - 2 * p) - (weights * away).sum(axis=1) / 200
        k = np.rint(200 * x / 2)  # copies in the pool: the binomial laws with and without a target
        ratio = stats.binom.logpmf(k - targets, 198, p) - stats.binom.logpmf(k, 200, p)
        expected[genotypes.RATIO] = ratio.sum(axis=1)
        assert set(expected) == set(genotypes.ATTACKS)
        for name, scores in expected.items():
            np.testing.assert_allclose(split.scores[name][release], scores, rtol=1e-8, atol=1e-8)
            auc = split.audit(name, release).auc()
            assert auc == pytest.approx(roc_auc_score(member, scores), abs=1e-12)
            u = stats.mannwhitneyu(scores[member], scores[~member]).statistic
            assert auc == pytest.approx(u / (100 * 30), abs=1e-12)


def test_choices_of_variants_share_none(counts: np.ndarray) -> None:
    marked = np.arange(VARIANTS, dtype=np.int64)[np.newaxis]
    common = genotypes.Common(marked, ())
    for size, choices in ((100, 3), (200, 2), (449, 1), (450, 1), (451, 0)):
        assert common.choices(size) == choices
        chosen = np.concatenate([common.choice(size, i)[0] for i in range(choices)] or [[]])
        assert len(set(chosen.tolist())) == choices * size
        if choices:
            assert chosen.min() >= 0
            assert np.diff(common.choice(size, 0)[0]).max() <= -(-VARIANTS // size)


def test_as_rare_as_four_standard_errors() -> None:
    for size in (2, 5, 20, 1000):
        expected = stats.t.isf(stats.norm.sf(4), size - 1)
        assert student(size) == pytest.approx(expected, rel=1e-8)


def test_errors_of_attacks_that_never_fail() -> None:
    """They have no spread; the tolerance is that of as many independent pairs."""
    theory = 1 - np.array([1e-10, 2e-10, 3e-10])
    agrees = genotypes.agreement_row
    row = agrees("a", np.ones(3), theory, 100)
    assert row.ok
    assert row.tolerance == pytest.approx(student(3) * np.sqrt(2e-10 / 300), rel=1e-5)
    assert not agrees("a", np.ones(3), theory - 1e-2, 10**6).ok


# --- the whole ------------------------------------------------------------------------------------


def test_the_command(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["genotypes", "--data", str(folder), "--rounds", "6", "--seed", "2"]
    assert main([*words, "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "6 splits, seed 2" in out
    assert f"{PEOPLE} people, 30 of them outsiders. Of {VARIANTS} variants" in out
    assert "Left out" not in out
    assert sum(line.endswith("  ok") for line in out.splitlines()) == 7
    assert (tmp_path / "genotypes.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_numbers_of_the_table(folder: Path) -> None:
    paths = _data.find("genotypes", folder)
    outcome = genotypes.reproduce(data=paths, rounds=12, seed=3)
    assert outcome.ok, outcome.table()
    splits = outcome.curves["games"][200]
    assert (len(splits), len(splits[0])) == (12, 2)
    rows = {row.name: row for row in outcome.rows}
    for attack in genotypes.LINEAR:
        expected = [np.mean([each.expected[attack] for each in split]) for split in splits]
        measured = [np.mean([each.audit(attack).auc() for each in split]) for split in splits]
        row = rows[f"200: AUC, {attack}"]
        error = stats.sem(np.subtract(measured, expected))
        assert (row.measured, row.theory) == pytest.approx((np.mean(measured), np.mean(expected)))
        assert row.tolerance == pytest.approx(error * stats.t.isf(stats.norm.sf(4), 11))
        assert row.measured > 0.7
    assert sum(isinstance(row, Above) for row in outcome.rows) == 2
    assert genotypes.reproduce(data=paths, rounds=12, seed=3).to_dict() == outcome.to_dict()


def test_people_of_one_file(counts: np.ndarray, folder: Path, tmp_path: Path) -> None:
    one = write(tmp_path / "all.vcf", counts, 0, True)
    given = [genotypes.load(_data.find("genotypes", path)) for path in (one, folder)]
    np.testing.assert_array_equal(given[0].counts, given[1].counts)


def test_a_law_that_is_wrong_is_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(genotypes, "expected_auc", lambda products, n: expected_auc(products, 50))
    stream = io.StringIO()
    assert not reproduce.run("genotypes", rounds=20, out=folder, data=folder, stream=stream)
    assert "of them do not" in stream.getvalue()


def test_what_is_left_out_is_told(counts: np.ndarray, tmp_path: Path) -> None:
    text = write(tmp_path / "all.vcf", counts, 0, True).read_text().splitlines()
    text[7] = text[7].replace("0|0", ".|.", 1)
    text[9] = text[9].replace("\tA\tT\t", "\tA\tT,G\t")
    path = tmp_path / "less.vcf"
    path.write_text("\n".join(text))
    common = genotypes.load([path])
    whole = genotypes.load([tmp_path / "all.vcf"])
    assert common.counts.shape[1] == whole.counts.shape[1] - 2
    assert common.notes[1] == (
        "Left out, 1 without exactly one alternate allele, 1 with missing genotypes."
    )


def test_common_variants_are_those_above_five_percent(tmp_path: Path) -> None:
    counts = linked(PEOPLE, 300, 8)
    counts[:, :50] = 0
    counts[:43, :50] = 1  # 43 of 860 alleles are exactly 5 %
    counts[43, 10] = 1
    counts[:, 20:30] = 2 - counts[:, 20:30]
    common = genotypes.load([write(tmp_path / "rare.vcf", counts, 0, False)])
    assert common.counts.shape[1] == 251


@pytest.mark.parametrize(("people", "variants", "said"), [(419, 300, "420 people"), (430, 199, "")])
def test_too_few(people: int, variants: int, said: str, tmp_path: Path) -> None:
    path = write(tmp_path / "few.vcf", linked(people, variants, 9), 0, True)
    said = said or "at least 200 variants with a minor allele frequency above 0.05 in .*few.vcf"
    with pytest.raises(ValueError, match=said):
        genotypes.load([path])


# --- the real data --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> genotypes.Common:
    try:
        return genotypes.load(_data.find("genotypes", None))
    except FileNotFoundError as error:
        pytest.skip(str(error))


def test_real_genotypes(real: genotypes.Common) -> None:
    assert real.counts.shape == (503, 7363)
    assert "Of 24,990 variants" in real.notes[0]
    assert len(real.notes) == 1
    numbers = [Linkage.of(real.choice(size, 0)).effective_number for size in genotypes.SIZES]
    assert numbers == pytest.approx([71, 86, 89.5], rel=0.03)


@pytest.mark.slow
def test_real_people_are_found(real: genotypes.Common) -> None:
    """The compared numbers come from an earlier program with other variants and splits.

    Its AUCs are as uncertain as ours: by the splits, and by the choice of the variants. And those
    of the likelihood ratio follow from the correlations of the variants.
    """
    outcome = genotypes.reproduce(data=_data.find("genotypes", None))
    assert outcome.ok, outcome.table()
    # The figures of the README, of the default seed.
    told = {200: (0.69, 0.71, 0.74), 1000: (0.71, 0.73, 0.81), 7000: (0.71, 0.73, 0.85)}
    earlier = {200: (0.676, 0.696, 0.742), 1000: (0.707, 0.724, 0.822)}
    attacks = (genotypes.HOMER, genotypes.RATIO, genotypes.COVARIANCE)
    for size, splits in outcome.curves["games"].items():
        means = [genotypes.aucs(splits, attack).mean() for attack in attacks]
        assert means == pytest.approx(told[size], abs=0.0051)
        for attack, value in zip(attacks, earlier.get(size, ()), strict=False):
            table = np.array([[each.audit(attack).auc() for each in split] for split in splits])
            by_split, by_choice = stats.sem(table.mean(axis=1)), table.mean(axis=0).std(ddof=1)
            allowed = 4 * np.hypot(np.sqrt(2) * by_split, np.sqrt(4 / 3) * by_choice)
            assert table.mean() == pytest.approx(value, abs=allowed)
        found = genotypes.aucs(splits, genotypes.RATIO)
        theory = Linkage.of(real.choice(size, 0)).auc(100, 300)
        assert found.mean() == pytest.approx(theory, abs=4 * stats.sem(found))
