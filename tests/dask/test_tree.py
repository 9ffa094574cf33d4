"""The tree of merges: fixed by the number of blocks, and one leaf can be another."""

from __future__ import annotations

import pytest

from leakscore.dask import blocks


def pair(first: str, second: str) -> str:
    return f"({first}{second})"


@pytest.mark.parametrize(
    ("leaves", "root"),
    [
        ("a", "a"),
        ("ab", "(ab)"),
        ("abc", "((ab)c)"),
        ("abcde", "(((ab)(cd))e)"),
        ("abcdefg", "(((ab)(cd))((ef)g))"),
    ],
)
def test_neighbours_are_merged(leaves: str, root: str) -> None:
    assert blocks.levels(leaves, pair)[-1] == [root]


@pytest.mark.parametrize("count", range(1, 18))
def test_another_leaf_takes_the_same_way(count: int) -> None:
    leaves = [chr(97 + i) for i in range(count)]
    levels = blocks.levels(leaves, pair)
    root = levels[-1][0]
    for place in range(count):
        merged: list[tuple[str, str]] = []

        def counted(first: str, second: str, merged: list[tuple[str, str]] = merged) -> str:
            merged.append((first, second))
            return pair(first, second)

        found = blocks.root_with(levels, place, "*", counted)
        assert found == root.replace(leaves[place], "*")
        assert all("*" in first + second for first, second in merged)
        assert len(merged) <= (count - 1).bit_length()
