"""``leakscore epsilon``: what a training with DP-SGD guarantees, before it is run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from leakscore_app.cli import _shared as _cli
from leakscore_app.document import document as doc
from leakscore_app.document.document import Notice
from leakscore_app.document.findings import Findings
from leakscore_app.document.svg import Axis, Chart, nice_ticks

if TYPE_CHECKING:
    from leakscore.tradeoff import TradeOff

_SCHEMES = {
    "poisson": "a draw of its own for every record and step",
    "allocation": "every record in one step of an epoch, drawn by itself",
    "fixed": "batches of a fixed size, drawn anew in every step",
    "shuffled": "a shuffle in every epoch, cut into batches: most data loaders",
}
_FPR = 0.01


@dataclass(frozen=True, eq=False)
class TrainingEpsilon(Findings):
    """The certified interval of epsilon of a training, and of the power of attacks on it."""

    command = "epsilon"

    training: dict[str, Any]
    curve: TradeOff
    delta: float
    notices: Sequence[Notice] = ()

    def contents(self) -> dict[str, Any]:
        """Return what the JSON holds besides envelope and notices."""
        names, power = ("lower", "upper"), self.curve.interval("power", _FPR)
        return {
            "training": self.training,
            "curve": repr(self.curve),
            "neighbours": self.curve.neighbours,
            "delta": self.delta,
            "epsilon": dict(zip(names, self.curve.interval("epsilon", self.delta), strict=True)),
            "power": {"fpr": _FPR, **dict(zip(names, power, strict=True))},
            "assumptions": self.curve.assumptions,
        }

    def document(self) -> doc.Document:
        """Return the sections of the text and the page."""
        low, high = self.curve.interval("epsilon", self.delta)
        power = self.curve.interval("power", _FPR)
        plan, steps = self.training, self.training["steps_per_epoch"]
        lead = (
            f"{plan['records']} records in batches of {plan['batch']}: {steps} steps an epoch, "
            f"{steps * plan['epochs']} in all; {_SCHEMES[plan['scheme']]}. At 1 % false positives "
            f"an attack finds at most {_up(100 * power[1], 2)} % of the members, and the best one "
            f"at least {math.floor(1e4 * power[0]) / 100:.2f} %."
        )
        head: list[doc.Part] = [
            doc.Heading(
                f"epsilon <= {_up(high, 3)} at delta = {self.delta:.10g}; an attack reaches "
                f"{math.floor(1000 * low) / 1000:.3f}"
            ),
            doc.Paragraph(lead, "lead"),
        ]
        facts = [("curve", repr(self.curve)), ("neighbours", str(self.curve.neighbours))]
        holds = [doc.Notices([Notice("note", "assumption", a) for a in self.curve.assumptions])]
        sections = [
            doc.Section("What was computed", [doc.Definitions(facts), doc.Figures([self._roc()])]),
            doc.Section("The numbers hold if", holds),
        ]
        return doc.Document("leakscore: the epsilon of a training", [head], sections)

    def _roc(self) -> str:
        fpr = np.linspace(0.0, 1.0, 101)
        title = "True against false positives of any attack"
        ticks = nice_ticks(0, 1)
        axes = (Axis(0, 1, ticks, "false positives"), Axis(0, 1, ticks, "true positives"))
        chart = Chart(title=title, description=f"{title}: at most.", x=axes[0], y=axes[1])
        chart.line(fpr.tolist(), fpr.tolist(), "line chance", "guessing")
        power = self.curve.interval("power", fpr)[1]
        chart.line(fpr.tolist(), np.asarray(power).tolist(), "line informed", "at most")
        return chart.render()


def _up(value: float, digits: int) -> str:
    return f"{math.ceil(value * 10**digits) / 10**digits:.{digits}f}" if value < 1e9 else "inf"


def add_epsilon(commands: Any) -> None:
    """Add the command to the program."""
    text = "what a training with DP-SGD guarantees: epsilon by noise, records, batch and epochs"
    parser = commands.add_parser("epsilon", help=text, description=f"Compute {text}.")
    parser.set_defaults(run=_epsilon)
    for name, kind, what in (
        ("noise", float, "standard deviation of the noise over the clipping norm"),
        ("records", int, "records of the training set"),
        ("batch", int, "records of a batch; on average for poisson"),
        ("epochs", int, "passes over the records"),
    ):
        parser.add_argument(f"--{name}", type=kind, required=True, metavar="N", help=what)
    schemes = "; ".join(f"{name}: {what}" for name, what in _SCHEMES.items())
    parser.add_argument("--scheme", choices=_SCHEMES, required=True, help=schemes)
    parser.add_argument("--delta", type=float, default=1e-5, metavar="D", help="(1e-5)")
    _cli.add_outputs(parser)
    parser.add_argument("--quiet", action="store_true", help="no text")


def training_epsilon(training: dict[str, Any], delta: float) -> TrainingEpsilon:
    """Return what a plan guarantees: noise, records, batch, epochs and scheme."""
    from leakscore import tradeoff, validation

    records, batch, epochs = (
        validation.steps(name, training[name]) for name in ("records", "batch", "epochs")
    )
    validation.count("batch", batch, 1, records, why=", the records")
    validation.scalar("delta", delta, 0.0, 1.0)
    noise, steps = training["noise"], -(-records // batch)
    curve = {
        "poisson": lambda: tradeoff.subsampled_gaussian(noise, batch / records, steps * epochs),
        "allocation": lambda: tradeoff.random_allocation(noise, steps, num_epochs=epochs),
        "fixed": lambda: tradeoff.fixed_batch_gaussian(noise, batch, records, steps * epochs),
        "shuffled": lambda: tradeoff.shuffled_gaussian(noise, steps, num_epochs=epochs),
    }[training["scheme"]]()
    return TrainingEpsilon({**training, "steps_per_epoch": steps}, curve, delta)


def _epsilon(options: Any) -> int:
    _cli.require_writable(options)
    names = ("noise", "records", "batch", "epochs", "scheme")
    with _cli.in_options(options):
        plan = {name: getattr(options, name) for name in names}
        _cli.deliver(training_epsilon(plan, options.delta), options)
    return 0
