"""A ledger as bytes, at any size, and what it refuses."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from typing import Any

import numpy as np
import pytest

from leakscore.leakage import Ledger
from tests.leakage.test_ledger import N, answered, masks, table


def filled(**options: Any) -> Ledger:
    ledger = Ledger(table(), **({"max_leakage": 0.1, "max_noise": 200.0} | options))
    for k, mask in enumerate(masks(11)):
        answered(ledger, mask, ("sum", "mean")[k % 2], [k % 3], rng=k, label=f"number {k}")
    answered(ledger, masks(1)[0], "sum", [0], rng=99)
    return ledger


def test_a_ledger_goes_on_where_it_was() -> None:
    ledger = filled()
    kept = Ledger.from_bytes(ledger.to_bytes(), np.asfortranarray(table()))
    np.testing.assert_allclose(kept.leakage, ledger.leakage, rtol=1e-10)
    assert (kept.limit, kept.answers) == (ledger.limit, ledger.answers)
    assert kept.to_bytes() == ledger.to_bytes()
    repeated, new = masks(1)[0], masks(1, seed=9)[0]
    ours, theirs = (answered(each, repeated, "sum", [0]).values for each in (kept, ledger))
    np.testing.assert_array_equal(ours, theirs)
    ours, theirs = (answered(each, new, "sum", [1], rng=7).values for each in (kept, ledger))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_one_seed_gives_each_answer_other_noise() -> None:
    for seed in (0, np.random.SeedSequence(5)):
        ledger = Ledger(table(), max_leakage=0.001, max_noise=1e3)
        for mask in masks(3):
            answered(ledger, mask, "sum", [0], rng=seed)
        lines = [json.loads(line) for line in ledger.to_bytes().splitlines()[1:-1]]
        drawn = [line["noise"][0] / line["variance"] ** 0.5 for line in lines]
        assert len({round(number, 6) for number in drawn}) == 3


def test_many_directions_and_blocks() -> None:
    X, chosen = table(rows=40_000), masks(90, rows=40_000)
    ledger = Ledger(X, max_leakage=1.0)
    for k, mask in enumerate(chosen):
        answered(ledger, mask, "sum", [k % 3])
    features = np.stack([mask * X[:, k % 3] for k, mask in enumerate(chosen)], axis=1)
    basis, _ = np.linalg.qr(features - features.mean(axis=0))
    used = np.square(basis).sum(axis=1) * 40_000 / 39_999
    np.testing.assert_allclose(ledger.leakage, used / (1 - used), rtol=1e-9)
    kept = Ledger.from_bytes(ledger.to_bytes(), X)
    np.testing.assert_allclose(kept.leakage, ledger.leakage, rtol=1e-10)


def test_every_damaged_byte_and_every_cut_is_refused() -> None:
    raw = filled().to_bytes()
    starts = np.cumsum([0, *(len(line) + 1 for line in raw.split(b"\n"))])
    for place in np.random.default_rng(0).integers(0, len(raw), size=200).tolist():
        damaged = raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]
        number = int(np.searchsorted(starts, place, side="right"))
        with pytest.raises(ValueError, match=rf"line {number} is damaged|after line"):
            Ledger.from_bytes(damaged, table())
        with pytest.raises(ValueError, match="cut after line"):
            Ledger.from_bytes(raw[:place], table())
    for line in range(1, 14):
        with pytest.raises(ValueError, match=rf"cut after line {line}$"):
            Ledger.from_bytes(raw[: starts[line]], table())
    lines = raw.splitlines(keepends=True)
    with pytest.raises(ValueError, match="line 3 is damaged"):
        Ledger.from_bytes(b"".join([*lines[:2], *lines[3:]]), table())


def test_another_table_is_refused() -> None:
    raw, X = filled().to_bytes(), table()
    X[3, 1] = np.nextafter(X[3, 1], 0)
    for other in (X, table()[:, :2], table()[::-1]):
        with pytest.raises(ValueError, match="digest is another"):
            Ledger.from_bytes(raw, other)


def test_bytes_of_something_else_are_refused() -> None:
    with pytest.raises(ValueError, match="line 1 is damaged"):
        Ledger.from_bytes(b'{"a": 1}\n', table())
    with pytest.raises(ValueError, match="cut after line 0"):
        Ledger.from_bytes(b"", table())
    with pytest.raises(TypeError, match="raw of type str"):
        Ledger.from_bytes("text", table())  # type: ignore[arg-type]


def test_scale_does_not_matter() -> None:
    mask, X = masks(1)[0], table()
    plain = answered(Ledger(X, max_leakage=1.0), mask, "mean", [0, 1])
    for factor in (1e-300, 1e300):
        scaled = answered(Ledger(factor * X, max_leakage=1.0), mask, "mean", [0, 1])
        assert scaled.leakage == pytest.approx(plain.leakage, rel=1e-9)
        np.testing.assert_allclose(scaled.values, factor * plain.values, rtol=1e-12)


def test_a_column_of_one_value_tells_its_count_alone() -> None:
    X, mask = table(), masks(1)[0]
    X[:, 1], X[:, 2] = 7.0, 0.0
    ledger = Ledger(X, max_leakage=1.0)
    assert answered(ledger, np.ones(N, dtype=bool), "sum", [1]).free
    assert answered(ledger, mask, "sum", [2]).free
    answered(ledger, mask, "count")
    assert answered(ledger, mask, "sum", [1]).free


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ((np.zeros(N, dtype=bool), "count"), "selects nobody"),
        ((np.ones(N - 1, dtype=bool), "count"), "where of shape"),
        ((np.ones((N, 1), dtype=bool), "count"), "where of shape"),
        ((np.ones(N, dtype=bool), "count", [1]), "no columns must be given"),
        ((np.ones(N, dtype=bool), "mean"), "columns must be given"),
        ((np.ones(N, dtype=bool), "sum", [1, 1]), "must differ"),
        ((np.ones(N, dtype=bool), "sum", [3]), r"columns=3 must be in \[0, 2\]"),
        ((np.ones(N, dtype=bool), "median", [1]), "statistic='median'"),
    ],
)
def test_bad_questions_are_refused(question: Any, message: str) -> None:
    ledger = Ledger(table(), max_leakage=1.0)
    raw = ledger.to_bytes()
    for ask in (ledger.ask, ledger.preview):
        with pytest.raises(ValueError, match=message):
            ask(*question)
    assert ledger.to_bytes() == raw


def test_a_selection_may_be_a_function_of_the_table() -> None:
    X = table()
    ledger = Ledger(X, max_leakage=1.0)
    mean = answered(ledger, lambda rows: rows[:, 0] > 5, "mean", [2])
    np.testing.assert_allclose(mean.values, [X[X[:, 0] > 5, 2].mean()])
    assert json.loads(ledger.to_bytes().splitlines()[1])["statistic"] == "mean"


def test_a_table_that_changes_later_changes_nothing() -> None:
    X, mask = table(), masks(1)[0]
    ledger = Ledger(X, max_leakage=1.0)
    X[:] = 0
    np.testing.assert_allclose(
        answered(ledger, mask, "sum", [0]).values, [table()[mask, 0].sum()], rtol=1e-12
    )


def chained(*contents: dict[str, Any]) -> bytes:
    """Lines with right digests, as anybody can make them."""
    lines: list[str] = []
    for content in contents:
        body = json.dumps(content)
        digest = hashlib.sha256(((lines[-1] if lines else "") + body).encode()).hexdigest()
        lines.append(f'{body[:-1]}, "digest": "{digest}"}}')
    return "".join(f"{line}\n" for line in lines).encode()


def contents_of(ledger: Ledger) -> list[dict[str, Any]]:
    contents = [json.loads(line) for line in ledger.to_bytes().splitlines()]
    for content in contents:
        del content["digest"]
    return contents


def test_what_is_kept_of_records_must_follow_from_the_answers() -> None:
    ledger = filled()
    *lines, end = contents_of(ledger)
    used = np.frombuffer(base64.b64decode(end["used"]))
    np.testing.assert_array_equal(
        Ledger.from_bytes(ledger.to_bytes(), table()).leakage, ledger.leakage
    )
    for wrong in (0.9 * used, used[::-1], np.nan * used):
        changed = end | {"used": base64.b64encode(wrong.tobytes()).decode()}
        with pytest.raises(ValueError, match="its directions are others"):
            Ledger.from_bytes(chained(*lines, changed), table())
    for odd in (None, "", "!", end["used"][:-12]):
        with pytest.raises(ValueError, match="its end is none"):
            Ledger.from_bytes(chained(*lines, end | {"used": odd}), table())
    del end["used"]
    with pytest.raises(ValueError, match="its end is none"):
        Ledger.from_bytes(chained(*lines, end), table())
    with pytest.raises(ValueError, match="of version 3"):
        Ledger.from_bytes(chained(lines[0] | {"version": 2}, *lines[1:], end), table())


@pytest.mark.parametrize("wrong", [np.nan, -1.0])
def test_what_is_kept_of_records_that_are_not_measured_again_is_a_leakage(wrong: float) -> None:
    values = np.random.default_rng(0).normal(size=(2500, 1))
    ledger = Ledger(values, max_leakage=1.0)
    ledger.ask(values[:, 0] > 0, "sum", [0])
    *lines, end = contents_of(ledger)
    used = np.frombuffer(base64.b64decode(end["used"])).copy()
    for row in (1, 7):
        used[row] = wrong
    changed = end | {"used": base64.b64encode(used.tobytes()).decode()}
    with pytest.raises(ValueError, match="its directions are others"):
        Ledger.from_bytes(chained(*lines, changed), values)


@pytest.mark.parametrize("change", [{"rule": "other"}, {"bounds": 1}, {"mean": []}, {"cov": None}])
def test_a_first_line_that_no_ledger_wrote(change: dict[str, Any]) -> None:
    bounds = {0: (-100.0, 100.0)}
    ledger = Ledger(table(), max_leakage=1.0, bounds=bounds, reference="uniform")
    head, *lines = contents_of(ledger)
    with pytest.raises(ValueError, match=r"^(raw|rule|reference)\b.* must "):
        Ledger.from_bytes(chained(head | change, *lines), table())


@pytest.mark.parametrize(
    "change",
    [
        {"where": "!"},
        {"where": base64.b64encode(zlib.compress(bytes(10**7))).decode() + "A"},
        {"where": None},
        {"basis": ""},
        {"columns": [7]},
        {"columns": []},
        {"noise": []},
        {"published": []},
        {"lengths": []},
        {"statistic": "median"},
        {"variance": -1.0},
    ],
)
def test_lines_that_no_ledger_wrote(change: dict[str, Any]) -> None:
    ledger = Ledger(table(), max_leakage=1.0)
    answered(ledger, masks(1)[0], "mean", [0])
    contents = contents_of(ledger)
    assert chained(*contents) == ledger.to_bytes()
    with pytest.raises(ValueError, match="raw must be"):
        Ledger.from_bytes(chained(contents[0], contents[1] | change, contents[2]), table())
    for name in ("limit", "sha256", "share", "version"):
        head = {key: value for key, value in contents[0].items() if key != name}
        with pytest.raises(ValueError, match="raw must be"):
            Ledger.from_bytes(chained(head, *contents[1:]), table())
