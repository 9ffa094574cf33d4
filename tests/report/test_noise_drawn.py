"""The mean with one draw of the offered noise, and the radius within which all are protected."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from leakscore.statistics import Sum
from leakscore_app import report
from leakscore_app.cli import main
from tests.report.test_noise_shape import skewed

SEED = 73201948577610394857


def judged(**options: Any) -> report.Report:
    return report.analyse(report.table_of(skewed()), max_advantage=0.1, rounds=1000, **options)


def test_it_is_one_draw_of_the_law_that_is_offered() -> None:
    values, plain, result = skewed(), judged(), judged(draw_noise=SEED)
    np.testing.assert_array_equal(plain.noise.covariance, result.noise.covariance)
    assert plain.noise.noisy_mean is None
    expected = np.random.default_rng(SEED).multivariate_normal(
        values.mean(axis=0), result.noise.covariance
    )
    assert list(result.noise.noisy_mean) == list(result.noise.noise_std)
    np.testing.assert_allclose(list(result.noise.noisy_mean.values()), expected, rtol=1e-12)
    # Many draws, each with a seed of its own, have the covariance that is offered.
    drawn = [judged_once(result, seed) for seed in range(4000)]
    found = np.cov(np.array(drawn).T)
    scale = np.sqrt(np.diag(result.noise.covariance))
    np.testing.assert_allclose(
        found / np.outer(scale, scale),
        result.noise.covariance / np.outer(scale, scale),
        atol=5 * np.sqrt(2 / 4000),
    )


def judged_once(result: report.Report, seed: int) -> list[float]:
    from leakscore_app.report.engine.noise import drawn

    return list(drawn(result.noise, skewed().mean(axis=0), seed).noisy_mean.values())


@pytest.mark.parametrize("shape", ["independent", "same"])
def test_independent_noise_is_drawn_column_by_column(shape: str) -> None:
    result = judged(draw_noise=SEED, noise_shape=shape)
    std = np.array(list(result.noise.noise_std.values()))
    own = np.random.default_rng(SEED).standard_normal(4)
    expected = skewed().mean(axis=0) + std * own
    np.testing.assert_allclose(list(result.noise.noisy_mean.values()), expected, rtol=1e-12)


def test_the_command_prints_it_only_if_asked_and_never_the_seed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["report", "--n", "569", "--rounds", "1000"]
    assert main([*words, "--draw-noise", str(SEED)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "The mean with one draw of this noise, to be published" in text
    assert "stay secret, and never be used for another release" in text
    assert str(SEED) not in text
    assert main([*words, "--draw-noise", str(SEED), "--json", "-"]) == 0
    out = capsys.readouterr().out
    assert str(SEED) not in out
    noise = json.loads(out)["noise"]
    assert len(noise["noisy_mean"]) == 30
    assert noise["protected_radius"] > 0
    assert main(words) == 0
    assert "one draw of this noise" not in capsys.readouterr().out


def test_the_radius_by_brute_force_and_in_the_text() -> None:
    values, result = skewed(), judged()
    noise, n = result.noise, len(values)
    cov = np.cov(values.T, ddof=0)
    ways = np.random.default_rng(0).normal(size=(20_000, 4))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    away = noise.protected_radius * ways @ np.linalg.cholesky(cov).T
    law = cov / n + noise.covariance
    after = np.einsum("ij,ji->i", away, np.linalg.solve(law, away.T)) / n**2
    allowed = (2 * 0.12566) ** 2  # an advantage of 0.1 is 2 Phi(mu/2) - 1
    assert after.max() <= allowed * (1 + 1e-3)
    assert after.max() >= 0.5 * allowed  # the game asks for a little more than the theory
    shown = " ".join(result.to_text().split())
    told = shown.partition("within a Mahalanobis distance of ")[2].split()[0]
    assert noise.protected_radius * 0.99 <= float(told) <= noise.protected_radius


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"n": 40}, "mean of all 120 records, not of n=40"),
        ({"draw_noise": -1}, "draw_noise=-1"),
        ({"draw_noise": 1.5}, "draw_noise=1.5"),
        ({"statistic": Sum()}, "draw_noise must be given with the mean only"),
        ({"previous": 119}, "no noise is computed"),
    ],
)
def test_what_is_refused(options: dict[str, Any], named: str) -> None:
    with pytest.raises((ValueError, TypeError), match=named):
        judged(**({"draw_noise": 5} | options))


def test_nothing_is_drawn_where_no_noise_is_needed() -> None:
    values = np.random.default_rng(2).normal(size=(200, 2))
    noise = report.analyse(report.table_of(values), max_advantage=0.9, draw_noise=5).noise
    assert (noise.standard_errors, noise.noisy_mean) == (0, None)
