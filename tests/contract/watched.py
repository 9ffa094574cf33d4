"""Good calls of monitors and of tests of mechanisms, for contract_table.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakscore import audit, testing
from tests.contract import inputs as good
from tests.contract.inputs import Call

BITS = np.random.default_rng(6).random(600) < 0.5
NO_LEVEL = (0.0, 1.0, good.NAN, "0.9", None, 1j)
NO_CLAIM = ((-1.0, 0.0), (1.0, 1.0), (good.NAN, 0.0), (1.0,), 1.0, "1", [1.0, None])


def _watched(scores: Any = good.POINTS[:600], member: Any = BITS, **given: Any) -> list[float]:
    monitor = audit.Monitor(**{"claim": (0.5, 1e-3), "epsilons": [0.1, 0.2]} | given)
    monitor.update(scores, member)
    parts = [monitor.p_value, monitor.epsilon()]
    return [*parts, monitor.log_e_value, monitor.rounds, monitor.merge(_other(**given)).p_value]


def _other(**given: Any) -> audit.Monitor:
    return audit.Monitor(**{"claim": (0.5, 1e-3), "epsilons": [0.1, 0.2]} | given)


def _merged(other: Any) -> float:
    return _other().merge(other).p_value


def _checked(**given: Any) -> list[float]:
    found = testing.check_private(lambda data, rng: rng.random(), 0, 1, **given)
    return [found.p_value, found.e_value, found.rounds]


def _asserted(**given: Any) -> None:
    testing.assert_private(lambda data, rng: rng.random(), 0, 1, **given)


CHECK = {
    "claim": ((1.0, 0.0), (None, *NO_CLAIM)),
    "rounds": (200, good.NO_COUNT),
    "confidence": (0.9, NO_LEVEL),
    "rng": (3, good.NO_RNG),
}
WATCHED: dict[str, list[Call]] = {
    "audit.Monitor.update": [
        Call(lambda scores: _watched(scores), {"scores": good.POINTS[:600]}, "scores"),
        Call(lambda member: _watched(member=member, design="pairs"), {"member": BITS}),
        Call(
            _watched,
            scalars={
                "claim": ((1.0, 0.0), NO_CLAIM),
                "confidence": (0.9, NO_LEVEL),
                "delta": (1e-3, (-0.1, 1.0, good.NAN, "0", 1j)),
                "design": ("pairs", ("both", None, 1)),
                "inclusion": (0.5, (0.0, 1.0, 0.6, good.NAN, "0.5", None)),
                "history": (100, (3, *good.NO_COUNT)),
            },
        ),
    ],
    "audit.Monitor.epsilon": [
        Call(_other().epsilon, scalars={"delta": (1e-3, (1e-4, -0.1, 1.0, good.NAN, "0", 1j))})
    ],
    "audit.Monitor.merge": [Call(_merged, scalars={"other": (_other(), (None, 1, "m"))})],
    "audit.Monitor.from_bytes": [
        Call(
            lambda data: audit.Monitor.from_bytes(data).p_value,
            scalars={"data": (_other().to_bytes(), (b"", b"x" * 99, "text", None, 1))},
        )
    ],
    "testing.check_private": [Call(_checked, scalars=CHECK)],
    "testing.assert_private": [Call(_asserted, scalars=CHECK)],
}
WATCHED_WITHOUT_ARGUMENTS = {
    "audit.Monitor.mu",
    "audit.Monitor.to_bytes",
    "testing.PrivacyCheck.require_unrefuted",
}
WATCHED_RESULTS = {"audit.Monitor", "testing.PrivacyCheck"}
