"""What a synthetic table shows of the records that its generator was trained on.

Three attacks are tried on one half of the records, and the best is judged on the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom, hypergeom

from leakscore import validation
from leakscore.audit import OneRunBound, blind_check, one_run
from leakscore.scores import synthetic_scores
from leakscore.typing import Doubles, Flags, Indices
from leakscore_app._visible import counted, listed
from leakscore_app.audits import alike, sections, words
from leakscore_app.audits.alike import Labels
from leakscore_app.audits.judge import Judgement, judge
from leakscore_app.audits.model import Setting
from leakscore_app.audits.scores import Read, Samples
from leakscore_app.document import document as doc
from leakscore_app.document.document import Findings
from leakscore_app.tables.files import File
from leakscore_app.tables.table import Table, read_table

_FEWEST = 50
_SAMPLED = 1000  # records of each kind that are compared without the synthetic table
_UNLIKE = 0.001  # p-value at which they differ
_REFUSED = 1e-5  # p-value of equal records at which tables are no samples
_OTHER = 10.0  # times as wide as TRAIN is, or as far away: of other units
_ONE_EACH = "If persons have several records, keep one of each person"
_ATTACKS = {
    "moments": "means and products of the columns, as if they were released",
    "distance": "distance to the nearest synthetic record",
    "density": "synthetic records nearby, against others of the population",
}


@dataclass(frozen=True)
class SyntheticAttack:
    """Which records an attack flags, and the chance of so many members among them or more."""

    name: str
    threshold: float
    members: int
    nonmembers: int
    p_value: float

    @classmethod
    def of(cls, name: str, scores: Doubles, member: Flags, threshold: float) -> SyntheticAttack:
        """Flag scores above a threshold; the chance is exact if all labellings are as likely."""
        flags = scores > threshold
        members, flagged = int((flags & member).sum()), int(flags.sum())
        chance = hypergeom.sf(members - 1, len(member), int(member.sum()), flagged)
        return cls(name, float(threshold), members, flagged - members, float(min(1.0, chance)))


@dataclass(frozen=True, eq=False)
class SyntheticAudit(Findings):
    """What `audit_synthetic` returns.

    Attributes
    ----------
    input : dict
        The files, their records, the columns, and notes on the reading.
    verdict : {"refuted", "consistent", "cannot-tell"}
        Of the claim that the synthetic table does not depend on which records were trained on.
    p_value : float
        Twice the smaller of those of `copies` and `chosen`: exact if it was decided at random which
        records are in TRAIN.
    copies : SyntheticAttack
        Flags the records that equal a synthetic one.
    chosen : SyntheticAttack
        The best of `tried`, on the half of the records on which it was not chosen.
    tried : tuple of SyntheticAttack
        On the other half, best first, each at its best threshold.
    judged : Judgement
        Error rates of the chosen attack, and the epsilon of independent rounds.
    certified : OneRunBound or None
        Lower bound on the generator's epsilon, if fair coins decided who is in TRAIN.
    overlap : int
        Records of HOLDOUT that equal one of TRAIN.
    unlike : float
        P-value of `audit.blind_check`: whether TRAIN and HOLDOUT differ without the table.
    """

    command = "audit-synthetic"

    input: dict[str, Any]
    verdict: str
    p_value: float
    copies: SyntheticAttack
    chosen: SyntheticAttack
    tried: tuple[SyntheticAttack, ...]
    judged: Judgement
    certified: OneRunBound | None
    overlap: int
    unlike: float

    @property
    def notices(self) -> Sequence[doc.Notice]:
        """What must be known to read the numbers, warnings first."""
        return (*_doubts(self), *_notes(self))

    def contents(self) -> dict[str, Any]:
        """Return what the JSON holds besides envelope and notices."""
        judged = self.judged.contents()
        return super().contents() | {
            "verdict": {"verdict": self.verdict},
            "judged": {name: judged[name] for name in ("confidence", "bounds", "roc", "setting")},
        }

    def document(self) -> doc.Document:
        """Return the sections of the text and the page."""
        head = (doc.Heading(_said(self)), doc.Paragraph(_lead(self), "lead"))
        bound = self.judged.bounds.bounds[0]
        certified = words.bound_at(float(bound.epsilon), float(bound.delta), self.judged.confidence)
        tried = doc.TextTable.of(
            {
                "attack": [each.name for each in self.tried],
                "of\nTRAIN": [str(each.members) for each in self.tried],
                "of\nHOLDOUT": [str(each.nonmembers) for each in self.tried],
                "p-value": [words.number(each.p_value, 3) for each in self.tried],
            },
            "Records flagged at the best threshold; no evidence, as it was chosen here",
        )
        rates = [
            *sections.rates(self.judged).parts,
            doc.Paragraph(f"Independent rounds of such scores would certify {certified}.", "soft"),
            doc.Figures([sections.roc(self.judged)]),
        ]
        notes = [notice for notice in self.notices if notice.level == "note"]
        return doc.Document(
            f"leakscore audit-synthetic: {self.input['files'][2]['name']}",
            words.head(self.doubts, "", *head),
            (
                doc.Section("The attacks, on the half on which they are chosen", [tried]),
                doc.Section("The best attack on the other half", rates),
                doc.Section("To know", [doc.Notices(notes)]),
                words.read(_read(self)),
            ),
        )


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
        Columns of numbers or dates that are categories; columns of words are.
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
        If a table cannot be read, has other columns or fewer than 50 records, no column varies, the
        synthetic table is one of the others, or equal records lie in tables as no chance puts them.

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
    ...     result = leakscore_app.audit_synthetic(*paths)
    >>> result.verdict, result.chosen.name
    ('refuted', 'density')
    """
    if random_bits and reference is None:
        raise ValueError(
            "--random-bits needs --reference: of records set aside from HOLDOUT it is decided that "
            "they are out, and the coins of the others are not fair"
        )
    rng = np.random.default_rng(validation.count("seed", seed, high=None))
    level = 1.0 - validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
    bounds: dict[str, Any] = {"delta": delta, "confidence": confidence}
    paths = {"TRAIN": train, "HOLDOUT": holdout, "SYNTH": synthetic, "REFERENCE": reference}
    options = {"columns": columns, "exclude": exclude, **(reading or {})}
    tables = _tables({role: p for role, p in paths.items() if p}, tuple(categories), options)
    order = rng.permutation(len(tables["HOLDOUT"].values))
    aside, rest = np.split(order, [0 if reference else len(order) // 2])
    matrices, read = _encoded(tables, categories, aside)
    others = matrices.get("REFERENCE", matrices["HOLDOUT"][aside])
    records = np.vstack([matrices["TRAIN"], matrices["HOLDOUT"][rest]])
    member = np.arange(len(records)) < len(matrices["TRAIN"])
    overlap, copies = _equal_records(matrices, aside, rng)
    unlike = _unlike(records, others, member, rng)
    scores = synthetic_scores(
        records, matrices["SYNTH"], others, int(member.sum()), scale=np.ones(others.shape[1])
    )
    first = rng.permutation(len(records)) < len(records) // 2
    tried = sorted(
        (_best(name, getattr(scores, name)[first], member[first]) for name in _ATTACKS),
        key=lambda attack: attack.p_value,
    )
    values, inside = getattr(scores, tried[0].name)[~first], member[~first]
    chosen = SyntheticAttack.of(tried[0].name, values, inside, tried[0].threshold)
    p_value = min(1.0, 2.0 * min(chosen.p_value, copies.p_value))
    verdict = "refuted" if p_value <= level else "consistent"
    return SyntheticAudit(
        input=read | {"set_aside": len(aside), "random_bits": random_bits},
        verdict="cannot-tell" if unlike <= _UNLIKE or not np.ptp(values) else verdict,
        p_value=p_value,
        copies=copies,
        chosen=chosen,
        tried=tuple(tried),
        judged=_rates(values, inside, chosen.threshold, seed, **bounds),
        certified=_certified(values, inside, member, seed, **bounds) if random_bits else None,
        overlap=overlap,
        unlike=unlike,
    )


def _tables(
    paths: Mapping[str, str], categories: tuple[str, ...], options: Mapping[str, Any]
) -> dict[str, Table]:
    """Read tables of the same columns; columns of words in the first are categories."""
    first = read_table(paths["TRAIN"], groups=categories, **options)
    chosen = first.columns if options["columns"] is None else options["columns"]
    text = [
        name
        for name, values in zip(first.columns, first.values.T, strict=True)
        if name in chosen and name not in options["exclude"] and np.isnan(values).all()
    ]
    groups = tuple(dict.fromkeys((*categories, *text)))
    tables = {role: read_table(path, groups=groups, **options) for role, path in paths.items()}
    for role, table in tables.items():
        for j, why in table.refused.items():
            raise ValueError(f"{table.name}, column {table.columns[j]!r}: {why}")
        if len(table.values) < _FEWEST:
            size = counted(len(table.values), "record")
            raise ValueError(f"{role}, {table.name}, has {size}: at least {_FEWEST} are needed")
        for here, whole in ((table, first), (first, table)):
            missing = [name for name in whole.columns if name not in here.columns]
            if missing:
                raise ValueError(
                    f"{here.name} has no column {listed(missing)}, which {whole.name} has: all "
                    "tables need the same columns (--exclude leaves out others)"
                )
    return tables


# --- columns as numbers --------------------------------------------------------------------------


def _encoded(
    tables: Mapping[str, Table], categories: Sequence[str], aside: Indices
) -> tuple[dict[str, Doubles], dict[str, Any]]:
    """Return the tables as numbers in common units, and what was read."""
    first, names = tables["TRAIN"], []
    notes = [f"{table.name}: {said}" for table in tables.values() for said in table.notes]
    doubtful: dict[str, list[str]] = {"other_units": [], "persons": []}
    parts: dict[str, list[Doubles]] = {role: [] for role in tables}
    for j, name in enumerate(first.columns):
        columns: list[Doubles] = []
        why = "" if name in first.groups else first.excluded.get(j, "")
        if not why:
            numbers = _numbers(name, tables, categories)
            if numbers is None:
                columns, why = _categories(name, tables, doubtful["persons"])
            else:
                columns, why = _in_units(name, numbers, aside), "it is constant"
                if columns and _is_other(numbers):
                    doubtful["other_units"].append(name)
        notes += [] if columns else [f"{name} is left out: {why}"]
        names += [name] if columns else []
        for role, part in zip(tables, columns, strict=bool(columns)):
            parts[role].append(part)
    if not names:
        raise ValueError(f"{first.name} has no column to compare: {'; '.join(notes)}")
    files = [
        {"role": role, "name": table.name, "sha256": table.sha256, "records": len(table.values)}
        for role, table in tables.items()
    ]
    matrices = {role: np.hstack(part) for role, part in parts.items()}
    return matrices, {"files": files, "columns": names, "notes": notes, **doubtful}


def _categories(
    name: str, tables: Mapping[str, Table], persons: list[str]
) -> tuple[list[Doubles], str]:
    """Return the indicators of a column's levels in each table, or why they tell nothing."""
    labels = _plain({role: table.groups[name] for role, table in tables.items()})
    trained, drawn = (set(labels[role].tolist()) for role in ("TRAIN", "SYNTH"))
    if 2 * len(trained) > len(labels["TRAIN"]):
        shared = [np.isin(labels[role], list(drawn - {""})) for role in ("TRAIN", "HOLDOUT")]
        same = _of_two(shared[0], shared[1])
        if same.p_value < _UNLIKE:
            persons.append(name)
        return [], (
            f"its values hardly ever repeat; SYNTH has those of {same.members} records of TRAIN "
            f"and of {same.nonmembers} of HOLDOUT"
        )
    for role, values in labels.items():
        if trained.isdisjoint(values.tolist()):
            raise ValueError(
                f"{tables[role].name}, column {name!r}: no value is one of {tables['TRAIN'].name}"
                f"{'' if trained - {''} else ', which has none'} (--exclude {name} leaves the "
                "column out)"
            )
    most = alike.MOST_LEVELS // len(tables["TRAIN"].groups)
    levels = alike.levels_of(np.concatenate(list(labels.values())), most)
    if len(levels) == 1:
        return [], "it is constant"
    return [alike.indicators(values, levels) for values in labels.values()], ""


def _plain(labels: Mapping[str, Labels]) -> dict[str, Labels]:
    """Return labels in which 1.0 and 1 are one level, in all tables or, beside words, in none."""
    different, places = np.unique(np.concatenate(list(labels.values())), return_inverse=True)
    try:
        plain = [f"{float(label):.15g}" if label else "" for label in different.tolist()]
    except ValueError:
        return dict(labels)
    ends = np.cumsum([len(values) for values in labels.values()])
    parts = np.split(np.asarray(plain, dtype=np.str_)[places], ends[:-1])
    return dict(zip(labels, parts, strict=True))


def _numbers(
    name: str, tables: Mapping[str, Table], categories: Sequence[str]
) -> dict[str, Doubles] | None:
    """Return a column of numbers, or of dates, of each table; None if it holds words."""
    values: dict[str, Doubles] = {}
    for role, table in tables.items():
        column = table.values[:, table.columns.index(name)]
        if name in table.groups:
            dates = None if name in categories else alike.seconds(table.groups[name])
            if dates is None and values and not np.isnan(values["TRAIN"]).all():
                raise ValueError(
                    f"{table.name}, column {name!r} holds words, but that of "
                    f"{tables['TRAIN'].name} dates (--exclude {name} leaves the column out)"
                )
            if dates is None:
                return None
            column = dates
        if np.isinf(column).any():
            raise ValueError(f"{table.name}, column {name!r} must be finite, but holds inf")
        values[role] = column
    empty = [tables[role].name for role, column in values.items() if np.isnan(column).all()]
    if empty and len(empty) < len(tables):
        other = next(table.name for table in tables.values() if table.name not in empty)
        raise ValueError(
            f"{empty[0]}, column {name!r} holds no numbers, but that of {other} does "
            f"(--exclude {name} leaves the column out)"
        )
    # Numbers in single precision equal those that they are rounded from.
    with np.errstate(over="ignore"):
        single = {role: column.astype(np.float32) for role, column in values.items()}
    equal = [np.array_equal(single[role], values[role], equal_nan=True) for role in values]
    if any(equal) and not any(np.isinf(column).any() for column in single.values()):
        values = {role: column.astype(np.float64) for role, column in single.items()}
    return values


def _is_other(values: Mapping[str, Doubles]) -> bool:
    """Whether the synthetic numbers are so wide, narrow or far away that their unit may differ."""
    columns = (values[role] for role in ("TRAIN", "SYNTH"))
    low, middle, high = np.transpose([np.nanquantile(each, (0.25, 0.5, 0.75)) for each in columns])
    narrow, wide = sorted((high - low).tolist())
    return bool(narrow > 0 and max(wide / narrow, abs(np.diff(middle)[0]) / wide) > _OTHER)


def _in_units(name: str, values: Mapping[str, Doubles], aside: Indices) -> list[Doubles]:
    """Return a column of each table in units of the population's; none if it is constant."""
    everything = np.concatenate(list(values.values()))
    others = values.get("REFERENCE", values["HOLDOUT"][aside])
    gaps = bool(np.isnan(everything).any())
    unit, centre = 0.0, 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for sample in (others, everything):
            present = sample[~np.isnan(sample)]
            if present.size and not unit:
                unit, centre = float(present.std()), float(present.mean())
    if not np.isfinite(unit):
        raise ValueError(f"column {name!r} holds numbers too large to be squared")
    if not unit and (not gaps or np.isnan(everything).all()):
        return []
    return [
        alike.filled((column - centre) / (unit or 1.0), 0.0, gaps=gaps)
        for column in values.values()
    ]


# --- equal records -------------------------------------------------------------------------------


def _numbered(matrices: Mapping[str, Doubles]) -> dict[str, Indices]:
    """Return a number for each record of each table, the same for records that are equal."""
    records = np.ascontiguousarray(np.vstack(list(matrices.values())) + 0.0)
    # Zero bytes at the end, which numpy leaves out, part no two records of the same length.
    whole = records.view(f"S{records[0].nbytes}").ravel()
    ends = np.cumsum([len(matrix) for matrix in matrices.values()])
    numbers = np.split(np.unique(whole, return_inverse=True)[1], ends[:-1])
    return dict(zip(matrices, numbers, strict=True))


def _of_two(train: Flags, holdout: Flags) -> SyntheticAttack:
    """Return the attack that flags records of TRAIN and of HOLDOUT."""
    flags = np.concatenate([train, holdout])
    return SyntheticAttack.of("copies", flags, np.arange(len(flags)) < len(train), 0.5)


def _equal_records(
    matrices: Mapping[str, Doubles], aside: Indices, rng: np.random.Generator
) -> tuple[int, SyntheticAttack]:
    """Count equal records of HOLDOUT and TRAIN, and copies; refuse tables that are no samples."""
    rows = _numbered(matrices)
    train, holdout, drawn = (rows[role] for role in ("TRAIN", "HOLDOUT", "SYNTH"))
    for role in [role for role in rows if role != "SYNTH"]:
        if np.array_equal(np.sort(rows[role]), np.sort(drawn)):
            raise ValueError(f"SYNTH is {role}: it holds the same records")
    overlap = int(np.isin(holdout, train).sum())
    others = rows.get("REFERENCE", holdout[aside])
    kept = np.delete(np.arange(len(holdout)), aside if "REFERENCE" not in rows else [])
    beside = np.isin(train, others), np.isin(holdout, others)[kept]
    unlike = min(_of_two(*beside).p_value, _of_two(*beside[::-1]).p_value) < _REFUSED
    split, pairs, chance = _split(train, holdout, rng)
    # Tables of few levels overlap, too, but their equal records part as others do.
    too_many = 2 * overlap > len(holdout) and binom.sf(split - 1, pairs, chance) < _REFUSED
    if too_many or (unlike and overlap and "REFERENCE" not in rows):
        raise ValueError(
            f"{overlap} of {counted(len(holdout), 'record')} of HOLDOUT are in TRAIN: HOLDOUT "
            "must hold other records"
        )
    if unlike:
        raise ValueError(
            "the records of the population beside which the others are judged (--reference, or "
            f"half of HOLDOUT) include {counted(int(beside[1].sum()), 'record')} of HOLDOUT and "
            f"{int(beside[0].sum())} of TRAIN: they must be others. {_ONE_EACH}"
        )
    if binom.cdf(split, pairs, chance) < _REFUSED:  # as those of a person do
        raise ValueError(
            f"{pairs - split} of {pairs} pairs of equal records lie in one table, TRAIN or "
            f"HOLDOUT: records must be drawn one by one. {_ONE_EACH}"
        )
    copied = np.isin(train, drawn), np.isin(holdout, drawn)
    if _of_two(*copied[::-1]).p_value < _REFUSED:
        raise ValueError(
            f"SYNTH has {counted(int(copied[1].sum()), 'record')} of HOLDOUT and "
            f"{int(copied[0].sum())} of TRAIN: HOLDOUT must hold records that were not trained on"
        )
    return overlap, _of_two(*copied)


def _split(train: Indices, holdout: Indices, rng: np.random.Generator) -> tuple[int, int, float]:
    """Return how many pairs of equal records lie in both tables, of how many, and their chance.

    Of two equal records, drawn at random of each that repeats, both lie in one table as often as of
    any two.
    """
    order = rng.permutation(len(train) + len(holdout))
    groups = np.concatenate([train, holdout])[order]
    places = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[places], prepend=-1, append=-1))
    starts = starts[:-1][np.diff(starts) > 1]
    member = (order < len(train))[places]
    split = int((member[starts] != member[starts + 1]).sum())
    chance = 2.0 * len(train) * len(holdout) / (len(order) * (len(order) - 1))
    return split, len(starts), chance


# --- judging -------------------------------------------------------------------------------------


def _best(name: str, scores: Doubles, member: Flags) -> SyntheticAttack:
    """Return an attack at its threshold of the smallest p-value."""
    sizes = np.rint(2.0 ** np.arange(0.0, np.log2(len(scores)) - 1.0, 0.5)).astype(np.intp)
    thresholds = np.unique(np.sort(scores)[::-1][sizes])[::-1].tolist()
    attacks = (SyntheticAttack.of(name, scores, member, threshold) for threshold in thresholds)
    return min(attacks, key=lambda attack: attack.p_value)


def _unlike(records: Doubles, others: Doubles, member: Flags, rng: np.random.Generator) -> float:
    """Return the p-value of a difference between TRAIN and HOLDOUT without the table.

    Spreads and sparse regions are looked at besides the columns, as the attacks see them, too.
    """
    parts = [rng.permutation(np.flatnonzero(flags))[:_SAMPLED] for flags in (member, ~member)]
    sample = np.concatenate(parts)
    beside = rng.permutation(others)[: 2 * _SAMPLED]
    away = synthetic_scores(records[sample], beside, beside, 2).distance
    features = np.column_stack([records[sample], records[sample] ** 2, away])
    return blind_check(features, member[sample], rng=rng).p_value


def _rates(
    scores: Doubles, member: Flags, threshold: float, seed: int, *, delta: float, confidence: float
) -> Judgement:
    """Return what the scores would certify if they were those of independent rounds."""
    data = Samples(scores[member], scores[~member])
    return judge(
        Read((File("the scores", b""),), "scores", None, {}, str(scores.dtype), data, ()),
        deltas=(delta,),
        confidence=confidence,
        method="split",
        all_methods=False,
        setting=Setting(seed=seed, threshold=threshold),
        lower_is_member=False,
    )


def _certified(
    scores: Doubles, inside: Flags, member: Flags, seed: int, *, delta: float, confidence: float
) -> OneRunBound:
    """Certify an epsilon of the training by fair coins; refuse sizes that they hardly give."""
    sizes = int(member.sum()), int((~member).sum())
    for notice in words.no_fair_coins(*sizes, "--random-bits is not true of these tables"):
        raise ValueError(notice.message)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of coins, which were looked at
        return one_run(scores, inside, k="all", delta=delta, confidence=confidence, rng=seed)


# --- words ---------------------------------------------------------------------------------------


def _said(audit: SyntheticAudit) -> str:
    p_value = audit.unlike if audit.unlike <= _UNLIKE else audit.p_value
    p = f"(p-value {words.number(p_value, 3)})"
    if audit.verdict == "refuted":
        return f"The synthetic table LEAKS who is in TRAIN {p}."
    if audit.verdict == "consistent":
        return f"NO LEAK SHOWN {p}; that does not prove that there is none."
    if audit.unlike <= _UNLIKE:
        return f"INCONCLUSIVE. TRAIN and HOLDOUT differ without the synthetic table {p}."
    return "INCONCLUSIVE. All records have the same score."


def _lead(audit: SyntheticAudit) -> str:
    copies, chosen, seen = audit.copies, audit.chosen, audit.judged.input
    first, second = (file["records"] for file in audit.input["files"][:2])
    p_values = [words.number(attack.p_value, 3) for attack in (copies, chosen)]
    return (
        f"{copies.members} of {first} records of TRAIN and {copies.nonmembers} of {second} of "
        f"HOLDOUT equal a synthetic one (p-value {p_values[0]}). Of three attacks the best on one "
        f"half of the records ({_ATTACKS[chosen.name]}) flags {chosen.members} of {seen.members} "
        f"and {chosen.nonmembers} of {seen.nonmembers} on the other half (p-value {p_values[1]}). "
        "Together their p-value is twice the smaller one."
    )


def _doubts(audit: SyntheticAudit) -> Iterator[doc.Notice]:
    """Say what makes the verdict doubtful."""
    copied = audit.copies.members
    if audit.unlike <= _UNLIKE:
        yield doc.warning(
            "unlike",
            "TRAIN and HOLDOUT are told apart without the synthetic table, so that no attack shows "
            "what it adds: take HOLDOUT from the same source, split at random.",
        )
    if names := audit.input["other_units"]:
        yield doc.warning(
            "other-units",
            f"{listed(names)}: SYNTH is {_OTHER:g} times as wide or as narrow as TRAIN, or as far "
            "away. In other units no attack sees a leak.",
        )
    if names := audit.input["persons"]:
        yield doc.warning(
            "persons",
            f"{listed(names)} is left out, as values hardly ever repeat, but SYNTH has more of "
            "those of TRAIN than of HOLDOUT: if they name persons, it names who is in TRAIN.",
        )
    if audit.verdict == "consistent" and copied > 0 == audit.copies.nonmembers:
        yield doc.warning(
            "few-copies",
            f"{counted(copied, 'record')} of TRAIN equal a synthetic one: too few to show that "
            "they were copied, but look at them.",
        )
    if audit.overlap:
        yield doc.warning(
            "overlap",
            f"{counted(audit.overlap, 'record')} of HOLDOUT equal one of TRAIN. They count on both "
            "sides, which can hide a leak.",
        )


def _notes(audit: SyntheticAudit) -> Iterator[doc.Notice]:
    """Say what the verdict means."""
    wrongly = words.number(100.0 * (1.0 - audit.judged.confidence))
    yield doc.note(
        "one-table",
        "This is one synthetic table of one training. The p-values are exact if it was decided at "
        "random which records are in TRAIN; they are about this table and these records. Of "
        f"tables that show nothing, at most {wrongly} in 100 are said to leak.",
    )
    if (bound := audit.certified) is not None:
        yield doc.note(
            "certified",
            f"If a fair coin of its own put each record into TRAIN or HOLDOUT, the generator has "
            f"{words.bound_at(bound.epsilon, bound.delta, bound.confidence)}; perfect guesses "
            f"could certify {words.lower_bound(bound.max_certifiable)}.",
        )
    else:
        yield doc.note(
            "measure",
            "Rates and epsilon are those of independent rounds. Records of one training are none: "
            "they measure this table and certify nothing of the generator. If a fair coin put each "
            "record into TRAIN or HOLDOUT, --random-bits certifies; its author can play fresh "
            "trainings (leakscore.games.synthetic).",
        )
    yield doc.note(
        "no-bound",
        "Another attack may show more. Of a generator that sees its table only through means, "
        "covariances or counts of cells, leakscore report TRAIN --synthetic-from bounds what any "
        "attack can show.",
    )


def _read(audit: SyntheticAudit) -> Iterator[tuple[str, str]]:
    for file in audit.input["files"]:
        yield file["role"], f"{file['name']}, {counted(file['records'], 'record')}"
        yield "sha256", file["sha256"]
    yield "columns", listed(audit.input["columns"], 20)
    if audit.input["set_aside"]:
        yield "population", f"{audit.input['set_aside']} records of HOLDOUT, not judged"
    for said in audit.input["notes"]:
        yield "note", said
    yield "drawn by", f"leakscore {audit.tool_version}, seed {audit.judged.setting.seed}"
