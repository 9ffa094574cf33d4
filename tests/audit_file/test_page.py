"""What ``leakscore audit`` writes: text that fits, a page that is well-formed."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from leakscore_app import Judgement
from leakscore_app.audits import Claim, Setting, sections, words
from tests.helpers.page_policy import require_policy
from tests.helpers.parts import judge, read_scores

XHTML = "{http://www.w3.org/1999/xhtml}"
SETTING = Setting()


def findings(
    folder: Path, scores: Any, member: Any, name: str = "t.npz", **options: Any
) -> Judgement:
    path = folder / name
    with path.open("wb") as file:
        np.savez(file, scores=np.asarray(scores), memberships=np.asarray(member))
    return judge(read_scores(str(path)), **({"setting": SETTING, "all_methods": False} | options))


def normal(folder: Path, shift: float, size: int = 400, **options: Any) -> Judgement:
    rng = np.random.default_rng(3)
    member = np.arange(size) % 2 == 1
    return findings(folder, rng.normal(shift * member), member, **options)


def counts(folder: Path, **options: Any) -> Judgement:
    path = folder / "counts.npz"
    edges = np.array([-np.inf, -1.0, 0.0, 2.0, np.inf])
    np.savez(path, edges=edges, member_counts=[0, 5, 100, 80], nonmember_counts=[90, 70, 30, 0])
    return judge(read_scores(str(path)), setting=SETTING, **options)


def page(found: Judgement) -> ElementTree.Element:
    text = found.to_html()
    assert text.startswith("<!DOCTYPE html>\n")
    return ElementTree.fromstring(text.partition("\n")[2])


TWICE = np.arange(80) < 40
ALL = {"all_methods": True}
CASES: dict[str, Any] = {
    "refuted": lambda folder: normal(
        folder, 3.0, claim=Claim(0.5, 1e-5), deltas=(1e-5, 0.0), **ALL
    ),
    "many deltas": lambda folder: normal(
        folder, 3.0, deltas=[1.23456789e-05 * 7.7**i for i in range(5)], **ALL
    ),
    "consistent": lambda folder: normal(folder, 1.0, claim=Claim(2.0, 1e-5)),
    "cannot-tell": lambda folder: normal(folder, 1.0, claim=Claim(50.0, 1e-5)),
    "no claim": lambda folder: normal(folder, 2.0),
    "both": lambda folder: normal(folder, -3.0, orientation="both", **ALL),
    "losses": lambda folder: normal(folder, -3.0, lower_is_member=True),
    "nothing": lambda folder: normal(folder, 0.0),
    "one each": lambda folder: findings(folder, [1.0, 0.0], [1, 0], claim=Claim(0.0, 1e-5)),
    "all equal": lambda folder: findings(folder, np.ones(100), np.arange(100) % 2),
    "separated": lambda folder: findings(folder, np.arange(200) // 100, np.arange(200) // 100),
    "infinite": lambda folder: findings(
        folder, np.where(np.arange(200) < 100, np.inf, -np.inf), np.arange(200) < 100
    ),
    "unequal": lambda folder: findings(folder, np.arange(300), np.arange(300) >= 298),
    "sorted bits": lambda folder: normal(
        folder,
        2.0,
        method="sorted-bits",
        setting=Setting(random_bits=True),
    ),
    "split": lambda folder: normal(folder, 2.0, method="split"),
    "credible": lambda folder: normal(folder, 2.0, method="credible"),
    "counts": lambda folder: counts(folder, lower_is_member=False),
    "counts of losses": lambda folder: counts(folder, lower_is_member=True),
    "huge": lambda folder: findings(folder, np.r_[1e308, -1e308, np.zeros(48)], np.arange(50) % 2),
    "tiny": lambda folder: findings(folder, np.r_[np.full(40, 5e-324), np.zeros(40)], TWICE),
    "close": lambda folder: findings(folder, 1e16 + 2 * TWICE, TWICE),
    "heavy": lambda folder: findings(
        folder, np.random.default_rng(0).standard_cauchy(400) * 1e300, np.arange(400) % 2
    ),
}


@pytest.fixture(params=sorted(CASES), scope="module")
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Judgement:
    made: Judgement = CASES[request.param](tmp_path_factory.mktemp("audit"))
    return made


def test_page_is_well_formed_and_fetches_nothing(found: Judgement) -> None:
    require_policy(found.to_html())


def test_charts_are_drawn_of_numbers(found: Judgement) -> None:
    charts = [svg for svg in page(found).iter(f"{XHTML}svg") if svg.get("role") == "img"]
    assert len(charts) == 2
    for svg in charts:
        assert len(svg.get("aria-label", "")) > 60
        drawn = ElementTree.tostring(svg, "unicode")
        numbers = " ".join(re.findall(r'(?:x|y|x1|x2|y1|y2|cx|cy|points)="([^"]*)"', drawn))
        values = [float(value) for value in re.split(r"[ ,]+", numbers)]
        assert np.isfinite(values).all()
        assert 0 <= min(values) <= max(values) <= 460
        assert len(svg.findall(f"{XHTML}polyline")) >= 1


def test_rows_are_as_wide_as_their_headers(found: Judgement) -> None:
    for table in page(found).iter(f"{XHTML}table"):
        head, body = table.find(f"{XHTML}thead"), table.find(f"{XHTML}tbody")
        assert head is not None
        assert body is not None
        expected = [cell.get("class") == "meter" for cell in head[0]]
        assert all([cell.get("class") == "meter" for cell in row] == expected for row in body)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_text_fits(found: Judgement, width: int) -> None:
    text = found.to_text(width)
    longest = max(text.splitlines(), key=len)
    assert len(longest) <= max(width, 80), longest
    assert not re.search(r"[ \t]$", text, flags=re.M)


def test_text_and_page_say_what_the_bound_is_not(found: Judgement) -> None:
    text = " ".join(found.to_text().split())
    whole = " ".join("".join(page(found).itertext()).split())
    for said in (
        "independent rounds",
        "does not show privacy",
        "must not have been chosen on these scores",
        "even perfect separation of this many",
        found.input.files[0]["sha256"],
        *(" ".join(notice.message.split()) for notice in found.notices),
    ):
        assert said in text, said
        assert said in whole, said
    if found.others:
        assert "the largest of several does not" in text
    codes = {notice.code for notice in found.notices}
    refused = found.verdict is not None and found.verdict.verdict == "cannot-tell"
    assert ("too-few-scores" in codes) == refused


def test_printed_bounds_are_rounded_to_the_safe_side(found: Judgement) -> None:
    bound = found.bounds.bounds[0]
    headline = re.search(r"^epsilon >= ([\d.]+) at", found.to_text(), flags=re.M)
    assert headline is not None
    printed = float(headline[1])
    assert printed <= float(bound.epsilon) < printed + 0.01
    if bound.epsilon > 0 and found.by_rates(bound):
        lines = " ".join(found.to_text().split())
        rates = re.findall(r"rate is at most ([\d.e-]+)[;.]", lines)[:2]
        for printed_rate, rate in zip(rates, (bound.fpr_upper, bound.fnr_upper), strict=True):
            assert float(rate) <= float(printed_rate) <= float(rate) * (1 + 1e-5)


def test_names_are_escaped(tmp_path: Path) -> None:
    nasty = "<td><script>alert(1)</script> & \x1b[31m\x00"
    rng = np.random.default_rng(0)
    member = np.arange(100) % 2
    found = findings(
        tmp_path,
        rng.normal(member),
        member,
        name="a <b> & 'c'.npz",
        setting=Setting(neighbours="replace", threat_model=nasty),
    )
    root = page(found)
    assert not list(root.iter(f"{XHTML}script"))
    whole = "".join(root.itertext())
    assert "a <b> & 'c'.npz" in whole
    assert r"<td><script>alert(1)</script> & \x1b[31m\x00" in whole
    assert found.to_dict()["setting"]["threat_model"] == nasty


def test_bounds_in_the_table_are_not_rounded_inwards(found: Judgement) -> None:
    rows = sections.bounds_table(found).rows
    for bound, row in zip(found.bounds.bounds, rows, strict=True):
        _, epsilon, cap, _, _, fpr, _, fnr, _ = map(str, row)
        assert 0 <= bound.epsilon - float(epsilon) < 0.0101
        assert 0 <= bound.max_certifiable - float(cap) < 0.0101
        for shown, rate in ((fpr, bound.fpr_upper), (fnr, bound.fnr_upper)):
            if found.by_rates(bound):
                assert 0 <= float(shown) / rate - 1 < 0.0101
            else:
                assert shown == "-"


def test_same_file_same_bytes(tmp_path: Path) -> None:
    first, again = (normal(tmp_path, 2.0) for _ in range(2))
    assert first.to_json() == again.to_json()
    assert first.to_html() == again.to_html()
    assert first.to_text() == again.to_text()


def test_json_is_complete(found: Judgement) -> None:
    assert set(found.to_dict()) == {
        "schema_version", "tool", "command", "tool_version", "input", "setting", "claim", "verdict",
        "confidence", "method", "orientation", "bounds", "mu", "methods", "roc", "notices",
    }  # fmt: skip
    for bound in found.to_dict()["bounds"]:
        assert {
            "epsilon", "threshold", "direction", "fpr", "fnr", "fpr_upper", "fnr_upper",
            "max_certifiable", "delta", "confidence", "method", "flags", "false_positives",
            "false_negatives", "formula", "algorithm", "critical_values",
        } <= set(bound)  # fmt: skip


@pytest.mark.parametrize(("members", "said"), [(90, False), (40, True)])
def test_unfair_coins_are_told(tmp_path: Path, members: int, said: bool) -> None:
    setting = Setting(random_bits=True)
    made = findings(tmp_path, np.arange(200), np.arange(200) < members, setting=setting)
    assert ("no-fair-coins" in {notice.code for notice in made.notices}) == said


def test_the_band_goes_down_to_the_corner(tmp_path: Path) -> None:
    band = page(normal(tmp_path, 1.0)).find(f".//{XHTML}polygon")
    first, last = (band.get("points").split()[k].split(",") for k in (0, -1))
    assert first[0] == last[0]  # left of the first end nothing is certain


def test_bounds_in_words_are_on_the_safe_side() -> None:
    """A lower bound is not above its number, nor an upper one below, by less than a last digit."""
    rng = np.random.default_rng(4)
    for value in (*rng.uniform(0.0, 20.0, 200).tolist(), 3.3, 0.005, 2.0, 0.0):
        for decimals in (2, 4):
            exact = Fraction(repr(value))  # as the reader of the number would write it
            below = exact - Fraction(words.lower_bound(value, decimals))
            assert 0 <= below < Fraction(1, 10**decimals)
    for rate in (*(10.0 ** rng.uniform(-9, 0, 200)).tolist(), 0.5, 1.0, 1e-300):
        above = Fraction(words.upper_bound(rate)) - Fraction(rate)
        assert 0 <= above < Fraction(rate) / 10**5
