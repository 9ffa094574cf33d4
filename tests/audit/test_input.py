"""What Audit accepts and refuses, and that it leaves the caller's arrays alone."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from leakscore.audit import Audit

rng = np.random.default_rng(0)
MEMBERS = rng.normal(1, 1, 300).round(2)
NONMEMBERS = rng.normal(0, 1, 400).round(2)
EXPECTED = Audit(MEMBERS, NONMEMBERS).epsilon(1e-3).to_dict()


def strided(array: np.ndarray) -> np.ndarray:
    return np.stack([array, array + 7.0], axis=1)[:, 0]


def read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


@pytest.mark.parametrize(
    "form",
    [
        np.copy,
        np.ndarray.tolist,
        tuple,
        strided,
        read_only,
        lambda array: array[::-1],
        lambda array: array.astype(">f8"),
        lambda array: np.ma.masked_array(array),
    ],
)
def test_any_form_gives_the_same_answer(form) -> None:  # type: ignore[no-untyped-def]
    members, nonmembers = form(MEMBERS), form(NONMEMBERS)
    kept = np.array(members), np.array(nonmembers)
    assert Audit(members, nonmembers).epsilon(1e-3).to_dict() == EXPECTED
    np.testing.assert_array_equal(np.array(members), kept[0])
    np.testing.assert_array_equal(np.array(nonmembers), kept[1])


@pytest.mark.parametrize("dtype", ["i1", "i2", "u1", "i4", "i8", "u8", "f2", ">f4", "f4"])
def test_any_dtype_gives_the_same_answer(dtype: str) -> None:
    members, nonmembers = (np.abs(10 * x).round().astype(dtype) for x in (MEMBERS, NONMEMBERS))
    wide = Audit(members.astype(float), nonmembers.astype(float))
    assert Audit(members, nonmembers).epsilon(0.1).to_dict() == wide.epsilon(0.1).to_dict()
    assert Audit(members, nonmembers).auc() == wide.auc()


def test_mixed_dtypes_compare_exactly() -> None:
    """0.1 as a float32 is above 0.1 as a float64; neither may be rounded to the other."""
    tenth = np.full(100, 0.1, dtype=np.float32)
    assert Audit(tenth, np.full(100, 0.1)).auc() == 1.0
    assert Audit(np.full(100, 2**24 + 1), np.full(100, 2**24, dtype=np.float32)).auc() == 1.0


def test_booleans_are_decisions() -> None:
    assert Audit([True, True, False], [False]).auc() == 5 / 6


@pytest.mark.parametrize("name", ["members", "nonmembers"])
@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        ([], ValueError, "empty"),
        ([1.0, math.nan], ValueError, "NaN"),
        (np.array([math.nan, 1.0], dtype=np.float32), ValueError, "NaN"),
        (np.array([math.nan, 1.0], dtype=np.float16), ValueError, "NaN"),
        ([[1.0], [2.0]], ValueError, "1-D"),
        (1.0, ValueError, "1-D"),
        (np.array([2**53 + 2]), ValueError, r"2\*\*53"),
        (["a", "b"], TypeError, "real numbers"),
        ([1j], TypeError, "real numbers"),
        (None, TypeError, "real numbers"),
        ([None, 1.0], TypeError, "real numbers"),
        ([[1.0], [2.0, 3.0]], TypeError, "real numbers"),
        (np.array([1.0], dtype=object), TypeError, "real numbers"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), ValueError, "masked"),
    ],
)
def test_refused_scores(name: str, bad: object, error: type, words: str) -> None:
    arguments = {"members": [1.0, 2.0], "nonmembers": [0.0], name: bad}
    with pytest.raises(error, match=rf"{name}.*{words}"):
        Audit(**arguments)  # type: ignore[arg-type]


def test_from_rounds() -> None:
    scores = np.concatenate([MEMBERS, NONMEMBERS])
    member = np.repeat([True, False], [300, 400])
    order = np.random.default_rng(1).permutation(700)
    for bits in (member, member.astype(int), member.astype(np.float32), member.tolist()):
        audit = Audit.from_rounds(scores[order], np.asarray(bits)[order], rng=3)
        assert audit.epsilon(1e-3).to_dict() == EXPECTED
    assert repr(audit) == "Audit(n_members=300, n_nonmembers=400)"


@pytest.mark.parametrize(
    ("scores", "member", "rng", "error", "words"),
    [
        ([1.0, 2.0], [True], None, ValueError, "member"),
        ([1.0, 2.0], [[True, False]], None, ValueError, "member"),
        ([1.0, 2.0], [True, True], None, ValueError, "both members and non-members"),
        ([1.0, 2.0], [0, 0], None, ValueError, "both members and non-members"),
        ([1.0, 2.0], [1, -1], None, ValueError, r"member must be in \{0, 1\}"),
        ([1.0, 2.0], [1.0, math.nan], None, ValueError, r"member must be in \{0, 1\}"),
        ([1.0, 2.0], ["y", "n"], None, TypeError, "member"),
        ([1.0, math.nan], [1, 0], None, ValueError, "scores.*NaN"),
        ([], [], None, ValueError, "scores"),
        ([1.0, 2.0], [1, 0], "seed", TypeError, "rng"),
        ([1.0, 2.0], [1, 0], -1, ValueError, "rng"),
    ],
)
def test_refused_rounds(scores, member, rng, error, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=words):
        Audit.from_rounds(scores, member, rng=rng)


def test_unknown_arguments_are_not_swallowed() -> None:
    with pytest.raises(TypeError):
        Audit.from_rounds([1.0, 2.0], [1, 0], shuffle=True)  # type: ignore[call-arg]


def test_float32_scores_stay_float32() -> None:
    """An audit holds nothing of the size of a double."""
    single, double = (
        len(Audit(MEMBERS.astype(kind), NONMEMBERS.astype(kind)).to_bytes())
        for kind in (np.float32, np.float64)
    )
    assert double - single == 4 * (len(MEMBERS) + len(NONMEMBERS))


def test_pickles() -> None:
    audit = pickle.loads(pickle.dumps(Audit(MEMBERS, NONMEMBERS)))
    assert audit.epsilon(1e-3).to_dict() == EXPECTED
    assert pickle.loads(pickle.dumps(audit.epsilon(0.1))) == audit.epsilon(0.1)


def test_results_do_not_change_with_the_array_of_delta() -> None:
    audit = Audit(MEMBERS, NONMEMBERS)
    for method in (audit.epsilon, audit.epsilon_if_gaussian):
        delta = np.array([1e-5, 0.1])
        found = method(delta)
        delta[:] = 0.5
        assert found.delta.tolist() == [1e-5, 0.1]
