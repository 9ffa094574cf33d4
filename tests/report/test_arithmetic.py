"""Remainders of sums: beside enumerations of all draws, and laws of sums by convolution."""

from __future__ import annotations

import json
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy import signal, stats

from leakscore import statistics
from leakscore_app import report
from leakscore_app.cli import main
from leakscore_app.report import Report

FAST = {"rounds": 4000, "noise_shape": "same"}


def judged(values: np.ndarray, **options: object) -> Report:
    names = [f"c{j}" for j in range(values.shape[1])]
    return report.analyse(report.table_of(values, names), **{**FAST, **options})


def incomes(size: int = 60, odd: float = 47_300.0) -> np.ndarray:
    rng = np.random.default_rng(1)
    values = np.column_stack([rng.integers(20, 90, size) * 1000.0, rng.integers(20, 80, size)])
    values[16, 0] = odd
    return values


def variation(one: dict[float, float], other: dict[float, float]) -> float:
    return sum(abs(one.get(k, 0.0) - other.get(k, 0.0)) for k in {*one, *other}) / 2


def law(others: list[int], drawn: int, own: int, step: int, *, finite: bool) -> dict[float, float]:
    """Return the law of the remainder by going through all draws."""
    found: dict[float, float] = {}
    share = drawn / len(others)
    if finite:  # each other record by itself
        for taken in product((0, 1), repeat=len(others)):
            chance = share ** sum(taken) * (1 - share) ** (len(others) - sum(taken))
            rest = (sum(x for x, t in zip(others, taken, strict=True) if t) + own) % step
            found[rest] = found.get(rest, 0.0) + chance
        return found
    for taken in product(others, repeat=drawn):
        rest = (sum(taken) + own) % step
        found[rest] = found.get(rest, 0.0) + len(others) ** -drawn
    return found


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize(
    "column",
    [
        [10, 20, 30, 40, 70, 25],
        [10, 20, 30, 40, 25, 37],
        [3, 10, 17, 24, 31, 12],
        [0, 6, 6, 12, 8, 10, 18],
        [100, 200, 500, 950, 300, 640, 700],
    ],
)
def test_advantages_are_those_of_all_draws(column: list[int], finite: bool) -> None:
    rng = np.random.default_rng(2)
    values = np.column_stack([np.array(column) / 100, rng.normal(size=len(column))])
    n = 3 if finite else 4
    result = judged(values, n=n, population="finite" if finite else "infinite", max_noise=99)
    found = [one for one in result.arithmetic.records if one.column == "c0"]
    assert found
    for one in found:
        others = [x for k, x in enumerate(column) if k != one.row - 1]
        own, step = column[one.row - 1], round(100 * one.step)
        on = np.array(others) % step
        place = np.bincount(on).argmax()
        assert one.others == np.sum(on != place)
        away = [int(x - place) for x in others]
        laws = [
            law(away, n - 1, int(own - place), step, finite=finite),
            law(away, n, 0, step, finite=finite),
        ]
        assert one.exact == pytest.approx(variation(*laws), abs=1e-9)
        assert one.advantage == one.exact


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("most", [0.0, -0.1234567890123456, 7.0])
def test_numbers_of_sixteen_digits_tell_how_often_they_are_in_a_sum(
    most: float, finite: bool
) -> None:
    column = [most, 139.0430014560748, most, 270.7016848910384, most, 139.0430014560748, most]
    values = np.column_stack([column, np.random.default_rng(3).normal(size=len(column))])
    n = 3 if finite else 4
    result = judged(values, n=n, population="finite" if finite else "infinite", max_noise=99)
    seen = {one.row: one for one in result.arithmetic.records if one.column == "c0"}
    assert set(seen) == {2, 4, 6}
    for row, one in seen.items():
        others = [int(x == column[row - 1]) for k, x in enumerate(column) if k != row - 1]
        laws = [law(others, n - k, k, 100, finite=finite) for k in (1, 0)]
        assert one.exact == pytest.approx(variation(*laws), abs=1e-9)
    assert seen[4].exact == pytest.approx(1)
    assert seen[2].exact < 0.9
    assert result.verdict.decision == "publish with noise"
    assert result.noise.noise_std["c0"] >= seen[4].step / n * (1 - 1e-12)


def sums_of(column: np.ndarray, target: int, unit: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the laws of the sum of all records, with the target and without, by convolution."""
    others = np.rint(np.delete(column, target) / unit).astype(int)
    single = np.bincount(others) / len(others)
    laws = [np.ones(1)]
    for _ in range(len(column)):
        laws.append(np.maximum(signal.fftconvolve(laws[-1], single), 0.0))
    own = round(column[target] / unit)
    with_it = np.concatenate([np.zeros(own), laws[-2]])
    size = max(len(with_it), len(laws[-1]))
    return tuple(np.pad(one, (0, size - len(one))) for one in (with_it, laws[-1]))


def published(sums: np.ndarray, n: int, decimals: int) -> np.ndarray:
    return np.round(np.arange(len(sums)) * 100.0 / n, decimals)


def test_a_rounded_mean_tells_no_more_than_is_said() -> None:
    values = incomes()
    laws = sums_of(values[:, 0], 16, 100.0)
    assert np.abs(laws[0] - laws[1]).sum() / 2 == pytest.approx(1, abs=1e-9)
    for decimals in (0, -1, -2, -4):
        result = judged(values, decimals=decimals)
        (one,) = (each for each in result.arithmetic.records if each.row == 17)
        means = published(laws[0], 60, decimals)
        told = {
            mean: abs(float((laws[0] - laws[1])[means == mean].sum())) for mean in np.unique(means)
        }
        truth = sum(told.values()) / 2
        theory = result.informed.advantage[16]
        assert truth <= theory + one.advantage + 1e-9
        assert (one.advantage == 1) == (decimals >= 0)
        assert (result.verdict.decision == "publish") == (decimals < -1)
        if decimals > -2:
            assert truth > 0.5
        if decimals == 0:
            assert result.arithmetic.hidden_by == -2


def test_the_noise_that_is_printed_hides_the_remainder() -> None:
    values = incomes()
    for statistic, per in ((None, 60), (statistics.Sum(), 1)):
        result = judged(values, statistic=statistic)
        assert result.verdict.decision == "publish with noise"
        noise = result.noise.noise_std["c0"] * per / 50  # of the sum, in half units
        laws = sums_of(values[:, 0], 16, 100.0)
        kernel = stats.norm.pdf(np.arange(-10 * noise, 10 * noise + 1), scale=noise)
        spaced = np.zeros(2 * len(laws[0]))
        spaced[::2] = laws[0] - laws[1]
        truth = np.abs(signal.fftconvolve(spaced, kernel)).sum() / 2
        assert truth <= result.informed.advantage[16] + 1e-3
        assert truth < 0.2


def test_verdict_text_page_and_json_name_record_and_column() -> None:
    result = judged(incomes())
    worst = result.verdict.worst
    assert (worst.row, worst.value, worst.certain) == (17, 1.0, True)
    assert "record 17 gives itself away by arithmetic: in c0 all other" in result.verdict.why
    assert result.verdict.given_away == (17,)
    for text in (result.to_text(), result.to_html()):
        assert "by arithmetic: in c0" in " ".join(text.split())
        assert "linear score" in " ".join(text.split())
    found = json.loads(result.to_json())["arithmetic"]
    assert found["records"][0] == {
        "row": 17, "column": "c0", "step": 1000, "others": 0, "exact": 1, "advantage": 1,
    }  # fmt: skip
    assert "No record is off such steps" in " ".join(judged(incomes(odd=47_000)).to_text().split())


def test_of_long_tables_the_same_is_said() -> None:
    values = incomes(66_000)
    in_blocks, whole = judged(values, n=500), judged(values[:65_000], n=500)
    assert in_blocks.arithmetic == whole.arithmetic
    assert in_blocks.verdict.worst.row == whole.verdict.worst.row == 17
    assert in_blocks.verdict.decision == "publish with noise"
    assert in_blocks.noise.noise_std["c0"] == pytest.approx(2.0)
    assert judged(values, n=500, decimals=-3).verdict.decision == "publish"


@pytest.mark.parametrize("size", [12, 400, 5000])
def test_measurements_have_no_steps(size: int) -> None:
    rng = np.random.default_rng(size)
    values = rng.normal(size=(size, 3)) * [1, 1e-9, 1e9]
    rounded = np.round(rng.normal(size=(size, 2)), 2)
    third = np.cumsum(np.full(size, 0.1))  # 0.1 + 0.1 + 0.1 has 17 digits
    columns = np.column_stack([values, rounded, third, rng.integers(0, 2, size)])
    assert judged(columns, n=size, max_noise=99).arithmetic.records == ()


def test_every_sum_is_looked_at() -> None:
    values = incomes(80)
    ward = ["a" if k % 2 else "b" for k in range(80)]
    table = report.table_of(values, ["income", "age"], groups={"ward": ward})
    result = report.analyse(table, statistic=statistics.GroupMeans(["ward"]), **FAST)
    (one,) = (each for each in result.arithmetic.records if each.exact == 1)
    assert (one.row, one.column, one.step) == (17, "income where ward=b", 1000)
    assert result.noise.noise_std[one.column] >= 1000 / 40 * (1 - 1e-12)
    squares = judged(
        np.column_stack([values[:, 1], values[:, 0] / 100]), statistic=statistics.Sum()
    )
    assert squares.arithmetic.records[0].column == "c1"
    assert judged(values, statistic=statistics.Regression("c1")).arithmetic.unchecked


def test_of_a_person_all_records_count() -> None:
    """Two records that make up for each other tell nothing together; each other person's may."""
    values = incomes()
    values[30, 0] = 51_700.0
    ids = [str(k) for k in range(60)]
    alone = report.analyse(report.table_of(values, ids=ids), **FAST).arithmetic
    assert {one.row for one in alone.records} == {17, 31}
    # Of the other one, the remainder is 700 as often as it is drawn.
    drawn = [comb(60, k) * 59**-60.0 * 58 ** (60 - k) for k in range(61)]
    fewer = [comb(59, k) * 59**-59.0 * 58 ** (59 - k) for k in range(60)]
    laws: list[dict[float, float]] = [{}, {}]
    for k in range(61):
        laws[0][700 * k % 1000] = laws[0].get(700 * k % 1000, 0) + drawn[k]
        if k < 60:
            rest = (700 * k + 300) % 1000
            laws[1][rest] = laws[1].get(rest, 0) + fewer[k]
    assert alone.records[0].exact == pytest.approx(variation(*laws), abs=1e-9)
    ids[30] = ids[16]
    assert report.analyse(report.table_of(values, ids=ids), **FAST).arithmetic.records == ()


def test_the_command_rounds(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.csv"
    rows = "\n".join(",".join(f"{x:g}" for x in row) for row in incomes())
    path.write_text(f"income,age\n{rows}\n")
    codes = [
        main(["report", str(path), "--check", "--rounds", "4000", "--distinct-records", *more])
        for more in ([], ["--decimals", "2"], ["--decimals", "-3"])
    ]
    assert codes == [2, 2, 0]
    assert "rounded to multiples of 1000" in " ".join(capsys.readouterr().out.split())
    assert main(["report", str(path), "--decimals", "99"]) == 1
    assert "--decimals 99" in capsys.readouterr().err
