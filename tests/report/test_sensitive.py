"""What a report says of one value of a member, against the library and a refusal for the rest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import leakscore_app
from leakscore import Reference, leakage, statistics, tradeoff


def table(rows: int = 300) -> np.ndarray:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(rows, 3))
    values[:, 1] += values[:, 0]
    values[:, 2] = rng.random(rows) < 0.3
    return values


def report(values: np.ndarray, sensitive: str, **options: object) -> leakscore_app.report.Report:
    named = leakscore_app.table_of(values, columns=["a", "b", "flag"][: values.shape[1]])
    return leakscore_app.analyse(named, sensitive=sensitive, **{"rounds": 2000, **options})  # type: ignore[arg-type]


def expected(values: np.ndarray, row: int) -> np.ndarray:
    """The record with the value that the other records' regression says."""
    others = np.delete(values, row, axis=0)
    rest = [j for j in range(values.shape[1]) if j != 1]
    design = np.column_stack([np.ones(len(others)), others[:, rest]])
    slope, *_ = np.linalg.lstsq(design, others[:, 1], rcond=None)
    record = values[row].copy()
    record[1] = slope[0] + record[rest] @ slope[1:]
    return record


def of_the_others(values: np.ndarray, row: int, other: np.ndarray) -> float:
    """The leakage by the covariance of the other records."""
    others = Reference.fit(np.delete(values, row, axis=0))
    return float(leakage.attribute_leakage(values[row], other, others, len(values)))


@pytest.mark.parametrize("statistic", [None, statistics.Sum()])
def test_numbers_of_a_column(statistic: statistics.Statistic | None) -> None:
    values = table()
    result = report(values, "b", statistic=statistic, max_advantage=0.05)
    value, reference = result.sensitive, Reference.fit(values)
    assert value is not None
    assert not value.categories
    told = [of_the_others(values, row, expected(values, row)) for row in range(300)]
    assert value.row == int(np.argmax(told)) + 1
    m = max(told)
    assert value.leakage == pytest.approx(m, rel=1e-9)
    assert value.right.theory == pytest.approx(tradeoff.gaussian(leakage=m).bayes(0.5))
    assert abs(value.right.z) < 4.5
    assert value.open_after == pytest.approx(value.open_before * np.sqrt(1 - 1 / 300), rel=1e-9)
    assert value.colluding_members == 299
    noise = result.noise
    assert noise is not None
    assert noise.standard_errors > 0
    units = 300.0 if statistic else 1.0
    covariance = (
        np.asarray(noise.covariance)
        if noise.covariance is not None
        else np.diag(np.square([noise.noise_std[name] for name in ["a", "b", "flag"]]))
    )
    after = leakage.posterior_std(reference, 300, 1, noise_cov=covariance / units**2)
    assert value.open_with_noise == pytest.approx(after, rel=1e-9)
    printed = " ".join(result.to_text().split())
    assert f"about record {value.row}:" in printed
    assert result.to_dict()["sensitive"]["row"] == value.row


def test_categories_of_a_column() -> None:
    values = table()
    value = report(values, "flag").sensitive
    assert value is not None
    assert value.categories
    share = values[:, 2].mean()
    assert value.prior == pytest.approx(max(share, 1 - share))
    flipped = values * [1, 1, -1] + [0, 0, 1]
    told = [of_the_others(values, row, flipped[row]) for row in range(300)]
    assert value.row == int(np.argmax(told)) + 1
    m = max(told)
    assert value.leakage == pytest.approx(m, rel=1e-9)
    assert value.right.theory == pytest.approx(tradeoff.gaussian(leakage=m).bayes(share))
    assert abs(value.right.z) < 4.5


def test_who_is_far_out_hides_behind_no_covariance_of_its_own() -> None:
    rng = np.random.default_rng(0)
    values = np.repeat(rng.normal(size=(60, 1)), 2, axis=1)
    values[:, 0] += 0.05 * rng.normal(size=60)
    values[7, 1] += 1.0  # off the line of all others
    value = report(values, "b").sensitive
    assert value is not None
    assert value.row == 8
    others, other = np.delete(values, 7, axis=0), expected(values, 7)
    weights = np.linalg.solve(np.cov(others.T), values[7] - other)
    sums = (others @ weights)[rng.integers(59, size=(20_000, 59))].sum(axis=1)
    middle = 59 * others.mean(axis=0) @ weights
    half = (values[7] - other) @ weights / 2
    right = ((sums > middle - half).mean() + (sums <= middle + half).mean()) / 2
    assert right > 0.85
    assert value.right.simulated == pytest.approx(right, abs=0.03)


def test_a_skewed_column_has_a_threshold_of_its_own() -> None:
    rng = np.random.default_rng(3)
    values = np.zeros((40, 1))
    values[:3] = rng.normal([[1.0], [8.0], [9.0]], 0.1)
    values[3:] = rng.normal(size=(37, 1)) * 0.1
    value = report(values, "a", max_advantage=0.99, rounds=20_000).sensitive
    assert value is not None
    person = value.row - 1
    others = np.delete(values[:, 0], person)
    shift = values[person, 0] - others.mean()
    draws = others[rng.integers(39, size=(2, 20_000, 39))].sum(axis=2)
    thresholds = np.quantile(draws, np.linspace(0, 1, 200))[:, None]
    power = (draws[0] + shift > thresholds).mean(axis=1) - (draws[0] > thresholds).mean(axis=1)
    best = thresholds[power.argmax()]  # of other rounds than those that judge
    right = 0.5 + ((draws[1] + shift > best).mean() - (draws[1] > best).mean()) / 2
    assert value.right.simulated > right - 0.02


@pytest.mark.parametrize("n", [5, 20, None])
def test_no_best_guess_is_worse_than_one_without_the_release(n: int | None) -> None:
    """Two of 60 hold a trait: sums hardly tell of it, and .93 was played beside a prior of .97."""
    values = table(60)[:, :1]
    values = np.column_stack([values, np.arange(60) < 2])
    value = report(values, "b", n=n).sensitive
    assert value is not None
    others = (n or 60) - 1  # drawn from 59 records of which one holds it
    without = binom.pmf(np.arange(others + 2), others, 1 / 59)
    holders = np.append(0.0, without[:-1])
    exact = np.maximum(58 / 60 * without, 2 / 60 * holders).sum()
    assert value.prior == pytest.approx(58 / 60)
    assert value.prior <= value.right.simulated < exact + 4.5 * value.right.std_error


def test_the_only_holder_of_a_trait_is_told_for_sure() -> None:
    values = table(60)
    values[:, 2] = np.arange(60) == 5
    value = report(values, "flag").sensitive
    assert value is not None
    assert (value.row, value.leakage, value.right.simulated) == (6, np.inf, 1.0)
    value = report(values, "b").sensitive
    assert value is not None
    assert np.isfinite(value.leakage)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sensitive": "income"}, "'income' must be published and judged"),
        ({"sensitive": "b", "columns": ["a", "flag"]}, "'b' must be published and judged"),
        ({"sensitive": "b", "previous": 100}, "without earlier means"),
        ({"sensitive": "b", "population": "finite", "n": 100}, "a sample of a larger population"),
        ({"sensitive": "b", "statistic": statistics.Covariance()}, "means, sums or shares"),
    ],
)
def test_what_has_no_answer_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        report(table(), **options)  # type: ignore[arg-type]
