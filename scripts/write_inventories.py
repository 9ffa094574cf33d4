"""Write docs/_inventories: where the names of other projects that our pages use are documented.

The site is built without network, so that the inventories are committed, with these names alone.
``python scripts/write_inventories.py`` writes them from the table below; with ``--check`` it asks
each project whether the addresses still hold, which needs network.
"""

from __future__ import annotations

import sys
import urllib.request
import zlib
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "_inventories"

ADDRESSES = {
    "python": "https://docs.python.org/3",
    "numpy": "https://numpy.org/doc/stable",
    "scipy": "https://docs.scipy.org/doc/scipy",
    "matplotlib": "https://matplotlib.org/stable",
}

# name, role, page; $ stands for the name
NAMES: dict[str, list[tuple[str, str, str]]] = {
    "python": [
        ("KeyError", "exception", "library/exceptions.html#$"),
        ("RuntimeError", "exception", "library/exceptions.html#$"),
        ("TypeError", "exception", "library/exceptions.html#$"),
        ("ValueError", "exception", "library/exceptions.html#$"),
        ("collections.abc.Callable", "class", "library/collections.abc.html#$"),
        ("float", "class", "library/functions.html#$"),
        ("int", "class", "library/functions.html#$"),
    ],
    "numpy": [
        ("numpy.histogram", "function", "reference/generated/$.html#$"),
        ("numpy.ndarray", "class", "reference/generated/$.html#$"),
        (
            "numpy.random.BitGenerator",
            "class",
            "reference/random/bit_generators/generated/$.html#$",
        ),
        ("numpy.random.Generator", "class", "reference/random/generator.html#$"),
        (
            "numpy.random.SeedSequence",
            "class",
            "reference/random/bit_generators/generated/$.html#$",
        ),
        ("numpy.random.default_rng", "function", "reference/random/generator.html#$"),
        ("numpy.ufunc", "class", "reference/generated/$.html#$"),
    ],
    "scipy": [
        ("scipy.special", "module", "reference/special.html#module-$"),
        ("scipy.stats", "module", "reference/stats.html#module-$"),
        ("scipy.stats.ksone", "data", "reference/generated/$.html#$"),
        ("scipy.stats.ncx2", "data", "reference/generated/$.html#$"),
    ],
    "matplotlib": [
        ("matplotlib.axes.Axes", "class", "api/_as_gen/$.html#$"),
    ],
}


def inventory(project: str) -> bytes:
    """Return an inventory of version 2."""
    head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
    head += "# The remainder of this file is compressed using zlib.\n"
    lines = [f"{name} py:{role} 1 {page} -\n" for name, role, page in NAMES[project]]
    return head.encode() + zlib.compress("".join(lines).encode(), 9)


def stale(project: str) -> list[str]:
    """Return the names that the project's own inventory has elsewhere, or not at all."""
    with urllib.request.urlopen(f"{ADDRESSES[project]}/objects.inv", timeout=30) as answer:
        text = zlib.decompress(answer.read().split(b"zlib.\n", 1)[1]).decode()
    known = {}
    for line in text.splitlines():
        name, _role, _priority, page, _shown = line.split(" ", 4)
        known[name] = page.replace("$", name)
    return [name for name, _, page in NAMES[project] if known.get(name) != page.replace("$", name)]


def main(words: list[str]) -> None:
    """Write the inventories, or check the names that they hold."""
    if words == ["--check"]:
        wrong = {project: stale(project) for project in NAMES}
        raise SystemExit(f"to correct: {wrong}" if any(wrong.values()) else 0)
    FOLDER.mkdir(exist_ok=True)
    for project in NAMES:
        (FOLDER / f"{project}.inv").write_bytes(inventory(project))


if __name__ == "__main__":
    main(sys.argv[1:])
