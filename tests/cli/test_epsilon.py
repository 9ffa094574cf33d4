"""``leakscore epsilon``: the numbers of the curves, said in three forms; and misspelt commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leakscore import tradeoff
from leakscore_app.cli import main

PLAN = ["epsilon", "--noise", "2", "--records", "1000", "--batch", "30", "--epochs", "3"]
CURVES = {
    "poisson": lambda: tradeoff.subsampled_gaussian(2.0, 0.03, 102),
    "allocation": lambda: tradeoff.random_allocation(2.0, 34, num_epochs=3),
    "fixed": lambda: tradeoff.fixed_batch_gaussian(2.0, 30, 1000, 102),
    "shuffled": lambda: tradeoff.shuffled_gaussian(2.0, 34, num_epochs=3),
}


@pytest.mark.parametrize("scheme", CURVES)
def test_the_numbers_are_those_of_the_curve(
    scheme: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written, page = tmp_path / "a.json", tmp_path / "a.html"
    options = ["--delta", "1e-6", "--json", str(written), "--html", str(page)]
    assert main([*PLAN, "--scheme", scheme, *options]) == 0
    first, found = capsys.readouterr().out.splitlines()[0], json.loads(written.read_text("utf-8"))
    curve = CURVES[scheme]()
    low, high = curve.interval("epsilon", 1e-6)
    assert (type(low), type(high)) == (float, float)
    assert (found["epsilon"]["lower"], found["epsilon"]["upper"]) == (low, high)
    said = [float(word.rstrip(";")) for word in first.split() if word[0].isdigit()]
    assert said[0] >= high >= low >= said[2]
    assert said[0] - said[2] < high - low + 0.0021
    power = curve.interval("power", 0.01)
    assert (found["power"]["lower"], found["power"]["upper"]) == power
    assert (found["training"]["steps_per_epoch"], found["neighbours"]) == (34, curve.neighbours)
    assert "<svg" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--batch", "1001"], "--batch 1001 must be in [1, 1000]"),
        (["--epochs", "0"], "--epochs 0 must be >= 1"),
        (["--delta", "2"], "--delta 2.0 must be in [0, 1]"),
        (["--noise", "0"], "--noise 0.0 must be in (0, inf)"),
        (["--target-epsilon", "2"], "--target-epsilon: not allowed with argument --noise"),
    ],
)
def test_refused(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PLAN, "--scheme", "poisson", *options]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("scheme", CURVES)
def test_the_least_noise_of_a_target(scheme: str, capsys: pytest.CaptureFixture[str]) -> None:
    plan = ["epsilon", *PLAN[3:], "--scheme", scheme, "--json", "-", "--quiet"]
    assert main([*plan, "--target-epsilon", "2"]) == 0
    noise = json.loads(capsys.readouterr().out)["training"]["noise"]
    upper = []
    for factor in (1.0, 1 - 1e-4):
        assert main([*plan, "--noise", repr(factor * noise)]) == 0
        upper.append(json.loads(capsys.readouterr().out)["epsilon"]["upper"])
    assert 1.99 < upper[0] <= 2.0 < upper[1]
    assert main([*plan, "--target-epsilon", "-1"]) == 1
    assert "--target-epsilon -1.0 must be in [0, inf)" in capsys.readouterr().err
    assert main([*plan, "--target-epsilon", "2", "--delta", "0"]) == 1
    assert "--target-epsilon 2.0 with --delta 0.0 must be reachable" in capsys.readouterr().err
    assert main([*plan, "--target-epsilon", "2", "--delta", "2"]) == 1
    assert "--delta 2.0 must be in [0, 1]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "hint"),
    [("adit", ": did you mean audit? The commands"), ("x", "; the commands")],
)
def test_a_misspelt_command_is_answered(
    name: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--json", "a"]) == 1
    told = f"there is no command {name!r}{hint} are report, audit, audit-synthetic, risk, ask, "
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tradeoff.subsampled_gaussian(1.0, batch_size=3), "pass sample_rate"),
        (lambda: tradeoff.subsampled_gaussian(1.0, epochs=3), "pass num_steps"),
        (lambda: tradeoff.shuffled_gaussian(1.0, num_batches=3), "pass steps_per_epoch"),
        (lambda: tradeoff.random_allocation(1.0, num_steps=3), "pass steps_per_epoch"),
        (lambda: tradeoff.fixed_batch_gaussian(sigma=3), "pass noise_multiplier"),
        (lambda: tradeoff.shuffled_gaussian(1.0, 9, 3), "by name what follows: num_epochs"),
    ],
)
def test_keywords_of_other_libraries_are_answered(call, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        call()
