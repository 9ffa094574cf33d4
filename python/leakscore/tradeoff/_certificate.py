"""The answer to whether one curve is nowhere below another."""

from __future__ import annotations

from dataclasses import dataclass

from leakscore.results import Result


@dataclass(frozen=True, eq=False)
class Certificate(Result):
    """The answer of `TradeOff.at_least_as_private_as`; true only if the verdict is True.

    Attributes
    ----------
    verdict : bool or None
        Whether the curve is nowhere below the other, up to `tolerance`; None if the brackets of
        the curves leave it open.
    alpha : float
        Where the difference is least; for a refutation, where the curve is below.
    gap : float
        The difference at `alpha`, f(alpha) less the other's beta: from the lower curve and the
        other's upper one; in a refutation, from the upper curve and the other's lower one.
    bound : float
        The difference is at least this at every alpha in [0, 1]; -inf if nothing was proved.
    tolerance : float
        As given.
    neighbours : {"replace", "add-remove"} or None
        The relation of the two data sets that both curves are about, if one of them states it.
    assumptions : tuple of str
        What the two curves assume.

    Examples
    --------
    >>> from leakscore.tradeoff import gaussian
    >>> bool(gaussian(1.0).at_least_as_private_as(gaussian(2.0)))
    True
    """

    verdict: bool | None
    alpha: float
    gap: float
    bound: float
    tolerance: float
    neighbours: str | None = None
    assumptions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.verdict is True
