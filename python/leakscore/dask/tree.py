"""The fixed binary tree along which results of blocks are merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def levels(leaves: Sequence[Any], merge: Callable[[Any, Any], Any]) -> list[list[Any]]:
    """Return the leaves, the merges of neighbours (0, 1), (2, 3), ..., and so on up to the root.

    The last of an odd number moves up as it is. The tree depends on the number of leaves only.
    """
    result = [list(leaves)]
    while len(result[-1]) > 1:
        result.append([_node(result[-1], i, merge) for i in range(0, len(result[-1]), 2)])
    return result


def root_with(
    tree: list[list[Any]], place: int, leaf: Any, merge: Callable[[Any, Any], Any]
) -> Any:
    """Return the root of a tree in which one leaf is another: only the way up to it is new."""
    node = leaf
    for level in tree[:-1]:
        changed = [*level[place - place % 2 : place], node, *level[place + 1 :][: 1 - place % 2]]
        node, place = _node(changed, 0, merge), place // 2
    return node


def _node(level: Sequence[Any], first: int, merge: Callable[[Any, Any], Any]) -> Any:
    pair = level[first : first + 2]
    return merge(*pair) if len(pair) == 2 else pair[0]
