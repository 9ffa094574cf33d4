"""A program that uses the package under a strict type checker: what is one number, what is many."""

from __future__ import annotations

from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

import numpy as np
import numpy.typing as npt

from leakscore import (
    Reference,
    audit,
    distributions,
    games,
    leakage,
    scores,
    sequential,
    shadow,
    tradeoff,
    whitebox,
)

if TYPE_CHECKING:
    from typing_extensions import assert_type
else:

    def assert_type(value: object, kind: object) -> object:
        """Hold what a checker believes against what is there at run time."""
        assert is_of(value, kind), f"{value!r} is no {kind}"
        return value


def is_of(value: Any, kind: object) -> bool:
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin is tuple:
        return value.__class__ is tuple and all(map(is_of, value, parts))
    if origin in (Union, UnionType):
        return any(is_of(value, part) for part in parts)
    if origin is np.ndarray:
        return bool(value.__class__ is np.ndarray and value.dtype == get_args(parts[1])[0])
    return isinstance(kind, type) and isinstance(value, kind)


Doubles = npt.NDArray[np.float64]

RATES = np.array([0.1, 0.2])
RECORD, RECORDS = [0.5, 1.0], [[0.5, 1.0], [2.0, 3.0], [0.0, 1.0]]
LINE, TABLE = np.ones(2), np.ones((3, 2))


def laws(many: Doubles, single: np.float32, whole: np.int64) -> None:
    norm, ncx2, gx2 = distributions.norm, distributions.ncx2, distributions.gx2
    assert_type(norm.cdf(0.5), float)
    assert_type(norm.cdf(1), float)
    assert_type(norm.logsf(single), float)
    assert_type(norm.logsf(whole), float)
    assert_type(norm.ppf([0.1, 0.2]), Doubles)
    assert_type(norm.ppf((0.1, 0.2)), Doubles)
    assert_type(norm.isf(many), Doubles)
    assert_type(norm.isf(many, out=many), Doubles)
    assert_type(norm.isf(many, dtype=np.float64), Doubles)
    assert_type(ncx2.sf(1.0, 2, 3.0), float)
    assert_type(ncx2.sf(1.0, df=2, nc=3.0), float)
    assert_type(ncx2.sf(many, 2, 3.0), Doubles)
    assert_type(ncx2.sf(1.0, [2, 3], 3.0), Doubles)
    assert_type(ncx2.sf(1.0, 2, many), Doubles)
    assert_type(gx2.sf(3.0, [1.0, 2.0], 1, 0), float)
    assert_type(gx2.sf(many, [1.0, 2.0], 1, 0, sigma=1.0), Doubles)
    assert_type(distributions.marcum_q(1, 2.0, 3.0), float)
    assert_type(distributions.marcum_q(1, 2.0, many), Doubles)
    assert_type(distributions.edgeworth.cdf(1.0, [0.0, 1.0]), float)
    assert_type(distributions.edgeworth.cdf(many, [0.0, 1.0]), Doubles)
    assert_type(distributions.edgeworth.valid(many, [0.0, 1.0]), npt.NDArray[np.bool_])
    assert_type(distributions.clopper_pearson(1, 10), tuple[float, float])
    assert_type(distributions.clopper_pearson([1, 2], 10), tuple[Doubles, Doubles])
    assert_type(distributions.clopper_pearson(1, 10, [0.9, 0.95]), tuple[Doubles, Doubles])
    assert_type(distributions.clopper_pearson(1, 10, None, "lower"), tuple[float, float])


def scores_of_rows(x: Doubles, z: Doubles, unknown: npt.ArrayLike, known: Reference) -> None:
    assert_type(scores.gaussian_llr(RECORD, RECORD, known, 10), float)
    assert_type(scores.gaussian_llr(RECORDS, RECORD, known, 10), Doubles)
    assert_type(scores.gaussian_llr(RECORD, RECORDS, known, 10), Doubles)
    assert_type(scores.gaussian_llr(LINE, LINE, known, n=10, neighbours="add-remove"), float)
    assert_type(scores.gaussian_llr(TABLE, LINE, known, 10), Doubles)
    assert_type(scores.gaussian_llr(x, z, known, 10, paired=True), Doubles)
    assert_type(scores.gaussian_llr(observed=LINE, target=LINE, reference=known, n=10), float)
    assert_type(scores.gaussian_llr(unknown, unknown, known, 10), float | Doubles)
    assert_type(scores.covariance_score(TABLE, TABLE, known, 10), Doubles)
    assert_type(scores.scalar_product(LINE, LINE, LINE), float)
    assert_type(scores.bernoulli_llr(LINE, TABLE, RATES), Doubles)
    assert_type(scores.edgeworth_llr(LINE, LINE, known, 10, 0.0, 0.0), float)
    assert_type(scores.glir(TABLE, LINE, known, 10), Doubles)
    assert_type(scores.homer_distance(LINE, LINE, RATES), float)
    assert_type(scores.genotype_llr(LINE, TABLE, RATES, 10), Doubles)
    assert_type(scores.z_estimator_llr(LINE, LINE, np.eye(2), LINE, 10), float)
    assert_type(scores.subsampled_llr(1.0, 0.5), float)
    assert_type(scores.subsampled_llr([1.0], 0.5), Doubles)
    assert_type(scores.oracle_threshold(0.5, 4.0), float)
    assert_type(scores.oracle_threshold(0.5, [4.0]), Doubles)
    assert_type(known.squared_mahalanobis(LINE), float)
    assert_type(known.squared_mahalanobis(TABLE), Doubles)
    assert_type(known.inner(LINE, TABLE), Doubles)
    assert_type(known.inner(RECORD, RECORD), float)
    assert_type(leakage.leakage_score(RECORD, known, 10), float)
    assert_type(leakage.leakage_score(z, known, 10, noise_std=0.1), Doubles)
    assert_type(leakage.leakage_score(target=TABLE, reference=known, n=10), Doubles)
    assert_type(leakage.release_leakage(LINE, known, [10, 20], step=1), float)
    assert_type(leakage.second_order_leakage(TABLE, known, 10, 0.0), Doubles)
    assert_type(leakage.cross_leakage(LINE, LINE, known, 10), float)
    assert_type(leakage.effective_leakage(4.0, 10, 2, n_reference=50), float)
    assert_type(leakage.effective_leakage(x, 10, 2, n_reference=50), Doubles)
    assert_type(
        leakage.effective_leakage(squared_mahalanobis=4.0, n=9, dim=2, n_reference=50), float
    )


def curves(many: Doubles, unknown: npt.ArrayLike, curve: tradeoff.TradeOff) -> float:
    one, several = tradeoff.gaussian(1.0), tradeoff.gaussian(leakage=[1.0, 4.0])
    assert_type(one.power(0.05), float)
    assert_type(one.power([0.05]), Doubles)
    assert_type(one(RATES), Doubles)
    assert_type(one.power(unknown), Doubles)
    assert_type(one.mu, float)
    assert_type(one.advantage(), float)
    assert_type(one.epsilon(1e-5, "forward"), float)
    assert_type(one.ppv(0.01, prior=0.1), float)
    assert_type(one.ppv(0.01, prior=[0.1]), Doubles)
    assert_type(one.interval("epsilon", 1e-5), tuple[float, float])
    assert_type(one.interval("power", many), tuple[Doubles, Doubles])
    assert_type(one.inverse().auc(), float)
    assert_type(one.best_of(3).delta(1.0), float)
    assert_type(one.subsample(0.1).delta(1.0), float)
    assert_type(several.power(0.05), Doubles)
    assert_type(several.leakage, Doubles)
    assert_type(several.symmetrized().auc(), Doubles)
    assert_type(tradeoff.gaussian(unknown).power(0.05), Doubles)
    assert_type(tradeoff.laplace(1.0).delta(0.5), float)
    assert_type(tradeoff.laplace(many).delta(0.5), Doubles)
    assert_type(tradeoff.relaxed_gaussian(1.0, 3).power(0.1), float)
    assert_type(tradeoff.relaxed_gaussian([1.0, 2.0]).power(0.1), Doubles)
    assert_type(tradeoff.subsampled_mean(4.0, 0.1).sample_rate, float)
    assert_type(tradeoff.gaussian_mean(100.0, 20, 100).power(0.01), float)
    assert_type(tradeoff.gaussian_mean(many, n=20, dim=100, noise_ratio=0.1).auc(), Doubles)
    assert_type(tradeoff.misspecified(4.0, [2.0, -2.0]).advantage(), Doubles)
    assert_type(tradeoff.subsampled_gaussian(1.0, 0.01, 100).epsilon(1e-5), float)
    assert_type(tradeoff.gdp_epsilon(1e-5, many), Doubles)
    return curve.power(0.05)  # a TradeOff without parameter is one curve


def steps(many: Doubles, unknown: npt.ArrayLike, known: Reference) -> None:
    assert_type(sequential.semi_uniform(RECORD), float)
    assert_type(sequential.semi_max(TABLE), Doubles)
    assert_type(sequential.poisson_llr(RECORD, 0.1), float)
    assert_type(sequential.allocation_llr(many), Doubles)
    assert_type(sequential.error_rates(0.0, 5.0, 10, 2), tuple[float, float])
    assert_type(sequential.error_rates(many, 5.0, 10, 2), tuple[Doubles, Doubles])
    assert_type(sequential.semi_uniform(RECORD, [0.5, 0.5]), float)
    assert_type(sequential.hotelling(RECORD, known, 10).pvalue, float)
    assert_type(sequential.hotelling(TABLE, known, 10).pvalue, Doubles)
    assert_type(sequential.hotelling(unknown, known, 10).pvalue, float | Doubles)
    assert_type(sequential.game_tradeoff(2.0).epsilon(1e-5), float)
    assert_type(whitebox.aggregate(RECORD, "max"), float)
    assert_type(whitebox.aggregate(TABLE, "poisson", 0.1), Doubles)
    training = games.Training("linear", 50, 10, 0.1)
    assert_type(training.losses([1.0], [3.0, 1.0]), float)
    assert_type(training.losses([1.0], TABLE), Doubles)


def audits(many: Doubles) -> None:
    made = audit.Audit(many, many)
    assert_type(made.tpr_at(0.1), float)
    assert_type(made.tpr_at([0.1, 0.2]), Doubles)
    assert_type(shadow.offline_power(0.1, 2.0, 8, variance="pooled"), float)
    assert_type(shadow.required_models(alpha=0.1, shift=2.0), int)
    assert_type(shadow.required_models(0.1, many + 1.0), npt.NDArray[np.int64])
    band = made.band(0.9, "dkw")
    assert_type(band.tpr_at(0.1), tuple[float, float])
    assert_type(band.tpr_at(many), tuple[Doubles, Doubles])


if __name__ == "__main__":
    POPULATION = Reference([0.0, 0.0], [1.0, 4.0])

    laws(np.array(RATES), np.float32(0.5), np.int64(1))
    scores_of_rows(TABLE + 1.0, TABLE, RECORD, POPULATION)
    curves(RATES, [0.5], tradeoff.gaussian(1.0))
    steps(np.ones((3, 2)), RECORD, POPULATION)
    audits(RATES)
