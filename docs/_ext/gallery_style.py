"""How figures of the gallery look, and the order in which they lead."""

from __future__ import annotations

from typing import Any

FIRST = ("null_audits", "worst_record", "audit_methods")

# Legible on white and on black: figures have no background of their own.
GREY = "#7f8790"
COLOURS = ("#3d8fd1", "#e0762b", "#35a06a", "#c25fb8", "#a38a1f", "#d9534f")


def reset(_gallery: dict[str, Any], _name: str) -> None:
    """Give every example the same style."""
    import matplotlib as mpl

    mpl.use("agg")
    mpl.rcdefaults()
    mpl.rcParams.update(
        {
            "figure.figsize": (6.4, 4.0),
            "figure.dpi": 96,
            "savefig.transparent": True,
            "figure.facecolor": "none",
            "axes.facecolor": "none",
            "axes.edgecolor": GREY,
            "axes.labelcolor": GREY,
            "axes.titlecolor": GREY,
            "axes.prop_cycle": mpl.cycler(color=COLOURS),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "grid.color": GREY,
            "grid.alpha": 0.3,
            "legend.frameon": False,
            "legend.labelcolor": GREY,
            "text.color": GREY,
            "xtick.color": GREY,
            "ytick.color": GREY,
            "font.size": 11,
            "figure.constrained_layout.use": True,
        }
    )


class Order:
    """Sort examples: those that draw users first, the others by name."""

    def __init__(self, _folder: str) -> None:
        pass

    def __call__(self, file: str) -> tuple[int, str]:
        """Return what a file is sorted by."""
        name = file.removeprefix("plot_").removesuffix(".py")
        return (FIRST.index(name) if name in FIRST else len(FIRST), name)
