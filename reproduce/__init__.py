"""Published figures, reproduced: each checks its numbers against the theory it illustrates.

One module per figure, or per paper; ``python -m reproduce`` lists them.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from leakscore import validation
from reproduce import _data
from reproduce._outcome import Outcome
from reproduce._registry import FIGURES, Figure

__all__ = ["FIGURES", "Figure", "names", "run"]


def names() -> list[str]:
    """Return the names of the figures that can be reproduced.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import reproduce
    >>> reproduce.names()[:3]
    ['azize-2', 'azize-3', 'azize-5']
    """
    return sorted(FIGURES)


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
    >>> import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     reproduce.run("azize-2", rounds=200, out=folder, stream=io.StringIO())
    True
    """
    validation.choice("name", name, tuple(names()))
    if rounds is not None:
        rounds = validation.count("rounds", rounds, low=2)
    seed = validation.count("seed", seed, high=None)
    folder = Path("." if out is None else out)
    keywords: dict[str, Any] = {} if rounds is None else {"rounds": rounds}
    if data is not None or name in _data.PACKAGES:
        keywords["data"] = _data.find(name, data)
    folder.mkdir(parents=True, exist_ok=True)  # before the games, which may take minutes
    home, _, item = FIGURES[name].home.partition(":")
    module = import_module(f"reproduce.{home}")
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
