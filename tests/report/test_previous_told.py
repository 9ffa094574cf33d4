"""Means published before: batches of one, what text, page and JSON tell, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from leakscore import Reference, leakage
from leakscore_app import report
from leakscore_app.cli import main

COUNTS, SIZE, DIM = [60, 150], 180, 3


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.standard_t(6, size=(SIZE, DIM)) @ rng.normal(size=(DIM, DIM)) * [1, 50, 0.1] + 4


def test_a_batch_of_one_is_given_away(values: np.ndarray) -> None:
    result = report.analyse(report.table_of(values[:40]), previous=[39], rounds=200)
    plain, text = result.to_dict(), " ".join(result.to_text().split())
    record = plain["records"][39]
    assert (record["leakage"], record["certain"], record["power_if_gaussian"]) == ("inf", True, 1.0)
    assert plain["worst_rows"][0] == 40
    assert plain["noise"] is None
    assert "batch-of-one" in {notice["code"] for notice in plain["notices"]}
    assert plain["verdict"]["decision"] == "do not publish"
    assert plain["verdict"]["given_away"] == [40]
    limit = (2 * stats.norm.ppf(0.6)) ** 2  # advantage 0.2
    distance = leakage.leave_one_out(values[:40], Reference.fit(values[:40]), 2)[39] * 2
    enough = int(np.ceil(distance / limit))
    why = "record 40 is given away by the difference of two means."
    assert f"DO NOT PUBLISH: {why} Wait until {enough} new records are there." in text
    (remedy,) = plain["remedies"]
    assert remedy["leakage"] == pytest.approx(distance / enough, rel=1e-9)
    assert "o noise is needed" not in text
    assert "no noise is needed" not in result.to_html().lower()


def test_an_old_batch_of_one_does_not_hang_on_this_release(values: np.ndarray) -> None:
    calm = np.tile(values[:100], (3, 1))
    result = report.analyse(report.table_of(calm), previous=[1, 20], rounds=400)
    plain = result.to_dict()
    assert plain["records"][0]["certain"]
    assert plain["worst_rows"][0] == 1
    assert plain["verdict"]["given_away"] == []
    assert "the earlier means told more already" in plain["verdict"]["why"]
    text = " ".join(result.to_text().split())
    assert "Record 1 is given away, by the earlier means" in text
    assert plain["noise"]["binding_row"] > 20
    assert "cannot be taken back" in result.to_text().replace("\n", " ")
    with pytest.raises(ValueError, match="a mean of its own"):
        report.analyse(report.table_of(values[:5]), previous=[1, 2, 3, 4], rounds=200)


def test_counts_are_rows_of_the_file(values: np.ndarray) -> None:
    holes = values.copy()
    holes[[3, 70, 170], 1] = np.nan
    result = report.analyse(report.table_of(holes), previous=COUNTS, rounds=200).to_dict()
    assert result["previous"]["rows_published"] == COUNTS
    assert result["previous"]["records_published"] == [59, 148, 177]
    assert [b["rows"] for b in result["previous"]["batches"]] == [[1, 60], [61, 150], [151, 180]]
    assert [b["records"] for b in result["previous"]["batches"]] == [59, 89, 29]
    holes[60:150] = np.nan
    with pytest.raises(ValueError, match="none of the rows 61 to 150 is judged"):
        report.analyse(report.table_of(holes), previous=COUNTS)


def test_text_page_and_json_tell_the_same(
    values: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, page = str(tmp_path / "t.npy"), tmp_path / "t.html"
    np.save(path, values)
    options = ["report", path, "--previous", "60,150", "--rounds", "200", "--max-advantage", "0.1"]
    assert main([*options, "--html", str(page)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert main([*options, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    html = page.read_text("utf-8").replace("\u00a0", " ")
    row = found["worst_rows"][0]
    record = found["records"][row - 1]
    alone, joint = 100 * record["alone"]["power"], 100 * record["power"]
    assert joint > alone + 0.1
    for shown in (text, html):
        for part in (f"{alone:.1f} %", f"{joint:.1f} %", "151-180, new", "1-60, old"):
            assert part in shown
        assert "a mean of 30, not of 180" in shown
        assert "of every new record, whatever is subtracted" in shown
        assert "What the earlier means told cannot be taken back" in shown
        assert "With the earlier means" not in shown
    for batch, start in zip(found["previous"]["batches"], (0, 60, 150), strict=True):
        powers = [r["power"] for r in found["records"][start:][: batch["records"]]]
        assert batch["joint"]["above"]["10%"] == sum(power > 0.1 for power in powers)
        assert batch["joint"]["worst_power"] == max(powers)
        alone = [r["alone"]["power"] for r in found["records"][start:][: batch["records"]]]
        assert batch["alone"]["worst_power"] == max(alone)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--previous", "0"], "--previous 0 must be in [1, 39]"),
        (["--previous", "40"], "--previous 40 must be in [1, 39]"),
        (["--previous=-3"], "--previous -3 must be in [1, 39]"),
        (["--previous", "20,20"], "--previous 20,20 must increase"),
        (["--previous", "30,20"], "--previous 30,20 must increase"),
        (["--previous", "x"], "no list of whole numbers"),
        (["--previous", ""], "no list of whole numbers"),
        (["--previous", "20", "--population", "finite"], "with a finite population"),
        (["--previous", "20", "--n", "30"], "--n 30 must not be given with --previous 20"),
    ],
)
def test_refused(
    options: list[str],
    message: str,
    values: np.ndarray,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.save(tmp_path / "t.npy", values[:40])
    assert main(["report", str(tmp_path / "t.npy"), "--rounds", "200", *options]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    for wrong in ([2.5], "20", b"20", {20}, np.array(2.5), [[20, 30]]):
        with pytest.raises(TypeError, match=r"previous=.* must be an integer"):
            report.analyse(report.table_of(values), previous=wrong)  # type: ignore[arg-type]
