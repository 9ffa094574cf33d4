"""Both classes of many scores, sorted at once: the same results and errors as one by one."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import leakscore
from leakscore.audit import Audit

MANY = 1 << 17


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = leakscore.get_num_threads()
    leakscore.set_num_threads(2)
    yield
    leakscore.set_num_threads(before)


def scores(shift: float, dtype: type = np.float64) -> np.ndarray:
    return np.random.default_rng(int(shift)).normal(shift, 1.0, MANY + 1).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bytes_do_not_depend_on_threads(dtype: type) -> None:
    members, nonmembers = scores(1.0, dtype), scores(0.0, dtype)
    both = Audit(members, nonmembers).to_bytes()
    leakscore.set_num_threads(1)
    assert Audit(members, nonmembers).to_bytes() == both
    roc = Audit.from_bytes(both).roc()
    for found, given in ((roc.tpr, members), (roc.fpr, nonmembers)):
        most = np.searchsorted(np.sort(given), roc.thresholds, "right")
        np.testing.assert_array_equal(found, (given.size - most) / given.size)


def test_errors_name_the_first_wrong_class_and_leave_no_thread() -> None:
    wrong, right = scores(1.0), scores(0.0)
    wrong[5] = np.nan
    before = threading.active_count()
    for given, name in (((wrong, wrong), "members"), ((right, wrong), "nonmembers")):
        with pytest.raises(ValueError, match=f"{name} must hold no NaN"):
            Audit(*given)
    assert threading.active_count() == before


def test_where_the_system_gives_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    members, nonmembers = scores(1.0), scores(0.0)
    expected = Audit(members, nonmembers).to_bytes()
    monkeypatch.setattr(threading.Thread, "start", none)
    assert Audit(members, nonmembers).to_bytes() == expected
