"""What a synthetic table shows of the records that its generator was trained on.

Three attacks are tried on one half of the records, and the best is judged on the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.stats import hypergeom

from leakscore import validation
from leakscore.audit import OneRunBound, blind_check, one_run
from leakscore.scores import SyntheticScores, synthetic_scores
from leakscore_app._visible import listed
from leakscore_app.audits import sections, words
from leakscore_app.audits.alike import MOST_LEVELS, filled, indicators, levels_of
from leakscore_app.audits.judge import Judgement, judge
from leakscore_app.audits.model import Setting, percent
from leakscore_app.audits.scores import Read, Samples
from leakscore_app.document import document as doc
from leakscore_app.document.document import Notice
from leakscore_app.document.findings import Findings
from leakscore_app.document.text import counted
from leakscore_app.tables.files import File
from leakscore_app.tables.table import Table, read_table

Doubles: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_FEWEST = 50
_SAMPLED = 1000  # records of each kind that are held against each other without the table
_UNLIKE = 0.001  # p-value at which they differ
_ATTACKS = {
    "moments": "means and products of the columns, as if they were released",
    "distance": "distance to the nearest synthetic record",
    "density": "synthetic records nearby, beside others of the population",
}


@dataclass(frozen=True)
class SyntheticAttack:
    """What an attack does on the half of the records on which it is chosen.

    Attributes
    ----------
    name : str
    threshold : float
        Above which records are flagged: the best of some thirty on that half.
    flagged_members, flagged_nonmembers : int
    p_value : float
        At that threshold, and no evidence, as it was chosen.
    """

    name: str
    threshold: float
    flagged_members: int
    flagged_nonmembers: int
    p_value: float


@dataclass(frozen=True)
class Copies:
    """How many records of TRAIN and of HOLDOUT equal a synthetic one, and how likely that is.

    `overlap` counts records of HOLDOUT that are in TRAIN.
    """

    train: int
    holdout: int
    p_value: float
    overlap: int


@dataclass(frozen=True, eq=False)
class SyntheticAudit(Findings):
    """What `audit_synthetic` returns.

    Attributes
    ----------
    input : dict
        The files, their records, the columns, and notes on the reading.
    verdict : {"refuted", "consistent", "cannot-tell"}
        Of the claim that the synthetic table does not depend on which records were trained on.
    confidence : float
    attacks : tuple of SyntheticAttack
        On the first half; the first is judged.
    p_value : float
        Twice the smaller of two: that of the judged attack on the second half, and that of copies.
        Exact if it was decided at random who is in TRAIN.
    flagged : tuple of int
        Members and others that the judged attack flags on the second half.
    judged_p_value : float
        Of that.
    judged : Judgement
        Error rates of the judged attack on the second half, and the epsilon of independent rounds.
    certified : OneRunBound or None
        Lower bound on the generator's epsilon, if fair coins decided who is in TRAIN.
    copies : Copies
    unlike : float
        P-value of `blind_check`: whether TRAIN and HOLDOUT differ without the synthetic table.
    seed : int
    """

    command = "audit-synthetic"

    input: dict[str, Any]
    verdict: str
    confidence: float
    attacks: tuple[SyntheticAttack, ...]
    p_value: float
    flagged: tuple[int, int]
    judged_p_value: float
    judged: Judgement
    certified: OneRunBound | None
    copies: Copies
    unlike: float
    seed: int

    @property
    def notices(self) -> Sequence[Notice]:
        """What must be known to read the numbers, warnings first."""
        return tuple(_notices(self))

    def contents(self) -> dict[str, Any]:
        """Return what the JSON holds besides envelope and notices."""
        judged = self.judged.contents()
        return {
            "input": self.input,
            "verdict": {"verdict": self.verdict},
            "confidence": self.confidence,
            "attacks": self.attacks,
            "p_value": self.p_value,
            "judged": {
                "attack": self.attacks[0].name,
                "members": self.judged.input.members,
                "nonmembers": self.judged.input.nonmembers,
                "flagged_members": self.flagged[0],
                "flagged_nonmembers": self.flagged[1],
                "p_value": self.judged_p_value,
                "bound": judged["bounds"][0],
                "roc": judged["roc"],
            },
            "certified": self.certified,
            "copies": self.copies,
            "unlike_p_value": self.unlike,
            "seed": self.seed,
        }

    def document(self) -> doc.Document:
        """Return the sections of the text and the page."""
        return _document(self)


# --- reading -------------------------------------------------------------------------------------


def audit_synthetic(
    train: str,
    holdout: str,
    synthetic: str,
    *,
    reference: str | None = None,
    categories: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    delta: float = 1e-5,
    confidence: float = 0.95,
    random_bits: bool = False,
    seed: int = 0,
    reading: Mapping[str, Any] | None = None,
) -> SyntheticAudit:
    """Attack a synthetic table, as ``leakscore audit-synthetic`` does.

    Parameters
    ----------
    train, holdout, synthetic : str
        Tables with the same columns, at least 50 records each: those that the generator was trained
        on, others of the same population, and what it made.
    reference : str, optional
        More records of the population. By default half of `holdout` is set aside for it.
    categories : sequence of str
        Columns of numbers that are categories; columns of words are.
    columns, exclude : sequence of str, optional
        What is looked at.
    delta, confidence : float
        Of the bounds.
    random_bits : bool
        Whether a fair coin of its own put each record into `train` or `holdout`; then a lower bound
        on the generator's epsilon is certified. Needs `reference`.
    seed : int
        Of the halves.
    reading : mapping, optional
        Other options of `read_table`, for all files.

    Returns
    -------
    SyntheticAudit

    Raises
    ------
    ValueError
        If a table cannot be read, has other columns or fewer than 50 records, no column varies, or
        the synthetic table is the training table.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import leakscore_app
    >>> rng = np.random.default_rng(0)
    >>> tables = {name: rng.normal(size=(400, 2)) for name in ("train", "holdout")}
    >>> tables["copies"] = rng.permutation(tables["train"])[:200]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [str(pathlib.Path(folder) / f"{name}.npy") for name in tables]
    ...     for path, table in zip(paths, tables.values(), strict=True):
    ...         np.save(path, table)
    ...     found = leakscore_app.audit_synthetic(*paths)
    >>> found.verdict, found.attacks[0].name
    ('refuted', 'distance')
    """
    validation.scalar("delta", delta, 0.0, 1.0, closed="left")
    validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
    rng = np.random.default_rng(validation.count("seed", seed, high=None))
    if random_bits and reference is None:
        raise ValueError(
            "--random-bits needs --reference: of records set aside from HOLDOUT it is decided that "
            "they are out, and the coins of the others are not fair"
        )
    paths = {"TRAIN": train, "HOLDOUT": holdout, "SYNTH": synthetic}
    paths |= {} if reference is None else {"REFERENCE": reference}
    tables = _tables(
        paths, tuple(categories), {"columns": columns, "exclude": exclude, **(reading or {})}
    )
    outside = rng.permutation(_rows(tables["HOLDOUT"]))
    aside = outside[: 0 if reference is not None else len(outside) // 2]
    matrices, names, notes = _encoded(tables, aside)
    copies = _copies(matrices)
    others = matrices.get("REFERENCE", matrices["HOLDOUT"][aside])
    compared = _Compared(
        np.vstack([matrices["TRAIN"], matrices["HOLDOUT"][outside[len(aside) :]]]),
        _rows(tables["TRAIN"]),
    )
    _require_others(compared, others)
    read = {
        "files": [{"name": table.name, "sha256": table.sha256} for table in tables.values()],
        "roles": list(tables),
        "records": [_rows(table) for table in tables.values()],
        "columns": names,
        "set_aside": len(aside),
        "random_bits": random_bits,
        "notes": notes,
    }
    scores = synthetic_scores(
        compared.records,
        matrices["SYNTH"],
        others,
        compared.trained,
        scale=np.ones(others.shape[1]),
    )
    asked = _Asked(delta, confidence, random_bits, seed)
    return _judged(read, scores, compared, asked, rng, copies=copies)


@dataclass(frozen=True)
class _Asked:
    """What the bounds are asked for."""

    delta: float
    confidence: float
    random_bits: bool
    seed: int


@dataclass(frozen=True, eq=False)
class _Compared:
    """The records that are judged: those of TRAIN first."""

    records: Doubles
    trained: int

    @property
    def member(self) -> Flags:
        """Which of them are in TRAIN."""
        return np.arange(len(self.records)) < self.trained


def _rows(table: Table) -> int:
    return len(table.values)


def _tables(
    paths: Mapping[str, str], categories: tuple[str, ...], reading: Mapping[str, Any]
) -> dict[str, Table]:
    """Read tables of the same columns; columns of words in the first are categories."""
    first = read_table(paths["TRAIN"], groups=categories, **reading)
    looked_at = [name for name in first.columns if name not in reading["exclude"]]
    if reading["columns"] is not None:
        looked_at = [name for name in looked_at if name in reading["columns"]]
    text = [
        name
        for name, values in zip(first.columns, first.values.T, strict=True)
        if name in looked_at and name not in categories and np.isnan(values).all()
    ]
    tables = {}
    for role, path in paths.items():
        table = first
        if text or role != "TRAIN":
            table = read_table(path, groups=(*categories, *text), **reading)
        for j, why in table.refused.items():
            raise ValueError(f"{table.name}, column {table.columns[j]!r}: {why}")
        if _rows(table) < _FEWEST:
            raise ValueError(
                f"{role}, {table.name}, has {counted(_rows(table), 'record')}: at least {_FEWEST} "
                "are needed"
            )
        for here, other in ((table, first), (first, table)):
            missing = [name for name in other.columns if name not in here.columns]
            if missing:
                raise ValueError(
                    f"{here.name} has no column {listed(missing)}, which {other.name} has: all "
                    "tables need the same columns (--exclude leaves some out)"
                )
        tables[role] = table
    return tables


def _encoded(
    tables: Mapping[str, Table], aside: npt.NDArray[np.intp]
) -> tuple[dict[str, Doubles], list[str], list[str]]:
    """Return the tables as numbers in common units, the columns in use, and notes.

    Units and means are those of the population's other records, which are not judged.
    """
    first = tables["TRAIN"]
    notes = [f"{table.name}: {note}" for table in tables.values() for note in table.notes]
    parts: dict[str, list[Doubles]] = {role: [] for role in tables}
    names = []
    for j, name in enumerate(first.columns):
        if name in first.groups:
            columns, why = _categories(name, tables)
        elif j in first.excluded:
            columns, why = {}, first.excluded[j]
        else:
            columns, why = _numbers(name, tables, aside)
        if why:
            notes.append(f"{name} is left out: {why}")
            continue
        names.append(name)
        for role, part in columns.items():
            parts[role].append(part)
    if not names:
        raise ValueError(f"{first.name} has no column to compare: {'; '.join(notes)}")
    return {role: np.hstack(part) for role, part in parts.items()}, names, notes


def _categories(name: str, tables: Mapping[str, Table]) -> tuple[dict[str, Doubles], str]:
    """Return the indicators of a column's levels in each table, or why it is left out."""
    labels = {role: _plain(table.groups[name]) for role, table in tables.items()}
    levels = levels_of(list(labels.values()), MOST_LEVELS // len(tables["TRAIN"].groups))
    own = set(labels["TRAIN"].tolist())
    if 2 * len(own) > _rows(tables["TRAIN"]):
        return {}, "its values hardly ever repeat"
    for role, values in labels.items():
        if own.isdisjoint(values.tolist()):
            raise ValueError(
                f"{tables[role].name}, column {name!r}: no value is one of {tables['TRAIN'].name}"
            )
    if len(levels) == 1:
        return {}, "it is constant"
    return {role: indicators(values, levels) for role, values in labels.items()}, ""


def _plain(labels: npt.NDArray[np.str_]) -> npt.NDArray[np.str_]:
    """Return labels in which 1.0 and 1 are one level."""
    different, places = np.unique(labels, return_inverse=True)
    try:
        plain = [f"{float(label):.15g}" if label else "" for label in different.tolist()]
    except ValueError:
        return labels
    return np.asarray(plain, dtype=np.str_)[places]


def _numbers(
    name: str, tables: Mapping[str, Table], aside: npt.NDArray[np.intp]
) -> tuple[dict[str, Doubles], str]:
    """Return a column of numbers of each table in common units, or why it is left out."""
    values = {role: table.values[:, table.columns.index(name)] for role, table in tables.items()}
    for role, column in values.items():
        if np.isnan(column).all():
            raise ValueError(
                f"{tables[role].name}, column {name!r} holds no numbers, but that of "
                f"{tables['TRAIN'].name} does"
            )
    everything = np.concatenate(list(values.values()))
    others = values.get("REFERENCE", values["HOLDOUT"][aside])
    with np.errstate(over="ignore"):
        for sample in (others, everything):
            present = sample[~np.isnan(sample)]
            unit = float(present.std()) if present.size else 0.0
            if unit > 0:
                break
    gaps = bool(np.isnan(everything).any())
    if unit == 0 and not gaps:
        return {}, "it is constant"
    if not np.isfinite(unit):
        raise ValueError(f"column {name!r} holds numbers whose squares overflow")
    unit, centre = unit or 1.0, float(present.mean())
    return {
        role: filled((column - centre) / unit, 0.0, gaps=gaps) for role, column in values.items()
    }, ""


# --- equal records -------------------------------------------------------------------------------


def _as_bytes(matrix: Doubles) -> list[bytes]:
    """Return each record as bytes, equal where its numbers are."""
    plain = np.ascontiguousarray(matrix + 0.0)
    rows: list[bytes] = plain.view(np.dtype((np.void, plain[0].nbytes))).ravel().tolist()
    return rows


def _copies(matrices: Mapping[str, Doubles]) -> Copies:
    """Count equal records of the tables; refuse tables that are the same."""
    train, holdout, made = (_as_bytes(matrices[role]) for role in ("TRAIN", "HOLDOUT", "SYNTH"))
    inside, copied = set(train), set(made)
    if sorted(train) == sorted(made):
        raise ValueError("SYNTH is TRAIN: it holds the records of the training table")
    overlap = sum(row in inside for row in holdout)
    if 2 * overlap > len(holdout) and 2 * len(inside) > len(train):
        raise ValueError(
            f"{overlap} of {counted(len(holdout), 'record')} of HOLDOUT are in TRAIN: HOLDOUT "
            "must hold other records"
        )
    both = [sum(row in copied for row in rows) for rows in (train, holdout)]
    p_value = _p_value((both[0], both[1]), len(train), len(holdout))
    return Copies(*both, p_value=p_value, overlap=overlap)


def _require_others(compared: _Compared, others: Doubles) -> None:
    """Refuse a population that holds more records of one of the tables than of the other."""
    kept = set(_as_bytes(others))
    shared = np.array([row in kept for row in _as_bytes(compared.records)])
    outside = int(shared[compared.trained :].sum())
    inside, judged = int(shared.sum()) - outside, len(shared) - compared.trained
    ends = (
        _p_value((inside, outside), compared.trained, judged),
        _p_value((outside, inside), judged, compared.trained),
    )
    if min(ends) < _UNLIKE:
        raise ValueError(
            f"the records of the population beside which the others are judged (--reference, or "
            f"half of HOLDOUT) include {counted(outside, 'record')} of HOLDOUT and "
            f"{inside} of TRAIN: they must be others. If persons have several "
            "records, keep all records of a person in one table"
        )


# --- judging -------------------------------------------------------------------------------------


def _judged(
    read: dict[str, Any],
    scores: SyntheticScores,
    compared: _Compared,
    asked: _Asked,
    rng: np.random.Generator,
    *,
    copies: Copies,
) -> SyntheticAudit:
    """Choose an attack on one half of the records, and judge it on the other."""
    first = rng.permutation(len(compared.records)) < len(compared.records) // 2
    member = compared.member
    tried = [
        _best(field.name, getattr(scores, field.name)[first], member[first])
        for field in fields(scores)
    ]
    tried.sort(key=lambda attack: attack.p_value)
    values, inside = getattr(scores, tried[0].name)[~first], member[~first]
    flags = values > tried[0].threshold
    flagged = (int((flags & inside).sum()), int((flags & ~inside).sum()))
    p_value = _p_value(flagged, int(inside.sum()), int((~inside).sum()))
    both = min(1.0, 2.0 * min(p_value, copies.p_value))
    unlike = _unlike(compared, rng)
    judged = judge(
        _samples(read, values, inside),
        deltas=(asked.delta,),
        confidence=asked.confidence,
        method="split",
        all_methods=False,
        setting=Setting(seed=asked.seed, threshold=tried[0].threshold),
        lower_is_member=False,
    )
    verdict = "refuted" if both <= 1.0 - asked.confidence else "consistent"
    if unlike <= _UNLIKE or judged.void == "equal":
        verdict = "cannot-tell"
    return SyntheticAudit(
        input=read,
        verdict=verdict,
        confidence=asked.confidence,
        attacks=tuple(tried),
        p_value=both,
        flagged=flagged,
        judged_p_value=p_value,
        judged=judged,
        certified=_certified(values, compared, inside, asked) if asked.random_bits else None,
        copies=copies,
        unlike=unlike,
        seed=asked.seed,
    )


def _best(name: str, scores: Doubles, member: Flags) -> SyntheticAttack:
    """Return an attack with the threshold of which chance would have to explain most."""
    size = len(scores)
    sizes = np.unique(np.rint(2.0 ** np.arange(0.0, np.log2(size) - 1.0, 0.5)).astype(int))
    best = None
    for threshold in np.unique(np.sort(scores)[::-1][sizes]):
        flags = scores > threshold
        flagged = (int((flags & member).sum()), int((flags & ~member).sum()))
        p_value = _p_value(flagged, int(member.sum()), int((~member).sum()))
        if best is None or p_value < best.p_value:
            best = SyntheticAttack(name, float(threshold), *flagged, p_value)
    return best


def _p_value(flagged: tuple[int, int], members: int, others: int) -> float:
    """Return the chance that so many of the flagged are members, if all records are alike."""
    chance = hypergeom.sf(flagged[0] - 1, members + others, members, sum(flagged))
    return float(min(1.0, chance))


def _unlike(compared: _Compared, rng: np.random.Generator) -> float:
    """Return the p-value of a difference between TRAIN and HOLDOUT without the table."""
    member = compared.member
    sample = np.concatenate(
        [rng.permutation(np.flatnonzero(flags))[:_SAMPLED] for flags in (member, ~member)]
    )
    return blind_check(compared.records[sample], member[sample], rng=rng).p_value


def _certified(scores: Doubles, compared: _Compared, inside: Flags, asked: _Asked) -> OneRunBound:
    """Certify an epsilon of the training, if fair coins decided; refuse what hardly are coins."""
    sizes = compared.trained, len(compared.records) - compared.trained
    for notice in words.no_fair_coins(*sizes, "--random-bits is not true of these tables"):
        raise ValueError(notice.message)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of coins, which were looked at
        return one_run(
            scores, inside, k="all", delta=asked.delta, confidence=asked.confidence, rng=asked.seed
        )


def _samples(read: dict[str, Any], scores: Doubles, inside: Flags) -> Read:
    """Return the scores of the judged half as those of an audit."""
    return Read(
        files=(File("the scores", b""),),
        format="scores",
        writer=None,
        columns={},
        dtype="float64",
        data=Samples(scores[inside], scores[~inside]),
        notes=tuple(read["notes"]),
    )


# --- words ---------------------------------------------------------------------------------------


def _said(audit: SyntheticAudit) -> str:
    p = f"p-value {words.number(audit.p_value, 3)}"
    if audit.verdict == "refuted":
        return f"The synthetic table LEAKS who is in TRAIN ({p})."
    if audit.verdict == "consistent":
        return f"NO LEAK SHOWN by three attacks ({p}); that does not prove that there is none."
    if audit.unlike <= _UNLIKE:
        p = f"p-value {words.number(audit.unlike, 3)}"
        return f"INCONCLUSIVE. TRAIN and HOLDOUT differ without the synthetic table ({p})."
    return "INCONCLUSIVE. All records have the same score."


def _lead(audit: SyntheticAudit) -> str:
    inside, outside = audit.judged.input.members, audit.judged.input.nonmembers
    p = words.number(audit.judged_p_value, 3)
    return (
        f"{_equal(audit)} The attack by {_ATTACKS[audit.attacks[0].name]} was chosen on one half "
        f"of the records; on the other it flags {audit.flagged[0]} of {inside} of TRAIN and "
        f"{audit.flagged[1]} of {outside} of HOLDOUT (p-value {p}). Together their p-value is "
        "twice the smaller."
    )


def _notices(audit: SyntheticAudit) -> Iterator[Notice]:
    copies, percentage = audit.copies, percent(audit.confidence)
    wrongly = words.number(100.0 - 100.0 * audit.confidence)
    if audit.unlike <= _UNLIKE:
        yield Notice(
            "warning",
            "unlike",
            "TRAIN and HOLDOUT are told apart without the synthetic table, so that no attack shows "
            "what it adds: take HOLDOUT from the same source, split at random.",
        )
    if copies.overlap:
        yield Notice(
            "warning",
            "overlap",
            f"{counted(copies.overlap, 'record')} of HOLDOUT equal one of TRAIN. They "
            "count on both sides, which can hide a leak.",
        )
    yield Notice(
        "note",
        "one-table",
        "This is one synthetic table of one training. The p-value is exact if it was decided at "
        "random which records are in TRAIN; it is about this table and these records. Of tables "
        f"that show nothing, at most {wrongly} in 100 are said to leak.",
    )
    if audit.certified is None:
        yield Notice(
            "note",
            "measure",
            "The rates and epsilon below are those of independent rounds. Records of one training "
            "are none: they measure this table and certify nothing of the generator. If a fair "
            "coin put each record into TRAIN or HOLDOUT, --random-bits certifies; its author can "
            "play fresh trainings (leakscore.games.synthetic).",
        )
    else:
        yield Notice(
            "note",
            "certified",
            f"With {percentage} confidence the generator's epsilon is at least "
            f"{words.lower_bound(audit.certified.epsilon)} at delta = "
            f"{words.number(audit.certified.delta, 10)}, if a fair coin of its own put each record "
            "into TRAIN or HOLDOUT; perfect guesses could certify "
            f"{words.lower_bound(audit.certified.max_certifiable)}.",
        )
    yield Notice(
        "note",
        "no-bound",
        "Another attack may show more. Of a generator that sees its table only through means, "
        "covariances or counts of cells, leakscore report TRAIN --synthetic-from bounds what any "
        "attack can show.",
    )


def _document(audit: SyntheticAudit) -> doc.Document:
    head: list[doc.Part] = [doc.Heading(_said(audit)), doc.Paragraph(_lead(audit), "lead")]
    if audit.doubts:
        head.insert(0, doc.Notices(audit.doubts))
    rates = sections.rates(audit.judged)
    bound = audit.judged.bounds.bounds[0]
    certified = words.bound_at(float(bound.epsilon), float(bound.delta), audit.confidence)
    measured = f"Independent rounds of such scores would certify {certified}."
    return doc.Document(
        f"leakscore audit-synthetic: {audit.input['files'][2]['name']}",
        [head],
        (
            doc.Section("The attacks, on the half on which they are chosen", [_tried(audit)]),
            doc.Section(
                "The chosen attack on the other half",
                [
                    *rates.parts,
                    doc.Paragraph(measured, "soft"),
                    doc.Figures([sections.roc(audit.judged)]),
                ],
            ),
            doc.Section("To know", [doc.Notices([n for n in audit.notices if n.level == "note"])]),
            doc.Section("What was read", [doc.Definitions(list(_read(audit)))]),
        ),
    )


def _equal(audit: SyntheticAudit) -> str:
    """Say how many records are in the synthetic table, too."""
    copies, sizes = audit.copies, audit.input["records"]
    return (
        f"{copies.train} of {sizes[0]} records of TRAIN and {copies.holdout} of {sizes[1]} of "
        f"HOLDOUT equal a synthetic one (p-value {words.number(copies.p_value, 3)})."
    )


def _tried(audit: SyntheticAudit) -> doc.TextTable:
    rows = [
        [
            attack.name,
            _ATTACKS[attack.name],
            str(attack.flagged_members),
            str(attack.flagged_nonmembers),
            words.number(attack.p_value, 3),
        ]
        for attack in audit.attacks
    ]
    return doc.TextTable(
        ["attack", "by", "of\nTRAIN", "of\nHOLDOUT", "p-value"],
        rows,
        "Records that each flags at its best threshold. The first is judged; these p-values are no "
        "evidence, as the threshold was chosen for them",
        words=["by"],
        page_only=["by"],
    )


def _read(audit: SyntheticAudit) -> Iterator[tuple[str, str]]:
    seen = audit.input
    for role, file, records in zip(seen["roles"], seen["files"], seen["records"], strict=True):
        yield role, f"{file['name']}, {counted(records, 'record')}"
        yield "sha256", file["sha256"]
    yield "columns", listed(seen["columns"], 20)
    if seen["set_aside"]:
        yield "population", f"{seen['set_aside']} records of HOLDOUT, set aside and not judged"
    for note in seen["notes"]:
        yield "note", note
    yield "made by", f"leakscore {audit.tool_version}, seed {audit.seed}"
