"""What a monitor keeps of its rounds: scores until the edges stay, and nothing behind."""

from __future__ import annotations

import subprocess
import sys

import pytest

GROWTH = """
import numpy as np
from leakscore.audit import Monitor
def used():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
rng = np.random.default_rng(0)
monitor = Monitor((1.0, 1e-5), epsilons=(), history=150_000)
def play(rounds):
    member = rng.random(rounds) < 0.5
    monitor.update(rng.normal(0.3 * member), member)
play(25_000)
before = used()
for _ in range(5):
    play(25_000)
kept = used()
for _ in range(8):
    play(25_000)
print(kept - before, used() - kept, len(monitor.to_bytes()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_of_rounds() -> None:
    """64 MB for 1e6 rounds are 8 MB for 125,000; a monitor whose edges stay takes no more."""
    given = [sys.executable, "-c", GROWTH]
    printed = subprocess.run(given, check=True, capture_output=True, text=True).stdout
    growing, frozen, saved = map(float, printed.split())
    assert growing < 8.0
    assert frozen < 1.0
    assert saved < 10_000
