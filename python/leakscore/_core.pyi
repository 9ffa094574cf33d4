# Types of the compiled core, one section per binding file; tests/test_codebase.py compares it with
# the built module.
from typing import Any, overload

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[Any]
_Doubles = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]
_Words = npt.NDArray[np.uint64]
_Floats = npt.NDArray[np.float32]
_Counts = npt.NDArray[np.int64]
_Band = tuple[float, _Counts, _Doubles]  # half-width; knots, values

# --- bind_runtime.cpp ---

def set_num_threads(count: int) -> None: ...
def get_num_threads() -> int: ...
def active_isa() -> str: ...
def supported_isas() -> list[str]: ...
def select_isa(name: str) -> None: ...

# --- bind_distributions.cpp ---

norm_pdf: np.ufunc
norm_logpdf: np.ufunc
norm_cdf: np.ufunc
norm_sf: np.ufunc
norm_logcdf: np.ufunc
norm_logsf: np.ufunc
norm_ppf: np.ufunc
norm_isf: np.ufunc
norm_ilogcdf: np.ufunc
norm_ilogsf: np.ufunc
chi2_pdf: np.ufunc
chi2_logpdf: np.ufunc
chi2_cdf: np.ufunc
chi2_sf: np.ufunc
chi2_logcdf: np.ufunc
chi2_logsf: np.ufunc
chi2_ppf: np.ufunc
chi2_isf: np.ufunc
chi2_ilogcdf: np.ufunc
chi2_ilogsf: np.ufunc
ncx2_pdf: np.ufunc
ncx2_logpdf: np.ufunc
ncx2_cdf: np.ufunc
ncx2_sf: np.ufunc
ncx2_logcdf: np.ufunc
ncx2_logsf: np.ufunc
ncx2_ppf: np.ufunc
ncx2_isf: np.ufunc
ncx2_ilogcdf: np.ufunc
ncx2_ilogsf: np.ufunc
marcum_q: np.ufunc
marcum_p: np.ufunc
marcum_q_inv: np.ufunc
kolmogorov_pdf: np.ufunc
kolmogorov_logpdf: np.ufunc
kolmogorov_cdf: np.ufunc
kolmogorov_sf: np.ufunc
kolmogorov_logcdf: np.ufunc
kolmogorov_logsf: np.ufunc
kolmogorov_ppf: np.ufunc
kolmogorov_isf: np.ufunc
kolmogorov_ilogcdf: np.ufunc
kolmogorov_ilogsf: np.ufunc

# --- end of bind_distributions.cpp ---

# --- bind_edgeworth.cpp ---

edgeworth_pdf: np.ufunc
edgeworth_logpdf: np.ufunc
edgeworth_cdf: np.ufunc
edgeworth_sf: np.ufunc
edgeworth_logcdf: np.ufunc
edgeworth_logsf: np.ufunc
edgeworth_ppf: np.ufunc
edgeworth_isf: np.ufunc
edgeworth_ilogcdf: np.ufunc
edgeworth_ilogsf: np.ufunc
edgeworth_valid: np.ufunc
edgeworth_cornish_fisher: np.ufunc

# --- end of bind_edgeworth.cpp ---

# --- bind_folded_laplace.cpp ---

folded_laplace_pdf: np.ufunc
folded_laplace_logpdf: np.ufunc
folded_laplace_cdf: np.ufunc
folded_laplace_sf: np.ufunc
folded_laplace_logcdf: np.ufunc
folded_laplace_logsf: np.ufunc
folded_laplace_ppf: np.ufunc
folded_laplace_isf: np.ufunc
folded_laplace_ilogcdf: np.ufunc
folded_laplace_ilogsf: np.ufunc

# --- end of bind_folded_laplace.cpp ---

# --- bind_binomial.cpp ---

def clopper_pearson(
    k: _Doubles, n: _Doubles, alpha: _Doubles, confidence: _Doubles, upper: bool
) -> tuple[_Doubles, _Doubles]: ...

# --- end of bind_binomial.cpp ---

# --- bind_scores.cpp ---

def covariance_score(
    observed: _Array,
    target: _Array,
    mean: _Doubles,
    variance: _Doubles,
    noise_std: _Doubles,
    n: float,
    paired: bool,
) -> tuple[_Doubles, int]: ...
def gaussian_llr(
    observed: _Array,
    target: _Array,
    mean: _Doubles,
    variance: _Doubles,
    noise_std: _Doubles,
    n: float,
    paired: bool,
) -> tuple[_Doubles, int]: ...
def add_remove_llr(
    observed: _Array,
    target: _Array,
    mean: _Doubles,
    variance: _Doubles,
    noise_std: _Doubles,
    n: float,
    paired: bool,
) -> tuple[_Doubles, int]: ...
def scalar_product(
    observed: _Array,
    target: _Array,
    mean: _Doubles,
    variance: _Doubles,
    noise_std: _Doubles,
    n: float,
    paired: bool,
) -> tuple[_Doubles, int]: ...
def weighted_sum(
    observed: _Array,
    target: _Array,
    mean: _Doubles,
    variance: _Doubles,
    noise_std: _Doubles,
    n: float,
    paired: bool,
) -> tuple[_Doubles, int]: ...
def edgeworth_second(
    observed: _Array,
    target: _Array,
    mean: _Doubles,
    variance: _Doubles,
    skewness: _Doubles,
    kurtosis: _Doubles,
    n: float,
) -> tuple[_Doubles, int]: ...
def edgeworth_third(
    observed: _Array,
    target: _Array,
    mean: _Doubles,
    variance: _Doubles,
    skewness: _Doubles,
    kurtosis: _Doubles,
    n: float,
) -> tuple[_Doubles, int]: ...
def bernoulli_llr(
    observed: _Array, target: _Array, p: _Doubles, paired: bool
) -> tuple[_Doubles, int]: ...
def bernoulli_log_ratios(
    observed: _Array, p: _Doubles
) -> tuple[_Doubles, _Doubles, bool, bool]: ...
def homer_distance(observed: _Array, target: _Array, p: _Doubles) -> tuple[_Doubles, int]: ...

# --- end of bind_scores.cpp ---

# --- bind_reference.cpp ---

def set_blas(blas: dict[str, Any], lapack: dict[str, Any]) -> None: ...
def column_moments(x: _Array) -> tuple[_Doubles, _Doubles]: ...
def scatter(x: _Array, mean: _Doubles, in_float: bool) -> _Doubles: ...
def copy_symmetric(cov: _Array) -> tuple[_Doubles, bool]: ...
def quadratic(x: _Array, centre: _Doubles, weight: _Doubles) -> _Doubles: ...
def quartic(x: _Array, centre: _Doubles, weight: _Doubles) -> _Doubles: ...
def left_out(x: _Array, centre: _Doubles, weight: _Doubles) -> _Doubles: ...
def mahalanobis(x: _Array, centre: _Doubles, factor: _Doubles) -> _Doubles: ...
def quadratic_about(x: _Array, centres: _Array, weight: _Doubles) -> _Doubles: ...
def mahalanobis_about(x: _Array, centres: _Array, factor: _Doubles) -> _Doubles: ...

# --- end of bind_reference.cpp ---

# --- bind_rows.cpp ---

def attackers(
    x: _Array,
    limits: _Doubles,
    centre: _Doubles,
    scale: _Doubles,
    factor: _Doubles,
    cov: _Doubles,
    others: float,
) -> tuple[_Doubles, _Doubles]: ...
def interleave(columns: list[_Doubles]) -> _Doubles: ...

# --- end of bind_rows.cpp ---

# --- bind_gram.cpp ---

def gram(x: _Array, centre: _Doubles, scale: _Doubles, in_float: bool) -> _Doubles: ...
def gram_and_moments(
    x: _Array, share: float, ridge: float, fourth: bool, in_float: bool
) -> tuple[_Doubles, _Doubles, _Doubles, float]: ...
def multiply(x: _Array, first: int, centre: _Doubles, vectors: _Doubles) -> _Doubles: ...
def combine(
    x: _Array, first: int, centre: _Doubles, weight: _Doubles, vectors: _Doubles
) -> None: ...
def combine_and_multiply(
    x: _Array, first: int, centre: _Doubles, unit: _Doubles, weight: _Doubles, vectors: _Doubles
) -> _Doubles: ...
def cholesky(cov: _Doubles) -> tuple[_Doubles, int]: ...
def solve_rows(factor: _Doubles, rows: _Doubles) -> None: ...
@overload
def whiten_rows(factor: _Floats, rows: _Floats) -> None: ...
@overload
def whiten_rows(factor: _Doubles, rows: _Doubles) -> None: ...

# --- end of bind_gram.cpp ---

# --- bind_random.cpp ---

def threefry4x64(counter: _Words, key: _Words) -> _Words: ...
def coin_words(key: _Words, count: int) -> _Words: ...
def inclusion_words(key: _Words, count: int) -> _Words: ...
def bernoulli_means(
    key: _Words,
    first: int,
    included: _Flags,
    records: int,
    replaced: bool,
    p: _Doubles,
    target: _Doubles,
    out: _Doubles,
) -> None: ...
def normals(
    key: _Words,
    first: int,
    included: _Flags,
    offset_without: _Doubles,
    offset_with: _Doubles,
    scale_without: _Doubles,
    scale_with: _Doubles,
    out: _Doubles,
) -> None: ...
def add_noise(key: _Words, first: int, included: _Flags, std: _Doubles, out: _Doubles) -> None: ...
def row_counts(
    key: _Words,
    first: int,
    included: _Flags,
    records: int,
    replaced: bool,
    x: _Array,
    exclude: int,
    with_replacement: bool,
    out: _Doubles,
) -> None: ...
def row_sums(
    key: _Words,
    first: int,
    included: _Flags,
    records: int,
    replaced: bool,
    x: _Array,
    exclude: int,
    with_replacement: bool,
    out: _Doubles,
) -> None: ...

# --- end of bind_random.cpp ---

# --- bind_shadow.cpp ---

def shadow_moments(x: _Array, included: _Array, rows: _Counts) -> _Doubles: ...
def shadow_sums(x: _Array, included: _Array, rows: _Counts, kind: str) -> _Doubles: ...
def shadow_left_out(
    x: _Array,
    included: _Array,
    rows: _Counts,
    moments: _Doubles,
    log_ratio: bool,
    out: _Doubles,
) -> bool: ...
def shadow_steps(x: _Array, included: _Array, rows: _Counts, moments: _Doubles) -> _Doubles: ...
def shadow_pair_products(
    x: _Array, included: _Array, rows: _Counts, moments: _Doubles
) -> _Doubles: ...
def student_log_ratio(
    d1: _Doubles, v1: _Doubles, nu1: _Doubles, d0: _Doubles, v0: _Doubles, nu0: _Doubles
) -> _Doubles: ...
def shadow_medians(x: _Array, included: _Array, rows: _Counts) -> _Doubles: ...

# --- bind_sorted_bits.cpp ---

def sorted_bits_grid(rounds: int) -> npt.NDArray[np.int64]: ...
def sorted_bits_critical(
    rounds: int, delta: float, miss: float, epsilon: _Doubles
) -> npt.NDArray[np.int64]: ...
def sorted_bits_crossing(
    rounds: int, delta: float, epsilon: float, counts: npt.NDArray[np.int64]
) -> float: ...

# --- bind_sorting.cpp ---

@overload
def sort_scores(scores: _Doubles) -> bool: ...
@overload
def sort_scores(scores: _Floats) -> bool: ...

# --- bind_four_outcomes.cpp ---

def four_outcomes_refuted(
    sizes: npt.NDArray[np.int64],
    members: npt.NDArray[np.int64],
    n1: int,
    n0: int,
    delta: float,
    miss: float,
    unit: float,
) -> tuple[int, int, int]: ...
def four_outcomes_refutes(
    sizes: npt.NDArray[np.int64],
    members: npt.NDArray[np.int64],
    n1: int,
    n0: int,
    delta: float,
    miss: float,
    epsilon: float,
) -> bool: ...
def four_outcomes_critical(
    n1: int, n0: int, epsilon: float, log_level: float
) -> npt.NDArray[np.int64]: ...
def four_outcomes_crossing(
    critical: npt.NDArray[np.int64],
    n1: int,
    n0: int,
    delta: float,
    epsilon: float,
    spare: float,
) -> float: ...

# --- bind_audit.cpp ---

@overload
def merge_score_halves(first: _Doubles, all: _Doubles) -> npt.NDArray[np.uint8]: ...
@overload
def merge_score_halves(first: _Floats, all: _Floats) -> npt.NDArray[np.uint8]: ...
@overload
def score_roc(nonmembers: _Doubles, members: _Doubles) -> tuple[_Doubles, _Doubles, _Doubles]: ...
@overload
def score_roc(nonmembers: _Floats, members: _Floats) -> tuple[_Doubles, _Doubles, _Doubles]: ...
@overload
def score_auc(nonmembers: _Doubles, members: _Doubles) -> float: ...
@overload
def score_auc(nonmembers: _Floats, members: _Floats) -> float: ...
@overload
def score_advantage(nonmembers: _Doubles, members: _Doubles) -> float: ...
@overload
def score_advantage(nonmembers: _Floats, members: _Floats) -> float: ...
def cell_counts(uniforms: _Doubles, cell_of: _Counts, cells: int) -> _Counts: ...
def cells_auc(nonmembers: _Counts, members: _Counts) -> _Doubles: ...
def cells_advantage(nonmembers: _Counts, members: _Counts) -> _Doubles: ...

# --- end of bind_audit.cpp ---

# --- bind_bands.cpp ---

@overload
def score_epsilon(
    nonmembers: _Doubles, members: _Doubles, delta: _Doubles, fpr_band: _Band, fnr_band: _Band
) -> tuple[_Array, ...]: ...
@overload
def score_epsilon(
    nonmembers: _Floats, members: _Floats, delta: _Doubles, fpr_band: _Band, fnr_band: _Band
) -> tuple[_Array, ...]: ...
@overload
def score_frontier(
    nonmembers: _Doubles, members: _Doubles, fpr_band: _Band, fnr_band: _Band
) -> tuple[_Array, ...]: ...
@overload
def score_frontier(
    nonmembers: _Floats, members: _Floats, fpr_band: _Band, fnr_band: _Band
) -> tuple[_Array, ...]: ...
def counts_epsilon(
    false_positives: _Counts,
    false_negatives: _Counts,
    n_nonmembers: int,
    n_members: int,
    delta: _Doubles,
    fpr_band: _Band,
    fnr_band: _Band,
) -> tuple[_Array, ...]: ...

# --- end of bind_bands.cpp ---

# --- bind_crossing.cpp ---

def crossing_probability(
    n: int, index: npt.NDArray[np.int64], bound: _Doubles, rest: _Doubles
) -> tuple[float, float]: ...
def berk_jones_upper(
    count: npt.NDArray[np.int64], n: int, threshold: float
) -> tuple[_Doubles, _Doubles]: ...

# --- bind_many_audits.cpp ---

@overload
def rows_epsilon(
    scores: _Doubles,
    member: npt.NDArray[np.uint8],
    rows: _Counts,
    delta: _Doubles,
    n_nonmembers: int,
    fpr_band: _Band,
    fnr_band: _Band,
) -> _Doubles: ...
@overload
def rows_epsilon(
    scores: _Floats,
    member: npt.NDArray[np.uint8],
    rows: _Counts,
    delta: _Doubles,
    n_nonmembers: int,
    fpr_band: _Band,
    fnr_band: _Band,
) -> _Doubles: ...

# --- end of bind_crossing.cpp ---

# --- bind_one_run.cpp ---

@overload
def one_run_right(scores: _Doubles, included: _Flags, k_plus: int, k_minus: int) -> int: ...
@overload
def one_run_right(scores: _Floats, included: _Flags, k_plus: int, k_minus: int) -> int: ...
def one_run_epsilon(
    guesses: float, correct: float, exposed: float, miss: float, confidence: float, high: float
) -> float: ...
def one_run_p_value(guesses: float, correct: float, exposed: float, epsilon: float) -> float: ...
def one_run_every_refutes(
    sizes: _Counts, right: _Counts, exposed: float, share: float, epsilon: float
) -> bool: ...
def one_run_every_p_value(sizes: _Counts, right: _Counts, exposed: float) -> float: ...
def one_run_gaussian_excess(
    canaries: float, guesses: float, correct: float, level: float, mu: float
) -> float: ...
def one_run_lines_contradiction(
    canaries: float,
    guesses: float,
    correct: float,
    level: float,
    at: _Doubles,
    value: _Doubles,
    slope: _Doubles,
) -> tuple[bool, _Doubles]: ...

# --- end of bind_one_run.cpp ---

# --- bind_tradeoff.cpp ---

gaussian_beta: np.ufunc
gaussian_power: np.ufunc
gaussian_log_power: np.ufunc
gaussian_delta: np.ufunc
gaussian_epsilon: np.ufunc
gaussian_advantage: np.ufunc
gaussian_auc: np.ufunc
line_beta: np.ufunc
line_power: np.ufunc
at_most_rest: np.ufunc
laplace_beta: np.ufunc
laplace_power: np.ufunc
relaxed_laplace_beta: np.ufunc
relaxed_laplace_power: np.ufunc
relaxed_laplace_inverse: np.ufunc

def running_log_sums(start: float, masses: _Doubles) -> _Doubles: ...
def convex_chain(x: _Doubles, y: _Doubles, slopes: _Doubles) -> _Counts: ...

# --- end of bind_tradeoff.cpp ---

# --- bind_wealth.cpp ---

class Wealth:
    def __init__(
        self,
        tangents: _Doubles,
        sizes: list[int],
        followed: int,
        log_limit: float,
        pairs: bool,
        inclusion: float,
        limit: int,
    ) -> None: ...
    def add(self, scores: _Doubles, member: _Flags) -> None: ...
    def counts(self) -> list[int]: ...
    def log_wealth(self, process: int) -> float: ...
    def log_peaks(self) -> list[float]: ...
    def merged(self, other: Wealth) -> Wealth: ...
    def state(self) -> bytes: ...
    def restore(self, state: bytes) -> None: ...

# --- end of bind_wealth.cpp ---

# --- bind_octaves.cpp ---

def octave_sum(left: _Doubles, right: _Doubles, spacing: float, keeps: int) -> _Doubles: ...
def octave_placed(
    law: _Doubles,
    spacing: float,
    shift: float,
    half: int,
    new_spacing: float,
    new_rows: int,
    keeps: int,
) -> _Doubles: ...

# --- end of bind_octaves.cpp ---

# --- bind_gx2.cpp ---

def gx2_pdf(
    x: _Doubles, weights: _Doubles, df: _Doubles, nc: _Doubles, sigma: float, offset: float
) -> _Doubles: ...
def gx2_logpdf(
    x: _Doubles, weights: _Doubles, df: _Doubles, nc: _Doubles, sigma: float, offset: float
) -> _Doubles: ...
def gx2_cdf(
    x: _Doubles, weights: _Doubles, df: _Doubles, nc: _Doubles, sigma: float, offset: float
) -> _Doubles: ...
def gx2_sf(
    x: _Doubles, weights: _Doubles, df: _Doubles, nc: _Doubles, sigma: float, offset: float
) -> _Doubles: ...
def gx2_logcdf(
    x: _Doubles, weights: _Doubles, df: _Doubles, nc: _Doubles, sigma: float, offset: float
) -> _Doubles: ...
def gx2_logsf(
    x: _Doubles, weights: _Doubles, df: _Doubles, nc: _Doubles, sigma: float, offset: float
) -> _Doubles: ...
def gx2_ppf(
    x: _Doubles, weights: _Doubles, df: _Doubles, nc: _Doubles, sigma: float, offset: float
) -> _Doubles: ...
def gx2_isf(
    x: _Doubles, weights: _Doubles, df: _Doubles, nc: _Doubles, sigma: float, offset: float
) -> _Doubles: ...
def gx2_ilogcdf(
    x: _Doubles, weights: _Doubles, df: _Doubles, nc: _Doubles, sigma: float, offset: float
) -> _Doubles: ...
def gx2_ilogsf(
    x: _Doubles, weights: _Doubles, df: _Doubles, nc: _Doubles, sigma: float, offset: float
) -> _Doubles: ...
def gx2_error(
    x: _Doubles, weights: _Doubles, df: _Doubles, nc: _Doubles, sigma: float, offset: float
) -> _Doubles: ...

# --- end of bind_gx2.cpp ---

# --- bind_batches.cpp ---

def draw_batches(
    key: _Words,
    first: int,
    present: _Flags,
    kind: str,
    records: int,
    slots: int,
    epochs: int,
    size: int,
    last_word: int,
    again: bool,
    patterns: _Flags,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...
def correlate_noise(matrix: _Doubles, noise: _Doubles) -> None: ...
def filtered_products(releases: _Array, gradients: _Array, x: _Doubles) -> _Doubles: ...
def allocated_llr(llr: _Array, epochs: int, hits: int, again: bool) -> _Doubles: ...
def sampled_llr(llr: _Array, rate: float) -> _Doubles: ...

# --- end of bind_batches.cpp ---

# --- bind_steps.cpp ---

def step_gradients(before: _Array, after: _Array, rate: float, out: _Doubles) -> bool: ...
def batch_means(before: _Array, after: _Array, rate: float, out: _Doubles) -> bool: ...
def step_llr(
    gradients: _Array,
    target: _Array,
    mean: _Doubles,
    variance: _Doubles,
    noise_std: _Doubles,
    n: _Doubles,
    earlier: _Doubles | None,
    add_remove: bool,
    out: _Doubles,
) -> bool: ...
def running_means(out: _Doubles) -> None: ...
def linear_descents(
    inputs: _Doubles,
    responses: _Doubles,
    longest: _Doubles,
    chosen: _Counts,
    start: _Doubles,
    rates: _Doubles,
    noise: _Doubles | None,
    out: _Doubles,
) -> None: ...

# --- bind_selections.cpp ---

def sum_by_code(
    codes: list[tuple[npt.NDArray[np.uint8], int]], columns: _Doubles, vectors: _Doubles
) -> _Doubles: ...
def add_by_code(
    codes: list[tuple[npt.NDArray[np.uint8], int]],
    columns: _Doubles,
    tables: _Doubles,
    sizes: bool,
    vectors: _Doubles,
) -> None: ...
