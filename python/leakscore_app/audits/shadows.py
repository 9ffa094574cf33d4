"""The scores of an attack on the outputs of shadow models, which an npz archive holds.

``signals`` (K, N) or (K, N, A), or ``logits`` (K, N, C) or (K, N, A, C) with ``labels`` (N,), of K
models at N records; ``included`` (K, N), who was trained on what. A target has ``observed`` or
``observed_logits``, of one model or of S, and ``member`` (N,) or (S, N). Without a membership the
shadow models are the targets, each of the others.
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
"""The functions of `leakscore.shadow` that score a target; the first chooses between three."""

_RARE = 1e-6
_AUGMENTED = ("bayes", "lira")
_NEEDED = {
    "signals": "(K, N): K models' logit margins at N records",
    "logits": "(K, N, C): K models' logits of C classes at N records",
    "included": "(K, N): 1 where a model was trained on a record",
    "labels": "(N,): the records' classes",
    "observed": "(N,): the target's signals, of which member tells the truth",
    "observed_logits": "(N, C): the target's logits, of which member tells the truth",
}
NAMES = (*_NEEDED, "member")
"""Of the arrays that an archive of outputs of shadow models may hold."""


@dataclass(frozen=True)
class Tried:
    """What "choose" saw of an attack: its true-positive rate on models that were left out."""

    name: str
    rate: float


@dataclass(frozen=True)
class ShadowAttack:
    """Which attack gave the scores, on how many models.

    Attributes
    ----------
    name : str
        Of `ATTACKS`, the chosen one for "choose".
    shadow_models : int
    targets : int
        Of them, `shadow_models` if each was the target of the others.
    left_out : bool
        Whether the targets are the shadow models.
    tried : tuple of Tried or None
        What "choose" chose from; None for an attack that was named.
    """

    name: str
    shadow_models: int
    targets: int
    left_out: bool
    tried: tuple[Tried, ...] | None


@dataclass(frozen=True)
class Scored:
    """The scores of an attack, what they are the scores of, and what they were made of.

    Attributes
    ----------
    in_each : int or None
        How many records each shadow model holds, if all hold as many and coins hardly do so.
    """

    scores: Array
    member: Flags
    attack: ShadowAttack
    used: tuple[str, ...]
    dtype: str
    notes: tuple[str, ...]
    in_each: int | None = None


def require_models_first(file: File, array: Array, included: Array, *, few_records: bool) -> None:
    """Refuse arrays of one shape that look transposed: with more models than records."""
    if included.ndim != 2 or included.shape not in (array.shape[:2], array.shape[-2:]):
        return
    models, records = included.shape
    if models > records and not few_records:
        raise ValueError(
            f"{file.name}: {models} models and only {records} records: models come first, and "
            "the arrays look transposed. If there are so few records, say --few-records"
        )


def scored(file: File, loaded: Arrays, attack: str | None, *, few_records: bool = False) -> Scored:
    """Score the target of a file, or its shadow models, by an attack."""
    if attack is not None and attack not in ATTACKS:
        raise ValueError(f"attack {attack!r} must be one of {', '.join(ATTACKS)}")
    source, target = _names(file, loaded)
    has_target = "member" in loaded
    used = (source, "included", *(("labels",) if source == "logits" else ()))
    for name in (*used, target) if has_target else used:
        _require(file, loaded, name)
    if source == "signals" and not has_target:
        require_models_first(file, loaded[source], loaded["included"], few_records=few_records)
    try:
        return _scored(file, loaded, used, target if has_target else None, attack or CHOOSE)
    except (ValueError, TypeError) as error:
        message = str(error)
        raise ValueError(
            message if message.startswith(file.name) else f"{file.name}: {message}"
        ) from None


def _names(file: File, loaded: Arrays) -> tuple[str, str]:
    """Return the arrays of the shadow models' outputs and of the target's."""
    if "signals" in loaded and "logits" in loaded:
        raise ValueError(f"{file.name} holds signals and logits: keep those to attack by")
    if "logits" in loaded:
        return "logits", "observed_logits"
    _require(file, loaded, "signals", ", or 'logits' (K, N, C) and 'labels'")
    return "signals", "observed"


def _require(file: File, loaded: Arrays, name: str, otherwise: str = "") -> None:
    if name not in loaded:
        raise ValueError(
            f"{file.name} has no array {name!r} {_NEEDED[name]}{otherwise}; the file has "
            f"{listed(list(loaded))}"
        )


def _scored(
    file: File, loaded: Arrays, used: tuple[str, ...], target: str | None, attack: str
) -> Scored:
    source = used[0]
    signals = _margins(file, loaded, source) if source == "logits" else loaded[source]
    read = arrays.read(signals, loaded["included"])
    if read.signals.ndim == 3 and attack not in _AUGMENTED:
        raise ValueError(
            f"signals of shape {signals.shape} have augmentations, which {attack} does not take: "
            f"--attack {' or '.join(_AUGMENTED)}, or average them"
        )
    arrays.finite("signals", read.signals)
    included = read.included != 0
    dtype = str(loaded[source].dtype)
    if target is None:
        notes = _of_left_out(loaded, read)
        return Scored(*_left_out(attack, read, signals, included), used, dtype, tuple(notes))
    observed = _margins(file, loaded, target) if source == "logits" else loaded[target]
    values = arrays.targets(observed, read)
    member = _members(loaded["member"], values.values.shape[:2], single=values.single)
    _refuse_known(values.values, member, read)
    name, tried = _chosen(attack, signals, included)
    scores = getattr(shadow, name.replace("-", "_"))(observed, signals, included).reshape(-1)
    source_attack = ShadowAttack(name, read.models, len(member), left_out=False, tried=tried)
    used = (*used, target, "member")
    notes = []
    if tried is not None and _tells_members(read):
        notes.append(
            "the attack was chosen by models that were left out; the records are in as many models "
            "each, which understates one-step there: name an attack beforehand, --attack"
        )
    return Scored(
        scores, member.reshape(-1), source_attack, used, dtype, tuple(notes), _in_each(included)
    )


def _left_out(
    attack: str, read: arrays.Shadow, signals: Array, included: Flags
) -> tuple[Array, Flags, ShadowAttack]:
    """Score each shadow model by the others, complementary pairs left out together."""
    name, tried = _chosen(attack, signals, included)
    score: Any = name.replace("-", "_")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a note of the file's
        scores = shadow.leave_one_model_out(
            signals, included, score=score, groups=arrays.pair_groups(read)
        )
    used_attack = ShadowAttack(name, read.models, read.models, left_out=True, tried=tried)
    return scores.reshape(-1), included.reshape(-1), used_attack


def _in_each(included: Flags) -> int | None:
    """Return how many records each model holds, if all hold equally many, as coins hardly do."""
    counts = included.sum(axis=1)
    # The most frequent number of heads has a probability below sqrt(2 / (pi N)).
    chance = (0.64 / included.shape[1]) ** (0.5 * (len(counts) - 1))
    return int(counts[0]) if chance < _RARE and (counts == counts[0]).all() else None


def _chosen(attack: str, signals: Array, included: Flags) -> tuple[str, tuple[Tried, ...] | None]:
    if attack != CHOOSE:
        return attack, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a note of the file's
        name, rates = shadow.choose(signals, included)
    tried = tuple(Tried(each.replace("_", "-"), rate) for each, rate in rates.items())
    return name.replace("_", "-"), tried


def _tells_members(read: arrays.Shadow) -> bool:
    """Return whether models left out have members in one model less, and no pairs prevent it."""
    alone = list(read.rows.reshape(-1, 1))
    return arrays.pair_groups(read) is None and arrays.counts_tell_members(read, alone)


def _of_left_out(loaded: Arrays, read: arrays.Shadow) -> list[str]:
    notes = ["each shadow model was the target of the others: no member tells of another target"]
    if arrays.pair_groups(read) is not None:
        notes.append("models were left out in complementary pairs")
    elif _tells_members(read):
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
    """Return the margins of logits, a model at a time: its logits are copied."""
    logits, labels = loaded[name], loaded["labels"]
    models = loaded["logits"]
    if models.ndim not in (3, 4):
        raise ValueError(
            f"logits of shape {models.shape} must be (K, N, C) or (K, N, A, C): models, "
            "records, augmentations, classes"
        )
    if labels.shape != models.shape[1:2]:
        turned = labels.shape == models.shape[:1]
        raise ValueError(
            f"labels of shape {labels.shape} must be ({models.shape[1]},), one a record of "
            f"logits of shape {models.shape}"
            + (": logits are transposed, models come first" if turned else "")
        )
    if models.ndim == 4:
        labels = labels[:, np.newaxis]
    rest = models.shape[1:]
    if rest not in (logits.shape, logits.shape[1:]):
        turned = logits.ndim > 1 and (logits.shape[1], logits.shape[0]) == rest[:2]
        raise ValueError(
            f"{name} of shape {logits.shape} must be {rest} or (S, {str(rest)[1:]}, as "
            f"logits of shape {models.shape}{': it is transposed' if turned else ''}"
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


def _members(member: Array, shape: tuple[int, ...], *, single: bool) -> Flags:
    """Return who is a member of which target."""
    targets, records = shape
    if member.shape != (records,) and (single or member.shape != shape):
        expected = f"({records},)" if single else f"({records},) or {shape}"
        turned = member.ndim == 2 and member.shape[::-1] == shape and not single
        raise ValueError(
            f"member of shape {member.shape} must be {expected}, as observed"
            + (": it is transposed" if turned else "")
        )
    bits = validation.binary("member", validation.real_array("member", member))
    return np.broadcast_to(bits == 1, (targets, records))


def _refuse_known(values: Array, member: Flags, read: arrays.Shadow) -> None:
    """Refuse a target that is among the shadow models, which know its memberships."""
    for model in range(read.models):
        same = (values == read.signals[model]).reshape(len(values), -1).all(axis=1)
        same &= (member == (read.included[model] != 0)).all(axis=1)
        if same.any():
            raise ValueError(
                f"observed, target {int(same.argmax())}, is signals[{model}]: the target must not "
                "be among the shadow models; leave it out of them"
            )
