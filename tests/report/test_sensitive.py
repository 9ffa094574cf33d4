"""What a report says of one value of a member, against the library and a refusal for the rest."""

from __future__ import annotations

import numpy as np
import pytest

import leakscore_app
from leakscore import Reference, leakage, statistics, tradeoff


def table(rows: int = 300) -> np.ndarray:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(rows, 3))
    values[:, 1] += values[:, 0]
    values[:, 2] = rng.random(rows) < 0.3
    return values


def report(values: np.ndarray, sensitive: str, **options: object) -> leakscore_app.report.Report:
    named = leakscore_app.table_of(values, columns=["a", "b", "flag"])
    return leakscore_app.analyse(named, sensitive=sensitive, **{"rounds": 2000, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("statistic", [None, statistics.Sum()])
def test_numbers_of_a_column(statistic: statistics.Statistic | None) -> None:
    values = table()
    result = report(values, "b", statistic=statistic, max_advantage=0.05)
    value, reference = result.sensitive, Reference.fit(values)
    assert value is not None
    assert not value.categories
    slope, *_ = np.linalg.lstsq(
        np.column_stack([np.ones(300), values[:, [0, 2]]]), values[:, 1], rcond=None
    )
    predicted = np.column_stack([np.ones(300), values[:, [0, 2]]]) @ slope
    assert value.row == np.abs(values[:, 1] - predicted).argmax() + 1
    worst = values[value.row - 1]
    other = worst.copy()
    other[1] = predicted[value.row - 1]
    m = leakage.attribute_leakage(worst, other, reference, 300)
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
    expected = leakage.posterior_std(reference, 300, 1, noise_cov=covariance / units**2)
    assert value.open_with_noise == pytest.approx(expected, rel=1e-9)
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
    other = values[0].copy()
    other[2] = 1 - other[2]
    m = leakage.attribute_leakage(values[0], other, Reference.fit(values), 300)
    assert value.leakage == pytest.approx(m, rel=1e-9)
    assert value.right.theory == pytest.approx(tradeoff.gaussian(leakage=m).bayes(share))
    assert abs(value.right.z) < 4.5


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
