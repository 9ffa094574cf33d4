"""The scores of an attack on the outputs of shadow models, read from an npz archive.

``signals`` (K, N) or (K, N, A), or ``logits`` (K, N, C) or (K, N, A, C) with ``labels`` (N,), are
outputs of K models at N records; ``included`` (K, N) is 1 where a model was trained on a record. A
target has ``observed`` or ``observed_logits``, of one model or of S, and ``member`` (N,) or (S, N).
Without ``member`` each shadow model is a target, and is scored by the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from leakscore import shadow, validation
from leakscore.shadow import arrays
from leakscore.typing import Array, Flags
from leakscore_app._visible import listed
from leakscore_app.tables.files import File

Arrays: TypeAlias = Mapping[str, Array]

ARRAYS = (
    "signals (K, N) of K shadow models, or logits (K, N, C) and labels (N,), and included (K, N)"
)
CHOOSE = "choose"
ATTACKS = (CHOOSE, "base", "one-step", "paired", "bayes", "lira")
"""Functions of `leakscore.shadow` that score a target; "choose" takes the best of three."""

_RARE = 1e-6  # probability below which equal model sizes are no accident
_AUGMENTED = ("bayes", "lira")
_REQUIRED = {
    "signals": "(K, N): K models' logit margins at N records",
    "logits": "(K, N, C): K models' logits of C classes at N records",
    "included": "(K, N): 1 where a model was trained on a record",
    "labels": "(N,): the records' classes",
    "observed": "(N,): the target's signals, of which member tells the truth",
    "observed_logits": "(N, C): the target's logits, of which member tells the truth",
}
NAMES = (*_REQUIRED, "member")
"""Names of the arrays that an archive of outputs of shadow models may hold."""


@dataclass(frozen=True)
class AttackRate:
    """The true-positive rate of an attack on left-out models, by which "choose" decides."""

    name: str
    rate: float


Rates: TypeAlias = tuple[AttackRate, ...] | None


@dataclass(frozen=True)
class ShadowAttack:
    """The attack that computed the scores, and its numbers of models.

    Attributes
    ----------
    name : str
        One of `ATTACKS`; for "choose" the attack that it chose.
    shadow_models : int
        Number of shadow models.
    targets : int
        Number of targets; equal to `shadow_models` if each of these was a target of the others.
    left_out : bool
        Whether the targets are the shadow models.
    tried : tuple of AttackRate or None
        The rates that "choose" compared; None if the user named the attack.
    """

    name: str
    shadow_models: int
    targets: int
    left_out: bool
    tried: Rates


@dataclass(frozen=True)
class TargetScores:
    """The scores of an attack on its targets, and the arrays that they were computed from.

    Attributes
    ----------
    scores, member : ndarray
        A score and a membership for each target and record.
    attack : ShadowAttack
    used : tuple of str
        Names of the arrays.
    dtype : str
        Of the outputs in the file.
    notes : tuple of str
    model_size : int or None
        Number of records in each shadow model, if it is so equal that no coins decided it.
    """

    scores: Array
    member: Flags
    attack: ShadowAttack
    used: tuple[str, ...]
    dtype: str
    notes: tuple[str, ...]
    model_size: int | None = None


def require_models_first(file: File, array: Array, included: Array, *, few_records: bool) -> None:
    """Refuse arrays of equal shape with more models than records: they look transposed."""
    if included.ndim != 2 or included.shape not in (array.shape[:2], array.shape[-2:]):
        return
    models, records = included.shape
    if models > records and not few_records:
        raise ValueError(
            f"{file.name}: {models} models and only {records} records: models come first, and "
            "the arrays look transposed. If there are so few records, say --few-records"
        )


def score_targets(
    file: File, loaded: Arrays, attack: str | None, *, few_records: bool = False
) -> TargetScores:
    """Score the target of a file, or its shadow models if it has none, by an attack."""
    if attack is not None and attack not in ATTACKS:
        raise ValueError(f"attack {attack!r} must be one of {', '.join(ATTACKS)}")
    source, target = _source_arrays(file, loaded)
    has_target = "member" in loaded
    used = (source, "included", *(("labels",) if source == "logits" else ()))
    for name in (*used, target) if has_target else used:
        _require_array(file, loaded, name)
    if source == "signals" and not has_target:
        require_models_first(file, loaded[source], loaded["included"], few_records=few_records)
    try:
        return _score_arrays(file, loaded, used, target if has_target else None, attack or CHOOSE)
    except (ValueError, TypeError) as error:
        message = str(error)
        raise ValueError(
            message if message.startswith(file.name) else f"{file.name}: {message}"
        ) from None


def _source_arrays(file: File, loaded: Arrays) -> tuple[str, str]:
    """Return the names of the arrays with the shadow models' outputs and the target's."""
    if "signals" in loaded and "logits" in loaded:
        raise ValueError(f"{file.name} holds signals and logits: keep those to attack by")
    if "logits" in loaded:
        return "logits", "observed_logits"
    _require_array(file, loaded, "signals", ", or 'logits' (K, N, C) and 'labels'")
    return "signals", "observed"


def _require_array(file: File, loaded: Arrays, name: str, otherwise: str = "") -> None:
    if name not in loaded:
        raise ValueError(
            f"{file.name} has no array {name!r} {_REQUIRED[name]}{otherwise}; the file has "
            f"{listed(list(loaded))}"
        )


def _score_arrays(
    file: File, loaded: Arrays, used: tuple[str, ...], target: str | None, attack: str
) -> TargetScores:
    source = used[0]
    signals = _margins(file, loaded, source) if source == "logits" else loaded[source]
    shadows = arrays.read(signals, loaded["included"])
    if shadows.signals.ndim == 3 and attack not in _AUGMENTED:
        raise ValueError(
            f"signals of shape {signals.shape} have augmentations, which {attack} does not take: "
            f"--attack {' or '.join(_AUGMENTED)}, or average them"
        )
    arrays.finite("signals", shadows.signals)
    included = shadows.included != 0
    dtype = str(loaded[source].dtype)
    if target is None:
        scored = _score_left_out(attack, shadows, signals, included)
        return TargetScores(*scored, used, dtype, tuple(_left_out_notes(loaded, shadows)))
    observed = _margins(file, loaded, target) if source == "logits" else loaded[target]
    values = arrays.targets(observed, shadows)
    member = _membership_flags(loaded["member"], values.values.shape[:2], single=values.single)
    _refuse_shadow_target(values.values, member, shadows)
    name, tried = _choose_attack(attack, signals, included)
    scores = getattr(shadow, name.replace("-", "_"))(observed, signals, included).reshape(-1)
    summary = ShadowAttack(name, shadows.models, len(member), left_out=False, tried=tried)
    used = (*used, target, "member")
    notes = []
    if tried is not None and _counts_reveal_members(shadows):
        notes.append(
            "the attack was chosen by models that were left out; the records are in as many models "
            "each, which understates one-step there: name an attack beforehand, --attack"
        )
    return TargetScores(
        scores=scores,
        member=member.reshape(-1),
        attack=summary,
        used=used,
        dtype=dtype,
        notes=tuple(notes),
        model_size=_equal_model_size(included),
    )


def _score_left_out(
    attack: str, shadows: arrays.Shadow, signals: Array, included: Flags
) -> tuple[Array, Flags, ShadowAttack]:
    """Score each shadow model by the others, complementary pairs left out together."""
    name, tried = _choose_attack(attack, signals, included)
    score: Any = name.replace("-", "_")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the notes say the same
        scores = shadow.leave_one_model_out(
            signals, included, score=score, groups=arrays.pair_groups(shadows)
        )
    summary = ShadowAttack(name, shadows.models, shadows.models, left_out=True, tried=tried)
    return scores.reshape(-1), included.reshape(-1), summary


def _equal_model_size(included: Flags) -> int | None:
    """Return the number of records in each model, if it is equal and coins hardly do that."""
    counts = included.sum(axis=1)
    # The most frequent number of heads has a probability below sqrt(2 / (pi N)).
    chance = (0.64 / included.shape[1]) ** (0.5 * (len(counts) - 1))
    return int(counts[0]) if chance < _RARE and (counts == counts[0]).all() else None


def _choose_attack(attack: str, signals: Array, included: Flags) -> tuple[str, Rates]:
    """Return the name of the attack; for "choose" the best one, and all rates."""
    if attack != CHOOSE:
        return attack, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the notes say the same
        name, rates = shadow.choose(signals, included)
    tried = tuple(AttackRate(each.replace("_", "-"), rate) for each, rate in rates.items())
    return name.replace("_", "-"), tried


def _counts_reveal_members(shadows: arrays.Shadow) -> bool:
    """Whether a left-out model's members are in one model less, and no pairs prevent it."""
    single = list(shadows.rows.reshape(-1, 1))
    return arrays.pair_groups(shadows) is None and arrays.counts_tell_members(shadows, single)


def _left_out_notes(loaded: Arrays, shadows: arrays.Shadow) -> list[str]:
    notes = ["each shadow model was the target of the others: no member tells of another target"]
    if arrays.pair_groups(shadows) is not None:
        notes.append("models were left out in complementary pairs")
    elif _counts_reveal_members(shadows):
        notes.append(
            "the records are in as many models each and the models form no complementary pairs: "
            "without the target, members are in one model less, which understates the attack; "
            "hold it against targets that are none of the shadow models (observed and member)"
        )
    notes += [
        f"{name} is not used: no member says which of its records are members"
        for name in ("observed", "observed_logits")
        if name in loaded
    ]
    return notes


def _margins(file: File, loaded: Arrays, name: str) -> Array:
    """Return the margins of logits, one model at a time: the logits of a model are copied."""
    logits, labels = loaded[name], loaded["labels"]
    models = loaded["logits"]
    if models.ndim not in (3, 4):
        raise ValueError(
            f"logits of shape {models.shape} must be (K, N, C) or (K, N, A, C): models, "
            "records, augmentations, classes"
        )
    if labels.shape != models.shape[1:2]:
        transposed = labels.shape == models.shape[:1]
        raise ValueError(
            f"labels of shape {labels.shape} must be ({models.shape[1]},), one a record of "
            f"logits of shape {models.shape}"
            + (": logits are transposed, models come first" if transposed else "")
        )
    if models.ndim == 4:
        labels = labels[:, np.newaxis]
    rest = models.shape[1:]
    if rest not in (logits.shape, logits.shape[1:]):
        transposed = logits.ndim > 1 and (logits.shape[1], logits.shape[0]) == rest[:2]
        raise ValueError(
            f"{name} of shape {logits.shape} must be {rest} or (S, {str(rest)[1:]}, as "
            f"logits of shape {models.shape}{': it is transposed' if transposed else ''}"
        )
    if logits.shape == rest:
        return _margin(name, logits, labels)
    file.require(8 * logits.size // logits.shape[-1] + loaded["logits"].nbytes)
    margins = [_margin(f"{name}[{k}]", each, labels) for k, each in enumerate(logits)]
    return np.stack(margins) if margins else np.empty(logits.shape[:-1])


def _margin(name: str, logits: Array, labels: Array) -> Array:
    try:
        return shadow.logit_margin(logits, labels)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: {error}") from None


def _membership_flags(member: Array, shape: tuple[int, ...], *, single: bool) -> Flags:
    """Return whether each record is a member of each target."""
    targets, records = shape
    if member.shape != (records,) and (single or member.shape != shape):
        expected = f"({records},)" if single else f"({records},) or {shape}"
        transposed = member.ndim == 2 and member.shape[::-1] == shape and not single
        raise ValueError(
            f"member of shape {member.shape} must be {expected}, as observed"
            + (": it is transposed" if transposed else "")
        )
    bits = validation.binary("member", validation.real_array("member", member))
    return np.broadcast_to(bits == 1, (targets, records))


def _refuse_shadow_target(values: Array, member: Flags, shadows: arrays.Shadow) -> None:
    """Refuse a target that is one of the shadow models: they contain its memberships."""
    for model in range(shadows.models):
        same = (values == shadows.signals[model]).reshape(len(values), -1).all(axis=1)
        same &= (member == (shadows.included[model] != 0)).all(axis=1)
        if same.any():
            raise ValueError(
                f"observed, target {int(same.argmax())}, is signals[{model}]: the target must not "
                "be among the shadow models; leave it out of them"
            )
