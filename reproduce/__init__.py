"""Published figures, made again: each checks its numbers against the theory it illustrates.

One module per paper; only the command line (``leakscore reproduce FIGURE``) imports them.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from leakscore import _validate
from leakscore.reproduce import _data
from leakscore.reproduce._outcome import Outcome

__all__ = ["names", "run"]

# Name: module, or an object in it, which has `reproduce(rounds=, seed=)` and `draw(outcome, path)`.
# Where the name has an entry in `_data.PACKAGES`, `reproduce` takes `data=` too, a tuple of paths.
_FIGURES = {
    "azize-2": "azize",
    "azize-3": "azize_training",
    "azize-5": "azize_appendix",
    "azize-6": "azize_references",
    "azize-errata": "azize_errata",
    "azize-subsampling": "azize_subsampling",
    "coverage": "coverage",
    "genotypes": "genotypes",
    "kaissis-1": "kaissis",
    "kaissis-2": "kaissis_power",
    "kaissis-3b": "kaissis_audits:GAUSSIAN",
    "kaissis-5": "kaissis_audits:LAPLACE",
    "kaissis-6": "kaissis_audits:SUBSAMPLED",
    "kaissis-calibration": "kaissis_calibration",
    "michel-1": "michel:ONE",
    "michel-2": "michel:TWO",
    "michel-3": "michel_audit",
    "michel-4": "michel:FOUR",
    "michel-7": "michel_descent",
    "michel-8": "michel:EIGHT",
}


def names() -> list[str]:
    """Return the names of the figures that can be reproduced.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from leakscore import reproduce
    >>> reproduce.names()[:3]
    ['azize-2', 'azize-3', 'azize-5']
    """
    return sorted(_FIGURES)


def run(
    name: str,
    *,
    rounds: int | None = None,
    seed: int = 1,
    out: str | Path | None = None,
    data: str | os.PathLike[str] | None = None,
    stream: TextIO | None = None,
) -> bool:
    """Reproduce a figure: print its numbers beside the theory's, and draw it.

    Parameters
    ----------
    name : str
        One of `names`.
    rounds : int, optional
        Simulated games per hypothesis and setting; by default as many as the figure's tolerances
        were chosen for.
    seed : int
        Seed of everything random in it.
    out : path, optional
        Directory of the figure's file, made if it does not exist; by default the current one. The
        figure needs matplotlib (``pip install "leakscore[plot]"``); without it a line says that it
        was not drawn.
    data : path, optional
        Of figures that read real data: the folder of the files, one of the files, or a folder into
        which their Debian package was unpacked; by default where the package is installed.
    stream : file, optional
        Where the table is printed; standard output by default.

    Returns
    -------
    bool
        Whether every number agrees with the theory within its tolerance.

    Raises
    ------
    ValueError
        If there is no such figure, an argument is out of its range, or `data` is given to a figure
        that reads none.
    FileNotFoundError
        If the data are not there; it names the package and how to get it.

    Examples
    --------
    >>> import io, tempfile
    >>> from leakscore import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     reproduce.run("azize-2", rounds=200, out=folder, stream=io.StringIO())
    True
    """
    _validate.choice("name", name, tuple(names()))
    if rounds is not None:
        rounds = _validate.count("rounds", rounds, low=2)
    seed = _validate.count("seed", seed, high=None)
    folder = Path("." if out is None else out)
    keywords: dict[str, Any] = {} if rounds is None else {"rounds": rounds}
    if data is not None or name in _data.PACKAGES:
        keywords["data"] = _data.find(name, data)
    folder.mkdir(parents=True, exist_ok=True)  # before the games, which may take minutes
    home, _, item = _FIGURES[name].partition(":")
    module = import_module(f"leakscore.reproduce.{home}")
    figure = getattr(module, item) if item else module
    outcome = figure.reproduce(seed=seed, **keywords)
    file = sys.stdout if stream is None else stream
    print(outcome.table(), file=file, flush=True)
    print(_draw(figure, outcome, folder / f"{name}.png"), file=file, flush=True)
    return bool(outcome.ok)


def _draw(figure: Any, outcome: Outcome, path: Path) -> str:
    """Write the figure and say so, or say why it was not written."""
    try:
        import_module("matplotlib")
    except ImportError as error:
        return f'Figure not written ({error}): pip install "leakscore[plot]" draws it.'
    figure.draw(outcome, path)
    return f"Figure written to {path}"
