"""Tests by room; what several of them share lies in `contract`, `helpers` and `oracles`."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
