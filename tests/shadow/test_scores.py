"""Scores against many digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest

from leakscore import shadow
from tests.oracles import shadow as oracle
from tests.oracles import shadow_fits as fits

pytestmark = pytest.mark.usefixtures("digits")

Array = npt.NDArray[Any]


def close(found: Array, expected: list[Any], tolerance: float) -> None:
    """Within the tolerance of max(1, |score|)."""
    wanted = np.array([[mp.nstr(value, 25) for value in line] for line in np.atleast_2d(expected)])
    values = wanted.astype(np.float64).reshape(found.shape)
    assert np.isfinite(values).all()
    error = np.abs(found - values) / np.maximum(1.0, np.abs(values))
    assert error.max() <= tolerance, (error.max(), np.unravel_index(error.argmax(), error.shape))


def example(
    models: int, records: int, seed: int = 0, *, offset: float = 0.0, spread: float = 1.0
) -> tuple[Array, Array, Array]:
    """Return observed, signals and mask of independent halves, of records of any difficulty."""
    rng = np.random.default_rng(seed)
    least = 3 if models >= 6 else 1
    counts = rng.integers(least, models - least + 1, records)
    included = rng.permuted(np.arange(models)[:, np.newaxis] < counts, axis=0)
    scale = spread * np.exp(0.5 * rng.normal(size=records))
    place = offset + 3 * rng.normal(size=records)
    signals = place + scale * rng.normal(size=(models, records)) + 1.5 * included
    return place + scale * rng.normal(size=records), signals, included


LIRA = [
    (kind, variance, location)
    for kind in ("online", "offline", "offline-two-sided")
    for variance in ("per-record", "pooled", "shrunk")
    for location in ("mean", "median")
]


@pytest.mark.parametrize("models", [8, 21])
@pytest.mark.parametrize(("kind", "variance", "location"), LIRA)
def test_lira(models: int, kind: Any, variance: Any, location: Any) -> None:
    observed, signals, included = example(models, 12, models)
    found = shadow.lira(
        observed, signals, included, kind=kind, variance=variance, location=location
    )
    expected = oracle.lira(observed, signals, included, kind, variance, location)
    close(found, expected, 4e-11 if variance == "shrunk" else 4e-12)


PRIORS: dict[str, Any] = {
    "flat-mean": "flat-mean",
    "empirical": "empirical",
    "flat": ((0.0, 0.0, 3.5, 0.7), (1.0, 0.0, 0.25, 2.0)),
    "given": ((4.0, 0.5, 3.5, 0.7), (1.0, 2.0, 40.0, 2.0)),
}


@pytest.mark.parametrize("models", [6, 21])
@pytest.mark.parametrize("kind", ["online", "offline"])
@pytest.mark.parametrize("prior", PRIORS)
def test_bayes(models: int, kind: Any, prior: str) -> None:
    observed, signals, included = example(models, 12, 1)
    known = PRIORS[prior]
    given = known if isinstance(known, str) else tuple(shadow.Prior(*each) for each in known)
    found = shadow.bayes(observed, signals, included, kind=kind, prior=given)
    close(found, oracle.bayes(observed, signals, included, kind, known), 4e-11)


def test_a_prior_of_means_needs_no_model_on_a_side() -> None:
    observed, signals, _ = example(4, 3)
    included = np.zeros((4, 3), dtype=bool)
    given = PRIORS["given"]
    priors = tuple(shadow.Prior(*each) for each in given)
    found = shadow.bayes(observed, signals, included, prior=priors)
    close(found, oracle.bayes(observed, signals, included, "online", given), 4e-11)


def test_equal_variances_are_one_law() -> None:
    """Variances that differ less than chance would make them: nu0 = inf, normal tails."""
    signals = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]) + np.arange(8.0)
    included = np.repeat([[False], [True]], [3, 3], axis=0) & np.ones((1, 8), dtype=bool)
    observed = np.linspace(-30.0, 60.0, 8)
    for kind in ("online", "offline"):
        expected = oracle.bayes(observed, signals, included, kind)
        close(shadow.bayes(observed, signals, included, kind=kind), expected, 4e-11)
    assert mp.isinf(oracle.fitted(oracle.sides(signals, included, True))[0])


@pytest.mark.parametrize("kind", ["online", "offline"])
@pytest.mark.parametrize("a", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_base(kind: Any, a: float, scale: float) -> None:
    """Confidences down to exp(-900) are no zeros."""
    observed, signals, included = (x * scale if x.dtype == float else x for x in example(6, 15, 3))
    found = shadow.base(observed, signals, included, kind=kind, a=a)
    close(found, oracle.base(observed, signals, included, kind, a), 4e-12)
    logs = [shadow.log_confidence(x) for x in (observed, signals)]
    found = shadow.base(logs[0], logs[1], included, kind=kind, a=a, signal="log-confidence")
    close(found, oracle.base(logs[0], logs[1], included, kind, a, mp.exp), 4e-12)


def test_base_where_every_confidence_vanishes() -> None:
    signals = np.array([[-1000.0], [-1001.0], [-1003.0], [-999.0]])
    included = np.array([[1], [0], [1], [0]])
    for kind in ("online", "offline"):
        found = shadow.base([-1000.5], signals, included, kind=kind, a=1.0)
        close(found, oracle.base([-1000.5], signals, included, kind, 1.0), 4e-12)


@pytest.mark.parametrize("influence", ["global", "per-record", "given"])
def test_one_step(influence: str) -> None:
    observed, signals, included = example(9, 14, 4)
    included[:, 3] = False  # a record with one side only
    given: Any = np.linspace(0.0, 3.0, 14) if influence == "given" else influence
    found = shadow.one_step(observed, signals, included, influence=given)
    close(found, fits.one_step(observed, signals, included, given), 4e-11)


@pytest.mark.parametrize(("models", "records"), [(3, 40), (6, 40), (8, 220)])
@pytest.mark.parametrize("complementary", [False, True])
def test_paired(models: int, records: int, complementary: bool) -> None:
    observed, signals, included = example(models, records, models)
    if models == 3:
        included[:2] = [[True], [False]]
    if complementary:
        half = models // 2
        included[half : 2 * half] = ~included[:half]
        signals[half : 2 * half] -= 0.5 * (signals[:half] - signals[:half].mean(0))
    found = shadow.paired(observed, signals, included)
    close(found, fits.paired(observed, signals, included), 4e-11)


@pytest.mark.parametrize(
    ("shift", "expected"),
    [("pairs", (-0.740209834245, 0.189520712437)), ("thirds", (-0.394043015817, 0.219402848918))],
)
def test_paired_on_published_numbers(shift: str, expected: tuple[float, float]) -> None:
    k, n = np.arange(6)[:, np.newaxis], np.arange(5)
    included = (k + n) % 2 == 0 if shift == "pairs" else (k + 2 * n) % 3 == 0
    signals = np.sin(7 * k + 3 * n + k * n) + n + included
    found = shadow.paired(n + 0.5, signals, included)
    np.testing.assert_allclose(found[:2], expected, atol=1e-12)


def test_baselines() -> None:
    observed, signals, included = example(10, 30, 5)
    signals, observed = np.round(signals), np.round(observed)  # ties
    outside = oracle.sides(signals, included, False)
    gaps = [mp.mpf(x) - oracle.mean(g) for x, g in zip(observed, outside, strict=True)]
    close(shadow.difficulty(observed, signals, included), gaps, 1e-14)


def rmia(observed: Any, signals: Any, included: Any, *population: Any, **options: Any) -> Any:
    """Score by a population: the targets' signals at its records, and the shadow models'."""
    names = ("population_observed", "population_signals")
    options |= dict(zip(names, population, strict=True))
    return shadow.rmia(observed, signals, included, **options)


@pytest.mark.parametrize("kind", ["online", "offline"])
@pytest.mark.parametrize(("gamma", "offset"), [(1.0, 0.0), (2.5, 0.0), (1.0, 25.0), (1.0, 400.0)])
def test_rmia(kind: Any, gamma: float, offset: float) -> None:
    """With an offset every confidence is 1 to all digits: what tells records apart is 1 - p."""
    observed, signals, included = example(6, 40, 6)
    others, population, _ = example(6, 60, 7)
    observed, signals, others, population = (
        part + offset for part in (observed, signals, others, population)
    )
    found = rmia(observed, signals, included, others, population, kind=kind, gamma=gamma)
    with mp.workdps(400):
        x = oracle.base(observed, signals, included, kind)
        z = []
        for n, value in enumerate(others):
            average = oracle.mean([oracle.sigma(mp.mpf(t)) for t in population[:, n]])
            if kind == "offline":
                average = ((1 + mp.mpf(0.3)) * average + (1 - mp.mpf(0.3))) / 2
            z.append(mp.log(oracle.sigma(mp.mpf(value))) - mp.log(average))
        beaten = [sum(other < score - mp.log(gamma) for other in z) / 60 for score in x]
    np.testing.assert_array_equal(found, [float(share) for share in beaten])
    scores = shadow.base(observed, signals, included, kind=kind)
    assert (np.diff(found[np.argsort(scores)]) >= 0).all()  # BASE is RMIA's ratio
    away = [float(abs(one / value - 1)) for one, value in zip(scores, x, strict=True)]
    assert max(away) < 1e-6


def test_log_confidences_near_zero_keep_their_digits() -> None:
    observed, signals, included = example(6, 40, 6)
    logs = shadow.log_confidence(observed + 50.0), shadow.log_confidence(signals + 50.0)
    found = shadow.base(*logs, included, signal="log-confidence")
    expected = shadow.base(observed + 50.0, signals + 50.0, included)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


SCORES: dict[str, Callable[..., Array]] = {
    "lira": shadow.lira,
    "bayes": shadow.bayes,
    "difficulty": shadow.difficulty,
}


@pytest.mark.parametrize("name", SCORES)
def test_augmentations_are_averaged(name: str) -> None:
    observed, signals, included = example(12, 9, 8)
    rng = np.random.default_rng(9)
    more = np.stack([signals, signals + rng.normal(size=signals.shape)], axis=-1)
    targets = np.stack([observed, observed + 1.0], axis=-1)
    score = SCORES[name]
    expected = np.mean([score(targets[:, a], more[..., a], included) for a in range(2)], axis=0)
    np.testing.assert_allclose(score(targets, more, included), expected, rtol=1e-14)
    single = score(targets[..., :1], more[..., ::2], included)
    np.testing.assert_array_equal(single, score(observed, signals, included))
    apart = np.moveaxis(np.moveaxis(more, -1, 0).copy(), 0, -1)  # augmentations far apart
    np.testing.assert_array_equal(
        score(np.stack([targets] * 3), apart, included), [score(targets, more, included)] * 3
    )
