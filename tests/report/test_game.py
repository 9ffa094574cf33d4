"""The simulated game of the report, against the whole game and against a plain loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import Reference, games, scores
from leakscore.audit import Audit
from leakscore_app import report
from tests.helpers.parts import Population
from tests.helpers.played import play
from tests.helpers.sizes import sizes

N, DIM = 60, 4


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    rng = np.random.default_rng(11)
    return rng.normal(size=(N, DIM)) @ rng.normal(size=(DIM, DIM)) * [1, 1e3, 1e-3, 5] + 7


def played(
    values: np.ndarray, index: int, attacker: str, *, finite: bool, noise: float, rounds: int = 4000
) -> Any:
    people = Population(values, 20, finite=finite, shrinkage=None)
    rng = np.random.default_rng(5)
    return play(people, index, index + 1, attacker, rounds=rounds, rng=rng, noise_std=noise)


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("attacker", ["informed", "weaker"])
def test_one_dimension_is_the_whole_game(values: np.ndarray, finite: bool, attacker: str) -> None:
    """The same draws through all columns and the covariance score give the same scores."""
    found = played(values, 3, attacker, finite=finite, noise=0.0, rounds=400)
    others = np.delete(values, 3, axis=0)
    cov = np.cov(others.T, ddof=0) * (1 - 20 / N if finite else 1)
    outputs, member = games.fixed_target(
        games.Empirical(values, exclude=3, replace=not finite),
        values[3],
        games.EmpiricalMean(20),
        400,
        np.random.default_rng(5),
        balanced=True,
    )
    if attacker == "informed":
        reference = Reference(others.mean(axis=0), cov)
        expected = scores.covariance_score(outputs, values[3], reference, 20)
    else:  # the likelihood ratio of the statistic w'(release - mu)
        away = values[3] - others.mean(axis=0)
        weight = away / np.diag(cov)
        along, spread = weight @ away, weight @ cov @ weight
        statistic = (outputs - others.mean(axis=0)) @ weight
        expected = along / spread * statistic - along**2 / spread / 40
    np.testing.assert_allclose(found.members, expected[member], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.nonmembers, expected[~member], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_leakage_is_that_of_the_table(values: np.ndarray, finite: bool, noise: float) -> None:
    people = Population(values, 20, finite=finite, shrinkage=None)
    for index in (0, 33):
        found = played(values, index, "informed", finite=finite, noise=noise, rounds=200)
        assert found.leakage == pytest.approx(
            (people.earlier + people.added(noise))[index], rel=1e-9
        )
    weaker = played(values, 33, "weaker", finite=finite, noise=0.0, rounds=200)
    assert weaker.leakage == pytest.approx(people.weaker()[33], rel=1e-9)


@pytest.mark.parametrize("finite", [False, True])
def test_game_against_a_plain_loop(values: np.ndarray, finite: bool) -> None:
    found = played(values, 7, "informed", finite=finite, noise=0.1, rounds=8000)
    rng = np.random.default_rng(2)
    units = values / values.std(axis=0)
    others = np.delete(units, 7, axis=0)
    mean, cov = others.mean(axis=0), np.cov(others.T, ddof=0) * (1 - 20 / N if finite else 1)
    weight = np.linalg.solve(cov + 20 * 0.1**2 * np.eye(DIM), units[7] - mean)
    drawn: dict[bool, list[float]] = {True: [], False: []}
    for member in (True, False):
        for _ in range(4000):
            rows = rng.choice(len(others), 20 - member, replace=not finite)
            total = others[rows].sum(axis=0) + member * units[7]
            release = total / 20 + 0.1 * rng.normal(size=DIM)
            drawn[member].append(weight @ (release - mean) - weight @ (units[7] - mean) / 40)
    inside, outside = np.array(drawn[True]), np.array(drawn[False])
    expected = (inside > 0).mean() - (outside > 0).mean()
    error = np.sqrt(2) * found.advantage.std_error
    assert abs(found.advantage.simulated - expected) < 4 * error
    for ours, plain in ((found.members, inside), (found.nonmembers, outside)):
        spread = np.hypot(ours.std(), plain.std()) / np.sqrt(4000)
        assert abs(ours.mean() - plain.mean()) < 4 * spread
        assert ours.std() == pytest.approx(plain.std(), rel=0.06)


def test_gaussian_records_agree_with_the_theory() -> None:
    """On many normal records nothing differs, and z-values are those of a standard normal law."""
    values = np.random.default_rng(1).normal(size=(4000, 3))
    people = Population(values, 400, finite=False, shrinkage=None)
    z, powers = [], []
    for index in range(25):
        rng = np.random.default_rng(index)
        found = play(people, index, index + 1, "informed", rounds=4000, rng=rng)
        assert not found.differs
        powers.append(found.power.z)
        z += [found.advantage.z, found.false_positives.z, found.mean[0].z, found.variance[1].z]
    assert abs(np.mean(z)) < 0.4
    assert 0.7 < np.std(z) < 1.3
    assert 0.6 < np.std(powers) < 1.4


def test_heavy_tails_differ_and_the_report_says_so() -> None:
    result = report.analyse(report.embedded_table(), rounds=20000)
    assert [(game.row, game.attacker) for game in result.games] == [
        (153, "informed"),
        (213, "informed"),
        (462, "informed"),
        (153, "weaker"),
        (result.counts[0].median_row, "informed"),
    ]
    game = result.games[2]
    assert game.differs
    assert game.power.z < -4
    (message,) = [w.message for w in result.notices if w.code == "theory-differs"]
    found = round(100 * game.power.simulated)
    assert f"Record 462: the simulation finds {found} in 100, the formula 58" in message
    assert message.endswith("the number to act on is the game's.")


def test_compared_numbers_are_those_of_the_scores(values: np.ndarray) -> None:
    found = played(values, 7, "informed", finite=False, noise=0.0)
    inside, outside = found.members, found.nonmembers
    assert (len(inside), len(outside), found.rounds) == (2000, 2000, 4000)
    assert found.power.simulated == Audit(inside, outside).tpr_at(0.01)
    assert found.advantage.simulated == pytest.approx((inside > 0).mean() - (outside > 0).mean())
    assert found.mean[1].simulated == inside.mean()
    assert found.mean[1].theory == found.leakage / 2
    rates, powers = found.roc["false_positive_rate"], found.roc["simulated_power"]
    assert (rates[-1], powers[-1]) == (1.0, 1.0)
    for rate, power in zip(rates[:-1], powers[:-1], strict=True):
        assert power == pytest.approx(Audit(inside, outside).tpr_at(rate + 1e-12))


@pytest.mark.parametrize(
    ("size", "n", "rounds"),
    [(6001, 5000, 20_000), (6001, 6001, 16_662), (50_001, 50_001, 2000), (65_537, 65_537, 20_000)],
)
def test_rounds_are_fewer_where_each_draws_many_records(size: int, n: int, rounds: int) -> None:
    """Half are with the record. Of a long table no records are drawn one by one."""
    values = np.random.default_rng(0).normal(size=(size, 1))
    games = report.analyse(values, n=n, records="none").games
    assert {game.rounds for game in games} == {rounds}


@pytest.mark.parametrize("law", ["normal", "heavy", "outlier"])
@pytest.mark.parametrize(("n", "finite"), [(4000, False), (500, False), (2000, True)])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_games_by_bins_agree_with_games_by_draws(
    monkeypatch: pytest.MonkeyPatch, law: str, n: int, finite: bool, noise: float
) -> None:
    rng = np.random.default_rng(4)
    values = {
        "normal": lambda: rng.normal(size=(4000, 3)),
        "heavy": lambda: rng.standard_t(3, size=(4000, 3)),
        "outlier": lambda: np.where(
            np.arange(4000)[:, None] == 9, 90.0, rng.normal(size=(4000, 3))
        ),
    }[law]()
    people = Population(values, n, finite=finite, shrinkage=None)
    index = int(np.argsort(-people.informed())[1 if law == "outlier" else 0])
    games_played = []
    for most in (10**6, 1):  # rows that are drawn one by one
        sizes(monkeypatch, drawn_one_by_one=most)
        seed = np.random.default_rng(most)
        games_played.append(
            play(people, index, 1, "informed", rounds=6000, rng=seed, noise_std=noise)
        )
    exact, bins = games_played
    assert exact.leakage == bins.leakage
    assert (exact.members != bins.members).any()
    for quantity in ("advantage", "power", "false_positives"):
        ours, plain = getattr(bins, quantity), getattr(exact, quantity)
        error = np.hypot(ours.std_error, plain.std_error)
        assert abs(ours.simulated - plain.simulated) < 4 * error, quantity
        assert ours.std_error == pytest.approx(plain.std_error, rel=0.3)


def test_a_game_of_a_large_table_is_reproducible() -> None:
    values = np.random.default_rng(3).standard_t(4, size=(70_000, 2))
    people = Population(values, 70_000, finite=False, shrinkage=None)
    first, second = (
        play(people, 8, 9, "weaker", rounds=3000, rng=np.random.default_rng(6)) for _ in range(2)
    )
    np.testing.assert_array_equal(first.members, second.members)
    np.testing.assert_array_equal(first.nonmembers, second.nonmembers)
    assert len(np.unique(first.members)) == 1500


@pytest.mark.parametrize("far", [1e20, 1e60, 1e69])
def test_a_record_very_far_away(far: float) -> None:
    values = np.random.default_rng(0).normal(size=(12, 2))
    values[3] = far
    result = report.analyse(report.table_of(values), rounds=200)
    assert result.counts[0].worst_row == 4
    assert result.informed.advantage[3] == pytest.approx(1.0)


def test_a_record_at_the_mean_has_nothing_to_share() -> None:
    result = report.analyse(report.table_of([[1.0], [3.0], [5.0]]), rounds=200)
    shares = {drivers.row: drivers.columns[0].share for drivers in result.drivers}
    assert shares == pytest.approx({1: 1.0, 3: 1.0, 2: 0.0})


def test_a_game_of_a_record_at_the_mean_is_written() -> None:
    """It shifts no mean: no scores of it differ, and no error is divided by."""
    table = report.table_of(np.array([[-1.0, 1, 0, 0, 0, 0, 0]]).T, ["x"])
    result = report.analyse(table, rounds=200)
    assert any(game.leakage == 0 for game in result.games)
    assert '"z": 0.0' in result.to_json()
