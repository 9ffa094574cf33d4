"""Parts below the rooms that tests of numbers, kernels and error terms speak to.

Each is named here alone: a part that moves changes one line.
"""

from leakscore.audit.bands import BAND_METHODS, Band, band, beta_bounds, crossing
from leakscore.audit.blind import holm
from leakscore.audit.claims import Family, gaussian_epsilon, largest_mu, largest_parameter, margins
from leakscore.audit.monitor import tangents_of
from leakscore.audit.required import BandPlan
from leakscore.audit.training import Guesses
from leakscore.audit.training_curves import Contradiction
from leakscore.games.projections import Binned, Bins, Projections, weighted_sums
from leakscore.leakage._shaped import solve
from leakscore.leakage.groups import Groups
from leakscore.leakage.noise.interior import lower_bound, lower_bound_independent
from leakscore.leakage.noise.problem import PersonBlock, PersonsProblem, Problem, regular
from leakscore.leakage.table_law import TableLaw, rough_noise
from leakscore.reference.low_rank import CentredRows
from leakscore.sequential._octaves import OctaveCurves, Ratio, average, rates, ratio_law
from leakscore.sequential._uniform import uniform_error_rates
from leakscore.shadow._gains import OneStep
from leakscore.shadow._power import log_tail, student_isf
from leakscore.shadow.records import DistinctHits, ranking
from leakscore.tradeoff.batches import truncated_poisson_gaussian
from leakscore.tradeoff.composition.ends import absolute_sum, ends, rare_losses
from leakscore.tradeoff.composition.laws import (
    AllocatedEpoch,
    KnownLaw,
    LargestOutput,
    Losses,
    MixedStep,
    ReplacedStep,
    StatedPair,
    log_losses,
    lower_curve,
    ratio_losses,
    stated_pair,
    upper_curve,
)
from leakscore.tradeoff.composition.octaves import (
    MEAN,
    Component,
    Octaves,
    in_use,
    joined,
    loss_step,
    power,
    ratio_step,
    upper_half_step,
    weighted,
)
from leakscore.tradeoff.composition.plan import MANY, Cumulants, Window
from leakscore.tradeoff.composition.steps import (
    AllocatedSteps,
    GaussianMagnitude,
    GaussianStep,
    LaplaceMagnitude,
    LaplaceStep,
    Parts,
    Step,
    lattice,
    on_lattice,
    revealed,
    shrunk,
)
from leakscore.tradeoff.composition.sums import (
    BlockMasses,
    EqualSteps,
    block_size,
    compose_lattices,
    low_frequencies,
)
from leakscore.tradeoff.family import log_rest
from leakscore.tradeoff.polygon import (
    Polygon,
    below,
    certified_lower,
    certified_upper,
    joined_tests,
    log_slopes,
    lower_hull,
    moved_beta,
)
from leakscore.tradeoff.premise import UNSTATED, Certificate, Premise, about, premise_in, settled
from leakscore.tradeoff.relaxed import log_ratio, tails
from leakscore.tradeoff.shapes import Between
from leakscore_app.audits.alike import blind
from leakscore_app.audits.judge import judge
from leakscore_app.audits.rounds import LineStream, RoundParser
from leakscore_app.audits.scores import BinCounts, LoadedScores, Rounds, Samples, read_scores
from leakscore_app.passes.lattices import ColumnSteps
from leakscore_app.passes.projections import (
    EXTREMES,
    Direction,
    MeasureOthers,
    MeasureUnexplained,
    Project,
    ProjectedNumbers,
    Triangulate,
    cuts_of,
)
from leakscore_app.passes.rows import FirstPass, JudgedRows, first_pass
from leakscore_app.passes.runner import Tree, run
from leakscore_app.passes.scores import (
    CountAbove,
    ScorePass,
    ScoreRows,
    SparseHistogram,
    Ties,
    bin_of,
)
from leakscore_app.questions.answering import opened
from leakscore_app.report._model import Game
from leakscore_app.report._published import Published
from leakscore_app.report._verdict import verdict_of
from leakscore_app.report.engine.attack import attack_on, bins_of, projected
from leakscore_app.report.engine.crowd import Crowd
from leakscore_app.report.engine.game import highest, mean_upper, played
from leakscore_app.report.engine.leakage import Budget, interval_of, least_size, narrowed, thinned
from leakscore_app.report.engine.noise import Search, Slopes, TheoryNoise
from leakscore_app.report.engine.pooled import Pooled, PooledCells, PooledLaw
from leakscore_app.report.engine.population import Population
from leakscore_app.report.engine.sums import Summands, laws, quantity_of
from leakscore_app.tables.categories import Categories
from leakscore_app.tables.cells import numbered, plain
from leakscore_app.tables.doubts import Columns, option
from leakscore_app.tables.numbers import (
    ALL,
    CONVENTIONS,
    Convention,
    conventions_of,
    parse,
    shape_of,
)
from leakscore_app.tables.sources.blocks import ArrayPart, Block, NpyPart, Source, cut
from leakscore_app.tables.sources.frames import CallablePart, ParquetPart
from leakscore_app.tables.sources.opened import of_frame
from leakscore_app.tables.sources.texts import KeptPieces, TextPart, text_part
from leakscore_app.tables.table import Explained, combinations
