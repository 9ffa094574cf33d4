"""Other packages that bound epsilon from scores, as they are published, without what they drag in.

Each is loaded if it is installed: ``pip install --no-deps jax-privacy opake-auditing
privacy-estimates`` and ``pip install dp-accounting absl-py statsmodels``, which is all that the
parts used here need. Nothing of JAX and PyTorch is imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

DELTA = 1e-5
MISS = 0.05
Bound = Callable[[np.ndarray[Any, Any], np.ndarray[Any, Any]], float]


@dataclass(frozen=True)
class Rival:
    """One bound of another package on epsilon(1e-5) at confidence .95: members, non-members."""

    name: str
    package: str
    bound: Bound
    coins: bool = False  # it assumes that a fair coin decides who is a member
    largest: int = 10_000_000  # scores of each kind that it is timed with

    @property
    def version(self) -> str:
        return f"{self.package} {metadata.version(self.package)}"


@cache
def installed() -> list[Rival]:
    """Return the bounds of the packages that are there, and say which are not."""
    found = []
    for package, load in (
        ("jax-privacy", _jax_privacy),
        ("privacy-estimates", _privacy_estimates),
        ("opake-auditing", _opake),
    ):
        try:
            metadata.version(package)
        except metadata.PackageNotFoundError:
            print(f"{package} is not installed: not compared")
            continue
        found += load(package)
    return found


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    assert spec is not None, package
    return Path(next(iter(spec.submodule_search_locations or ())))


def _jax_privacy(package: str) -> list[Rival]:
    """Load the one file, since its package imports JAX."""
    path = _folder("jax_privacy") / "auditing.py"
    spec = importlib.util.spec_from_file_location("_rival_jax_privacy", path)
    assert spec is not None, path
    assert spec.loader is not None, path
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    auditor = module.CanaryScoreAuditor

    def clopper_pearson(strategy: Any) -> Bound:
        return lambda members, nonmembers: auditor(members, nonmembers).epsilon_clopper_pearson(
            MISS, DELTA, threshold_strategy=strategy
        )

    return [
        Rival("CP, Bonferroni", package, clopper_pearson(module.Bonferroni())),
        Rival("CP, split", package, clopper_pearson(module.Split(seed=1))),
        Rival("from GDP", package, lambda a, b: auditor(a, b).epsilon_from_gdp(MISS, DELTA)),
    ]


def _opake(package: str) -> list[Rival]:
    """Load the estimate alone: its package imports PyTorch."""
    root = _folder("opake")
    for name in ("opake", "opake.api", "opake.api.auditing", "opake.api.auditing.one_run"):
        module = sys.modules[name] = ModuleType(name)
        module.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
    errors: Any = ModuleType("opake.exceptions")
    errors.ConfigurationError = errors.OperationError = ValueError
    sys.modules[errors.__name__] = errors
    estimate = importlib.import_module("opake.api.auditing.one_run._estimate")

    def bound(members: np.ndarray[Any, Any], nonmembers: np.ndarray[Any, Any]) -> float:
        thresholds, tn, fn = estimate.get_tn_fn_counts(members, nonmembers)
        found = estimate.OneRunEstimate(
            n_in=len(members),
            n_out=len(nonmembers),
            thresholds=thresholds,
            tn_counts=tn,
            fn_counts=fn,
            tp_counts=(fn[-1] - fn)[::-1],
            fp_counts=(tn[-1] - tn)[::-1],
            in_scores=members,
            out_scores=nonmembers,
        )
        return float(found.eps_delta().epsilon_at(delta=DELTA, significance=MISS))

    return [Rival("eps_delta", package, bound, coins=True)]


def _privacy_estimates(package: str) -> list[Rival]:
    """Bound at one threshold: it takes counts. The first tenth of the scores chooses it."""
    module = importlib.import_module("privacy_estimates")

    def bound(members: np.ndarray[Any, Any], nonmembers: np.ndarray[Any, Any]) -> float:
        first = [scores[: scores.size // 10] for scores in (members, nonmembers)]
        threshold = np.mean(np.concatenate(first))
        members, nonmembers = members[first[0].size :], nonmembers[first[1].size :]
        hits, alarms = int((members > threshold).sum()), int((nonmembers > threshold).sum())
        counts = module.AttackResults(
            FN=members.size - hits, FP=alarms, TN=nonmembers.size - alarms, TP=hits
        )
        return float(module.compute_eps_lo(counts, DELTA, MISS, "beta"))

    return [Rival("CP, one threshold", package, bound)]
