"""`leakscore.opacus`: an accountant of a stand-in with Opacus' interface, and of Opacus itself."""

from __future__ import annotations

import copy
import json
import runpy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import leakscore.opacus
from leakscore import tradeoff
from leakscore.opacus import Accountant
from leakscore.tradeoff import compose, subsampled_gaussian
from tests.helpers import opacus_stand_in, opacus_training

pytestmark = pytest.mark.filterwarnings("ignore:Secure RNG", "ignore:Full backward hook")
Train = Callable[..., tuple[Any, Any]]


@pytest.fixture(params=["stand-in", "Opacus"])
def train(request: pytest.FixtureRequest) -> Train:
    if request.param == "Opacus":
        pytest.importorskip("opacus", reason="Opacus is not installed")
        return opacus_training.trained
    return opacus_stand_in.trained


def test_an_engine_accounts_for_its_training(train: Train) -> None:
    engine, _ = train(23)
    accountant = engine.accountant
    assert type(accountant) is Accountant
    assert (accountant.history, len(accountant)) == ([(1.0, 0.1, 23)], 23)
    plain = subsampled_gaussian(1.0, 0.1, 23)
    assert accountant.get_epsilon(1e-4) == plain.interval("epsilon", 1e-4)[1]
    curve = accountant.curve()
    assert (curve.neighbours, curve.kind) == ("zero-out", "guarantee")
    assert curve.lower.neighbours == curve.upper.neighbours == "zero-out"
    assert any("Poisson" in text for text in curve.assumptions)
    assert any("number of records is public" in text for text in curve.assumptions)
    np.testing.assert_array_equal(curve.power([1e-3, 0.1]), plain.power([1e-3, 0.1]))


def test_a_noise_schedule_is_composed(train: Train) -> None:
    engine, optimizer = train(5)
    hook = optimizer.step_hook
    for noise in (2.0, 2.0, 1.0, 2.0):
        optimizer.noise_multiplier = noise
        hook(optimizer)
    expected = [(1.0, 0.1, 5), (2.0, 0.1, 2), (1.0, 0.1, 1), (2.0, 0.1, 1)]
    assert engine.accountant.history == expected
    whole = compose([subsampled_gaussian(1.0, 0.1, 6), subsampled_gaussian(2.0, 0.1, 3)])
    assert engine.accountant.get_epsilon(1e-4) == pytest.approx(whole.epsilon(1e-4), rel=1e-9)


def test_a_budget_is_met(train: Train) -> None:
    engine, optimizer = train(20, epsilon=2.0)
    spent = engine.accountant.get_epsilon(1e-3)
    assert 1.98 < spent < 2.0
    assert engine.accountant.history == [(optimizer.noise_multiplier, 0.1, 20)]
    plain = subsampled_gaussian(optimizer.noise_multiplier, 0.1, 20)
    assert plain.interval("epsilon", 1e-3)[1] == spent


def test_batches_that_are_no_poisson_samples_are_refused(train: Train) -> None:
    with pytest.raises(ValueError, match=r"poisson_sampling must be True.*shuffled_gaussian"):
        train(0, poisson_sampling=False)


def test_adaptive_clipping_is_refused(train: Train) -> None:
    options: Any = {"clipping": "adaptive"}
    if train is opacus_training.trained:
        options |= {"target_unclipped_quantile": 0.5, "clipbound_learning_rate": 0.2}
        options |= {"max_clipbound": 10.0, "min_clipbound": 0.1, "unclipped_num_std": 1.0}
    with pytest.raises(ValueError, match="adaptive"):
        train(0, **options)


def test_a_training_resumes_exactly(train: Train) -> None:
    whole, _ = train(30)
    first, _ = train(12)
    state = copy.deepcopy(first.accountant.state_dict())
    resumed, _ = train(0)
    resumed.accountant.load_state_dict(state)
    assert resumed.accountant.state_dict() == state
    for _ in range(18):
        resumed.accountant.step(noise_multiplier=1.0, sample_rate=0.1)
    assert resumed.accountant.history == whole.accountant.history
    assert resumed.accountant.state_dict() == whole.accountant.state_dict()
    assert state["history"] == [(1.0, 0.1, 12)]


@pytest.mark.parametrize("options", [{"noise_multiplier": 1.5}])
def test_a_state_of_other_parameters_is_refused(train: Train, options: Any) -> None:
    first, _ = train(12)
    other, _ = train(0, **options)
    with pytest.raises(ValueError, match=r"noise_multiplier=1\.0 of state_dict must be 1\.5"):
        other.accountant.load_state_dict(first.accountant.state_dict())
    # A training that changes on purpose: the state first.
    accountant = Accountant()
    accountant.load_state_dict(first.accountant.state_dict())
    accountant.step(noise_multiplier=1.5, sample_rate=0.1)
    assert accountant.history == [(1.0, 0.1, 12), (1.5, 0.1, 1)]


def test_states_that_cannot_be_loaded() -> None:
    accountant = Accountant()
    accountant.step(noise_multiplier=1.0, sample_rate=0.1)
    state = accountant.state_dict()
    for change, message in (
        ({"mechanism": "rdp"}, "'rdp'.*'leakscore'"),
        ({"neighbours": "add-remove"}, "add-remove"),
        ({"history": [(1.0, 0.1)]}, r"\(1\.0, 0\.1\) of history"),
        ({"history": [(0.0, 0.1, 3)]}, "noise_multiplier=0"),
        ({"history": [(1.0, 1.5, 3)]}, "sample_rate=1.5"),
        ({"history": [(1.0, 0.5, 0)]}, "num_steps=0"),
    ):
        with pytest.raises(ValueError, match=message):
            Accountant().load_state_dict({**state, **change})
    for key in state:
        with pytest.raises(ValueError, match=key):
            Accountant().load_state_dict({k: v for k, v in state.items() if k != key})
    with pytest.raises(TypeError, match="state_dict=None"):
        Accountant().load_state_dict(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="forget 1"):
        accountant.load_state_dict(state)
    read = json.loads(json.dumps(state))
    other = Accountant()
    other.load_state_dict(read)
    assert other.history == accountant.history


@pytest.mark.parametrize(
    ("noise", "rate", "error", "name"),
    [
        (0.0, 0.1, ValueError, "noise_multiplier"),
        (np.nan, 0.1, ValueError, "noise_multiplier"),
        (1.0, 0.0, ValueError, "sample_rate"),
        (1.0, 1.01, ValueError, "sample_rate"),
        ("1", 0.1, TypeError, "noise_multiplier"),
    ],
)
def test_steps_that_are_refused(noise: Any, rate: Any, error: type[Exception], name: str) -> None:
    accountant = Accountant()
    with pytest.raises(error, match=name):
        accountant.step(noise_multiplier=noise, sample_rate=rate)
    assert accountant.history == []


def test_accumulated_gradients_are_refused() -> None:
    engine, optimizer = opacus_stand_in.trained(1)
    optimizer.accumulated_iterations = 2
    with pytest.raises(ValueError, match="not gradients of 2"):
        optimizer.step_hook(optimizer)
    assert len(engine.accountant) == 1


def test_who_does_not_say_how_batches_are_drawn_gets_no_hook() -> None:
    with pytest.raises(ValueError, match="make_private"):
        Accountant().get_optimizer_hook_fn(sample_rate=0.1)


def test_nothing_is_spent_before_the_first_step() -> None:
    accountant = Accountant()
    assert (len(accountant), accountant.get_epsilon(1e-5)) == (0, 0.0)
    with pytest.raises(ValueError, match=r"delta=-1\.0 must be in \[0, 1\]"):
        accountant.get_epsilon(-1.0)
    assert accountant.curve().advantage() == 0.0
    assert accountant.curve().neighbours == "zero-out"


def test_the_curve_is_composed_with_curves_of_its_relation_only() -> None:
    accountant = Accountant()
    accountant.step(noise_multiplier=2.0, sample_rate=1.0)
    assert compose([accountant.curve(), accountant.curve()]).neighbours == "zero-out"
    with pytest.raises(ValueError, match="neighbours='add-remove'"):
        compose([accountant.curve(), tradeoff.subsampled_gaussian(1.0, 0.1, 5)])


def test_the_import_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    opacus_stand_in.install(monkeypatch)
    monkeypatch.delitem(opacus_stand_in.ACCOUNTANTS, "leakscore")
    names = runpy.run_path(leakscore.opacus.__file__)
    assert opacus_stand_in.ACCOUNTANTS["leakscore"] is names["Accountant"]
    assert names["Accountant"] in opacus_stand_in.IAccountant.registered
