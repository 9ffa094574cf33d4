"""Whether the file tells which scores speak for a member: of losses it does not."""

from __future__ import annotations

import re
from pathlib import PurePath

from leakscore_app.audits.scores import Read

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LOSSES = {
    "bce",
    "ce",
    "distance",
    "distances",
    "error",
    "errors",
    "mae",
    "mse",
    "nll",
    "nlls",
    "perplexities",
    "perplexity",
    "ppl",
    "rmse",
    "surprisal",
    "xent",
}
_ENDINGS = ("entropies", "entropy", "loss", "losses")  # crossentropy, logloss
_SCORES = ("score", "members", "nonmembers")  # what a column may be read as


def require_direction(read: Read) -> None:
    """Refuse scores whose name says that small ones may speak for a member: losses, distances."""
    if read.attack is not None:
        return  # scores of shadow models are larger for members
    for name in _names(read):
        if _is_loss(name):
            raise ValueError(
                f"{read.files[0].name}: {name!r} is a loss or a distance by its name, and small "
                "ones usually mean a member: say --lower-is-member, or --higher-is-member if large "
                "ones do, before you see the scores; --orientation both tries both at a price"
            )


def _names(read: Read) -> list[str]:
    """Return the names of the scores; of columns without one those of the files."""
    named = [name for role, name in read.columns.items() if role in _SCORES]
    if read.format == "npy" or all(re.fullmatch(r"column \d+", name) for name in named):
        named += [PurePath(file.name).stem for file in read.files]
    return named


def _is_loss(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name)]
    likelihood = any("lik" in word for word in words) and bool({"neg", "negative"} & set(words))
    return likelihood or any(word in _LOSSES or word.endswith(_ENDINGS) for word in words)
