"""``leakscore epsilon``: the guarantee of a training with DP-SGD, before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import leakscore
from leakscore import validation
from leakscore_app.cli import program as _cli
from leakscore_app.document import Axis, Chart, nice_ticks
from leakscore_app.document import document as doc
from leakscore_app.document.document import Findings

_SCHEMES = {
    "poisson": "a draw of its own for every record and step",
    "allocation": "every record in one step of an epoch, drawn by itself",
    "fixed": "batches of a fixed size, drawn anew in every step",
    "shuffled": "a shuffle in every epoch, cut into batches: most data loaders",
}


@dataclass(frozen=True, eq=False)
class TrainingEpsilon(Findings):
    """Certified intervals of epsilon and of the power at 1 % false positives."""

    command = "epsilon"

    training: dict[str, Any]
    curve: leakscore.tradeoff.TradeOff
    delta: float
    notices: tuple[doc.Notice, ...] = ()

    def contents(self) -> dict[str, Any]:
        """Return the fields of the JSON besides envelope and notices."""
        (low, high), (least, most) = self._intervals()
        return {
            "training": self.training,
            "curve": repr(self.curve),
            "neighbours": self.curve.neighbours,
            "delta": self.delta,
            "epsilon": {"lower": low, "upper": high},
            "power": {"fpr": 0.01, "lower": least, "upper": most},
            "assumptions": self.curve.assumptions,
        }

    def _intervals(self) -> tuple[Any, Any]:
        return self.curve.interval("epsilon", self.delta), self.curve.interval("power", 0.01)

    def document(self) -> doc.Document:
        """Return the sections of the text and the page."""
        from leakscore_app.audits import words  # it loads the laws of audits, which no help needs

        (low, high), (least, most) = self._intervals()
        plan, steps = self.training, self.training["steps_per_epoch"]
        lead = (
            f"{plan['records']} records in batches of {plan['batch']}: {steps} steps an epoch, "
            f"{steps * plan['epochs']} in all; {_SCHEMES[plan['scheme']]}. At 1 % false positives "
            f"no attack finds more than {words.upper_bound(100 * most, 4)} % of the members, and "
            f"the best one at least {words.lower_bound(100 * least)} %."
        )
        first = f"epsilon <= {words.upper_bound(high, 5)} at delta = {self.delta:.10g}"
        head = doc.Heading(f"{first}; an attack reaches {words.lower_bound(low, 3)}")
        noise = words.upper_bound(plan["noise"], 5)
        facts = [("noise", f"{noise} times the clipping norm"), ("curve", repr(self.curve))]
        facts += [("neighbours", self.curve.neighbours or "any")]
        sections = [
            doc.Section("What was computed", [doc.Definitions(facts), doc.Figures([self._roc()])]),
            words.assumptions_section(self.curve.assumptions, "The numbers hold if"),
        ]
        title = "leakscore: the epsilon of a training"
        return doc.Document(title, [[head, doc.Paragraph(lead, "lead")]], sections)

    def _roc(self) -> str:
        fpr, ticks = [i / 100 for i in range(101)], nice_ticks(0, 1)
        axes = [Axis(0, 1, ticks, f"{word} positives") for word in ("false", "true")]
        text = "The most true positives of any attack, against its false ones."
        chart = Chart(title="True against false positives", description=text, x=axes[0], y=axes[1])
        chart.line(fpr, fpr, "line chance", "guessing")
        chart.line(fpr, self.curve.interval("power", fpr)[1].tolist(), "line informed", "at most")
        return chart.render()


def add_epsilon(commands: Any) -> None:
    """Add the command to the program."""
    text = "what a training with DP-SGD guarantees: epsilon by noise, records, batch and epochs"
    parser = commands.add_parser("epsilon", help=text, description=f"Compute {text}.")
    parser.set_defaults(run=_epsilon)
    noise = parser.add_mutually_exclusive_group(required=True)
    add, add_noise = _cli.option_adder(parser), _cli.option_adder(noise)
    add_noise("--noise N", "standard deviation of the noise over the clipping norm", type=float)
    target = "instead of --noise: take the least noise that guarantees this epsilon"
    add_noise("--target-epsilon N", target, type=float)
    add("--records N", "records of the training set", type=int, required=True)
    add("--batch N", "records of a batch; on average for poisson", type=int, required=True)
    add("--epochs N", "passes over the records", type=int, required=True)
    schemes = "; ".join(map(": ".join, _SCHEMES.items()))
    add(f"--scheme {'|'.join(_SCHEMES)}", schemes, required=True)
    add("--delta D", "", 1e-5)
    _cli.add_outputs(parser)


def training_epsilon(
    training: dict[str, Any], delta: float, target: float | None = None
) -> TrainingEpsilon:
    """Return the epsilon of a training with its noise, or with the least noise for `target`."""
    records, epochs = (validation.steps(name, training[name]) for name in ("records", "epochs"))
    batch = validation.count("batch", training["batch"], 1, records, why=", the records")
    steps = -(-records // batch)
    by_epoch = {"steps_per_epoch": steps, "num_epochs": epochs}
    of_size = {"batch_size": batch, "num_records": records}
    poisson = {"sample_rate": batch / records, "num_steps": steps * epochs}
    families: dict[str, tuple[str, dict[str, Any]]] = {
        "poisson": ("subsampled_gaussian", poisson),
        "allocation": ("random_allocation", by_epoch),
        "fixed": ("fixed_batch_gaussian", {**of_size, "num_steps": steps * epochs}),
        "shuffled": ("shuffled_gaussian", by_epoch),
    }
    family, fixed = families[training["scheme"]]
    if target is None:
        noise = validation.scalar("noise", training["noise"], 0.0, closed="neither")
    else:
        target = validation.scalar("target_epsilon", target, 0.0, closed="left")
        try:
            noise = leakscore.tradeoff.calibrate(family, epsilon=target, delta=delta, **fixed)
        except ValueError as error:
            raise ValueError(str(error).replace("epsilon=", "target_epsilon=", 1)) from None
    curve = getattr(leakscore.tradeoff, family)(noise, **fixed)
    return TrainingEpsilon({**training, "noise": noise, "steps_per_epoch": steps}, curve, delta)


def _epsilon(options: Any) -> int:
    _cli.require_writable(options)
    plan = _cli.selected(options, "noise", "records", "batch", "epochs", "scheme")
    _cli.deliver(training_epsilon(plan, options.delta, options.target_epsilon), options)
    return 0
