"""Sizes at which the work is divided, so that a test reaches what only long inputs do.

Numbers do not depend on them, or a test says how.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

SIZES = {
    "long": "leakscore_app.report._report.LONG",  # rows beyond which a table is read in blocks
    "block": "leakscore_app.tables.sources.blocks.ROWS",  # rows of a block
    "kept": "leakscore_app.passes.scores.WORST_ROWS",  # rows of largest score
    "sampled": "leakscore_app.passes.rows.SAMPLED",
    "hashes": "leakscore_app.passes.rows._MOST_HASHES",
    "step_values": "leakscore_app.passes.lattices._MOST_NUMBERS",
    "block_rows": "leakscore_app.report.engine.features.ROWS",
    "block_numbers": "leakscore_app.report.engine.features._NUMBERS",
    "block_by_group": "leakscore_app.report.engine.features._BY_GROUP",
    "fewest_rows": "leakscore_app.report.engine.features._FEWEST",
    "covariances": "leakscore_app.report.engine.blocks._TOGETHER",  # numbers of those in one pass
    "few_columns": "leakscore_app.report._report._FEW_COLUMNS",
    "memory": "leakscore_app.tables.files.MAX_MEMORY",
    "piece": "leakscore_app.tables.sources.texts.PIECE",  # characters of a csv read together
    "piece_rest": "leakscore_app.tables.sources.texts._REST",
    "drawn": "leakscore_app.report.engine.attack.LARGEST_DRAWN",
    "anew_tables": "leakscore_app.report.engine.noise._MOST_TABLES",
    "single_from": "leakscore.reference.low_rank._SINGLE_FROM",  # products that float32 sums
    "strip_numbers": "leakscore.reference.low_rank._ELEMENTS",
    "dense_columns": "leakscore.leakage._noise._MOST_DENSE",
    "drawn_numbers": "leakscore.games._populations._BLOCK",
    "drawn_one_by_one": "leakscore.games.projections.LARGEST_DRAWN",
    "dask_rows": "leakscore.dask.blocks.ROWS",
    "dask_numbers": "leakscore.dask.blocks.NUMBERS",
    "dask_columns": "leakscore.dask._moments._MOST_COLUMNS",
    "dask_column_numbers": "leakscore.dask._moments._NUMBERS",
    "dask_sample": "leakscore.dask._audit._SAMPLE",
    "dask_ends": "leakscore.dask._audit._ENDS",
    "vcf_lines": "reproduce._vcf._BLOCK",
    "vcf_line": "reproduce._vcf._LONGEST",
    "vcf_bytes": "reproduce._vcf._LARGEST",
    "idx_bytes": "reproduce._idx._LARGEST",
    "epoch_draws": "reproduce._law._DRAWS",
    "law_lanes": "leakscore.leakage.table_law._LANES",
    "blind_cells": "leakscore.audit.blind._CELLS",  # of the labels that are tried at once
    "resampled_cells": "leakscore.audit.roc._CELLS",  # beyond which scores are grouped
    "roc_rows": "leakscore.audit.roc._ROWS",
    "band_ends": "leakscore.audit.bands.ENDS",  # counts of either end of a large sample's band
    "longest_monitor": "leakscore.audit.required._LONGEST",
    "kept_rounds": "leakscore.audit.scores.MAX_ROUNDS",
    "runs_of_weights": "leakscore.sequential._octaves._RUNS",
    "work_of_sums": "leakscore.sequential._octaves._WORK",
}


def sizes(monkeypatch: pytest.MonkeyPatch, **given: int) -> None:
    """Set some of the sizes, by their names in `SIZES`."""
    for name, size in given.items():
        monkeypatch.setattr(SIZES[name], size)


def figure_sizes(monkeypatch: pytest.MonkeyPatch, figure: Any, **given: Any) -> None:
    """Set the sizes of a figure of a paper: constants of its module or of its class."""
    owner = figure if isinstance(figure, ModuleType) else type(figure)
    for name, size in given.items():
        monkeypatch.setattr(owner, name, size)
