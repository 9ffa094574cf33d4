"""Odd arguments and their errors; array arguments have test_contract.py."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import leakscore
from leakscore import audit, games, scores, sequential, tradeoff
from leakscore.distributions import gx2, ncx2, norm
from tests.contract.inputs import PLAIN, SMALL

HUGE = 10**400
MASKED = np.ma.masked_array([0.5, 0.25], [False, True])
STRUCTURED = np.zeros(2, dtype=[("a", "f8"), ("b", "i4")])


class _Thing:
    """Neither a number nor an array; the same text in every process, unlike that of object()."""

    def __repr__(self) -> str:
        return "_Thing()"


def _length(value: float) -> str:
    """Name a number too long to be printed."""
    return f"{value.bit_length()} bits" if isinstance(value, int) else repr(value)


COUNTS: dict[str, Any] = {
    "gaussian_llr n": lambda n: scores.gaussian_llr(SMALL, SMALL[0], PLAIN, n),
    "covariance_score n": lambda n: scores.covariance_score(SMALL, SMALL[0], PLAIN, n),
    "leakage_score n": lambda n: leakscore.leakage.leakage_score(SMALL, PLAIN, n),
    "noise_for n": lambda n: leakscore.leakage.noise_for(SMALL, PLAIN, n, max_advantage=0.1),
    "leave_one_out n": lambda n: leakscore.leakage.leave_one_out(
        SMALL, leakscore.Reference.fit(SMALL, "diagonal"), n
    ),
    "hotelling n": lambda n: sequential.hotelling(SMALL, PLAIN, n),
    "split_t n": lambda n: sequential.split_t(SMALL, SMALL[0], SMALL, n),
    "EmpiricalMean n": games.EmpiricalMean,
    "fixed_target rounds": lambda rounds: games.fixed_target(
        games.Bernoulli([0.5]), [1.0], games.EmpiricalMean(5), rounds, 1
    ),
    "subsampled_laplace num_steps": lambda n: tradeoff.subsampled_laplace(2.0, 0.25, n),
    "genotype_llr ploidy": lambda n: scores.genotype_llr([0.5], [1], [0.5], 3, ploidy=n),
    "Moments dim": leakscore.Moments,
    "set_num_threads count": leakscore.set_num_threads,
}
NUMBERS: dict[str, Any] = {
    "Reference.fit ridge": lambda ridge: leakscore.Reference.fit(SMALL, ridge=ridge),
    "gx2 sigma": lambda sigma: gx2.cdf(1.0, [1.0], 1, 0, sigma=sigma),
    "gx2 offset": lambda offset: gx2.cdf(1.0, [1.0], 1, 0, offset=offset),
    "subsampled_gaussian noise_multiplier": lambda s: tradeoff.subsampled_gaussian(s, 0.5, 3),
    "laplace scale": tradeoff.discrete_laplace,
    "one_run confidence": lambda c: audit.one_run(
        np.arange(9.0), np.arange(9) > 4, 4, 4, confidence=c
    ),
}
NO_NUMBER = (
    *("3", b"3", bytearray(b"3"), 1j, None, True, np.True_, np.array(True), np.array("3"), [3]),
    *(np.array([3]), np.array([3.0]), np.ma.masked, np.ma.masked_array(3, True), STRUCTURED[0]),
    *(
        np.datetime64(3, "s"),
        np.timedelta64(3, "s"),
        np.array(np.timedelta64(3, "s")),
        _Thing(),
        {},
    ),
)


@pytest.mark.parametrize("value", [HUGE, -HUGE, 2**64, 10**5000], ids=_length)
@pytest.mark.parametrize("name", COUNTS)
def test_huge_counts_are_out_of_range(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=rf"{name.split()[1]}=.* must be (in|>=) "):
        COUNTS[name](value)


@pytest.mark.parametrize("value", [*NO_NUMBER, 3.5, np.float64(3.5)], ids=repr)
@pytest.mark.parametrize("name", COUNTS)
def test_what_is_no_count(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"^{name.split()[1]}="):
        COUNTS[name](value)


@pytest.mark.parametrize("value", [np.array(3), np.int8(3), np.uint64(3)], ids=repr)
def test_integers_of_numpy_are_counts(value: Any) -> None:
    assert tradeoff.gaussian_mean(9.0, value, 2)(0.1) == tradeoff.gaussian_mean(9.0, 3, 2)(0.1)
    assert scores.genotype_llr([0.5], [1], [0.5], value) == scores.genotype_llr(
        [0.5], [1], [0.5], 3
    )
    expected = scores.gaussian_llr(SMALL, SMALL[0], PLAIN, 3)
    np.testing.assert_array_equal(scores.gaussian_llr(SMALL, SMALL[0], PLAIN, value), expected)


@pytest.mark.parametrize("value", [HUGE, -HUGE, np.inf, np.nan], ids=_length)
@pytest.mark.parametrize("name", NUMBERS)
def test_huge_numbers_are_out_of_range(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"^\w+=(?s:.*) must be "):
        NUMBERS[name](value)


@pytest.mark.parametrize("value", NO_NUMBER, ids=repr)
@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_number(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=r"^\w+=(?s:.*) must be "):
        NUMBERS[name](value)


@pytest.mark.parametrize("value", [np.array(0.5), np.float16(0.5), np.float32(0.5)], ids=repr)
def test_numbers_of_numpy_are_numbers(value: Any) -> None:
    plain, odd = (gx2.cdf(1.0, [1.0], 1, 0, sigma=sigma) for sigma in (0.5, value))
    assert plain == odd


@pytest.mark.parametrize(
    "value",
    [
        np.array([3]),
        np.array(3.0),
        np.array(True),
        [3],
        "3",
        3.0,
        True,
        np.ma.masked,
        _Thing(),
    ],
    ids=repr,
)
def test_what_is_no_generator(value: Any) -> None:
    population, mechanism = games.Bernoulli([0.5]), games.EmpiricalMean(5)
    with pytest.raises(TypeError, match="rng"):
        games.fixed_target(population, [1.0], mechanism, 10, value)
    with pytest.raises(TypeError, match="rng"):
        audit.Audit.from_rounds([0.0, 1.0, 2.0], [True, False, True], rng=value)


@pytest.mark.parametrize("seed", [0, np.int64(7), np.array(7), HUGE, np.random.default_rng(1)])
def test_what_is_a_generator(seed: Any) -> None:
    member, _ = games.fixed_target(games.Bernoulli([0.5]), [1.0], games.EmpiricalMean(5), 10, seed)
    assert len(member) == 10


@pytest.mark.parametrize("value", [MASKED, [MASKED, MASKED], (np.ma.masked_array(1.0, True),)])
def test_masked_entries_are_refused_by_name(value: Any) -> None:
    """numpy reads what is under the mask, and says nothing."""
    table = np.ma.masked_array(SMALL, SMALL > 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, run in {
            "x": lambda: gx2.cdf(value, [1.0], 1, 0),
            "weights": lambda: gx2.cdf(1.0, value, 1, 0),
            "alpha": lambda: tradeoff.gaussian(1.0)(value),
            "mu": lambda: tradeoff.gaussian(value),
            "epsilon": lambda: tradeoff.gaussian(1.0).delta(value),
            "X": lambda: leakscore.Reference.fit(table),
            "Z": lambda: PLAIN.squared_mahalanobis(table),
            "observed": lambda: scores.gaussian_llr(table, SMALL[0], PLAIN, 5),
            "p": lambda: games.Bernoulli(value),
            "cov": lambda: leakscore.Reference([0.0, 0.0], value),
        }.items():
            with pytest.raises((ValueError, TypeError), match=rf"^{name}\b.* must "):
                run()


def test_masks_that_numpy_keeps_stay() -> None:
    found = norm.cdf(MASKED)
    assert isinstance(found, np.ma.MaskedArray)
    assert found.mask.tolist() == [False, True]


@pytest.mark.parametrize("value", [STRUCTURED, np.zeros(2, "M8[s]"), np.zeros(2, "S1"), [HUGE, 1]])
def test_no_arrays_of_numbers(value: Any) -> None:
    for name, run in {
        "x": lambda: ncx2.cdf(value, 1.0, 1.0),
        "Z": lambda: leakscore.Reference([0.0, 0.0], [1.0, 1.0]).squared_mahalanobis(value),
        "alpha": lambda: tradeoff.gaussian(1.0)(value),
        "curves": lambda: tradeoff.compose(value),
    }.items():
        with pytest.raises(TypeError, match=name):
            run()


def test_ploidy_has_an_end_and_a_reason() -> None:
    assert np.isfinite(scores.genotype_llr([0.5], [60], [0.5], 3, ploidy=127))
    with pytest.raises(ValueError, match=r"ploidy=128 must be in \[1, 127\]: .*int8"):
        scores.genotype_llr([0.5], [60], [0.5], 3, ploidy=128)


def test_the_missing_number_of_pandas_is_refused_by_name() -> None:
    missing = pytest.importorskip("pandas").NA
    for call, name in (
        (lambda: norm.cdf(missing), "x"),
        (lambda: ncx2.cdf(1.0, missing, 1.0), "df"),
        (lambda: norm.cdf([0.0, missing]), "x"),
    ):
        with pytest.raises(TypeError, match=f"{name}.* must .*real number"):
            call()
