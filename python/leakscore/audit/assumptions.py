"""What every result of an audit assumes: one sentence for each assumption."""

from __future__ import annotations

from dataclasses import dataclass, field

from leakscore.results import Result

__all__ = ["CLAIM"]

GAUSSIAN = "the trade-off curve of the mechanism is exactly Gaussian"
FAMILY = "An epsilon of the curve is one of the mechanism only if the mechanism is of the family."
CLAIM = (
    "The claim is about the neighbouring data sets that were played. A curve of DP-SGD assumes "
    "Poisson sampling, a record that is added or removed, and exact noise."
)

_INDEPENDENT = "The rounds are independent: in each the mechanism ran anew."
_ALIKE = (
    "All rounds are of one pair of neighbouring data sets and one attack; those with and without "
    "the target differ in nothing else, such as targets that are easier to find."
)
_NEIGHBOURS = "In each round the two data sets are neighbours of the kind that epsilon is about."
_COINS = (
    "The membership of each round was a fair coin of its own, and its score depends on no other "
    "round."
)
_FIXED = (
    "The number of rounds, what was merged, the method and the attack (with the sign of its scores "
    "unless both orientations were tried) were fixed before any score was seen: no looking and "
    "playing on."
)
_COMPLETE = "No score was left out."
_ORDER = (
    "The order of the scores, every other one of which chose the threshold, does not depend on "
    "their values."
)
_THRESHOLD = "The threshold was fixed before any score was seen."
_PRIOR = "The two error rates have independent prior laws Beta(1/2, 1/2)."

_ROUNDS = (_INDEPENDENT, _ALIKE, _FIXED, _COMPLETE)
_BY_METHOD = {
    "sorted-bits": (_INDEPENDENT, _COINS, _NEIGHBOURS, _FIXED, _COMPLETE),
    "split": (*_ROUNDS, _ORDER),
    "credible": (*_ROUNDS, _ORDER, _PRIOR),
}
"""The assumptions of a method; _ROUNDS for every other method."""

_ONE_RUN = (
    "Each canary was in or out by a fair coin of its own; neighbouring data sets differ in one, "
    "whatever the others are, and the whole training keeps the claim for each.",
    "The scores were made from the output of the training without the coins.",
    "The canaries, the attack and the numbers of guesses, or their grid, were fixed before any "
    "score was seen.",
    "No canary and no score was left out.",
)


_HALVES = (
    "A round with the target and its partner without it, paired in the order of arrival, are "
    "of one pair of neighbouring data sets, one mechanism and one attack, and neither they nor "
    "a round between them were chosen by the score of the first."
)
_BY_DESIGN = {
    "coins": (
        "The membership of each round was a coin of its own, fair unless stated otherwise, that "
        "nothing earlier and no choice of data, attack or mechanism knew.",
        "Each score depends on the mechanism's answer and on earlier rounds, neither on its coin "
        "otherwise nor on later rounds.",
        "Each answer keeps the claim given all earlier ones: no state of the mechanism, such as "
        "noise that is drawn once or from a pool, tells of later answers.",
    ),
    "pairs": (_INDEPENDENT, _HALVES),
}
_MERGED = "What was merged was decided before its evidence was seen."


def of_monitor(design: str) -> tuple[str, ...]:
    """Return the assumptions of a monitor: it may be looked at, and stopped, at any time."""
    return (*_BY_DESIGN[design], _NEIGHBOURS, _COMPLETE, _MERGED)


def of_rounds(method: str, *further: str, given_threshold: bool = False) -> tuple[str, ...]:
    """Return the assumptions of a method that uses rounds, and further ones."""
    assumptions = _BY_METHOD.get(method, _ROUNDS)
    if given_threshold:
        assumptions = tuple(_THRESHOLD if each is _ORDER else each for each in assumptions)
    return (*assumptions, *further)


def of_one_run(*further: str) -> tuple[str, ...]:
    """Return the assumptions of an audit with one training, and further ones."""
    return (*_ONE_RUN, *further)


@dataclass(frozen=True, eq=False)
class Assuming(Result):
    """Mixin of results that hold under assumptions, which scores cannot verify.

    Attributes
    ----------
    assumptions : tuple of str
        One sentence for each.
    """

    assumptions: tuple[str, ...] = field(repr=False, kw_only=True)
