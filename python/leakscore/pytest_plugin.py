"""A plugin of pytest: the fixture `privacy` tests claims, and keeps seeds, rounds and verdicts.

They stand in the summary of the session, as properties of the test in JUnit's XML, and in pytest's
cache under ``leakscore/checks``. The package is imported when a test asks for the fixture.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from leakscore.testing import PrivacyCheck
    from leakscore.typing import Seed

_KEY = "privacy"


class Privacy:
    """Checks of one test, each with a seed of its own that depends on the test's name only."""

    def __init__(self, name: str, seed: int, rounds: int | None) -> None:
        self._name, self._seed, self._rounds = name, seed, rounds
        self.checks: list[dict[str, Any]] = []

    def check(
        self,
        mechanism: Any,
        data: Any,
        neighbour: Any,
        *,
        rounds: int = 4000,
        rng: Seed = None,
        **options: Any,
    ) -> PrivacyCheck:
        """Return the result of `leakscore.testing.check_private`; `rng=None` takes a kept seed."""
        from leakscore.testing import check_private

        seed = self._next_seed() if rng is None else rng
        check = check_private(
            mechanism,
            data,
            neighbour,
            rounds=rounds if self._rounds is None else self._rounds,
            rng=seed,
            **options,
        )
        self.checks.append(
            {
                "claim": str(check.claim),
                "verdict": "refuted" if check.refuted else "not refuted",
                "rounds": check.rounds,
                "p_value": check.p_value,
                "confidence": check.confidence,
                "seed": str(seed),
                "witness": check.witness,
            }
        )
        return check

    def assert_private(self, mechanism: Any, data: Any, neighbour: Any, **options: Any) -> None:
        """Fail the test if the claim is refuted; the message repeats the seed."""
        __tracebackhide__ = True
        check = self.check(mechanism, data, neighbour, **options)
        check.require_unrefuted(self.checks[-1]["seed"])

    def _next_seed(self) -> int:
        text = f"{self._seed}:{self._name}:{len(self.checks)}".encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest(), "little")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("leakscore", "privacy claims (leakscore)")
    group.addoption(
        "--privacy-rounds",
        type=int,
        metavar="N",
        help="the most rounds of every check, whatever the test says; more find smaller leaks",
    )
    group.addoption(
        "--privacy-seed",
        type=int,
        default=0,
        metavar="S",
        help="other coins and noise for all checks without a seed of their own (0)",
    )


@pytest.fixture
def privacy(request: pytest.FixtureRequest) -> Iterator[Privacy]:
    """Tests of privacy claims: `privacy.assert_private(...)`, as in `leakscore.testing`."""
    config, node = request.config, request.node
    seed, rounds = config.getoption("--privacy-seed"), config.getoption("--privacy-rounds")
    given = Privacy(node.nodeid, seed, rounds)
    yield given
    for number, check in enumerate(given.checks):
        for name, value in check.items():
            node.user_properties.append((f"{_KEY}[{number}].{name}", value))


def _checks_of(report: pytest.TestReport) -> list[dict[str, Any]]:
    """Return the checks in a report, also of another process."""
    checks: dict[str, dict[str, Any]] = {}
    for key, value in report.user_properties:
        if str(key).startswith(f"{_KEY}["):
            number, _, name = str(key).partition(".")
            checks.setdefault(number, {})[name] = value
    return list(checks.values())


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the checks, and store them in the cache."""
    # A fixture ends in the teardown, whose report has all properties.
    checks_by_test = {
        report.nodeid: checks
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "teardown" and (checks := _checks_of(report))
    }
    if not checks_by_test:
        return
    if (cache := getattr(config, "cache", None)) is not None:
        cache.set("leakscore/checks", checks_by_test)
    terminalreporter.section("privacy claims")
    for name, checks in checks_by_test.items():
        for check in checks:
            terminalreporter.line(
                f"{name}: {check['claim']}: {check['witness']}; p-value {check['p_value']:.3g}, "
                f"{check['rounds']} rounds, rng={check['seed']}"
            )
    levels = [1.0 - check["confidence"] for checks in checks_by_test.values() for check in checks]
    terminalreporter.line(
        f"{len(levels)} check{'s' * (len(levels) > 1)}. If every claim were true, "
        f"{sum(levels):.3g} refutations were expected at most, if each answer keeps its "
        "claim given all earlier ones. What is not refuted is not shown to be private."
    )
