"""An audit of a synthetic table: what it reveals about its generator's training records.

Three attacks are compared on one half of the records, and the best is judged on the other half.
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
from leakscore_app.audits.scores import LoadedScores, Samples
from leakscore_app.document import document as doc
from leakscore_app.document.document import Findings
from leakscore_app.tables.files import File
from leakscore_app.tables.table import Table, read_table

_FEWEST = 50
_SAMPLE_SIZE = 1000  # records of TRAIN and of HOLDOUT that are compared with each other
_DIFFERENCE_LEVEL = 0.001  # p-value at which TRAIN and HOLDOUT count as different
_REFUSAL_LEVEL = 1e-5  # p-value of equal records at which tables are refused
_RATIO = 10.0  # a column so many times as wide or as far away may have another unit
_PERSONS_REMEDY = "If persons have several records, keep one of each person"
_ATTACKS = {
    "moments": "means and products of the columns, as if they were released",
    "distance": "distance to the nearest synthetic record",
    "density": "synthetic records nearby, against others of the population",
}


@dataclass(frozen=True)
class SyntheticAttack:
    """Numbers of records that an attack flags, and the p-value of so many members among them."""

    name: str
    threshold: float
    members: int
    nonmembers: int
    p_value: float

    @classmethod
    def of(cls, name: str, scores: Doubles, member: Flags, threshold: float) -> SyntheticAttack:
        """Flag scores above a threshold; the p-value is exact if labellings are equally likely."""
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
        The files, the numbers of their records, the columns, and notes of the reader.
    verdict : {"refuted", "consistent", "cannot-tell"}
        Verdict on the claim that the synthetic table does not depend on which records were trained
        on.
    p_value : float
        Twice the smaller p-value of `copies` and `chosen`. It is exact if chance decided which
        records are in TRAIN.
    copies : SyntheticAttack
        The attack that flags records equal to a synthetic one.
    chosen : SyntheticAttack
        The best attack of `tried`, judged on the half of the records on which it was not chosen.
    tried : tuple of SyntheticAttack
        The attacks on the other half, best first, each at its best threshold.
    judged : Judgement
        Error rates of the chosen attack, and the epsilon that independent rounds would certify.
    certified : OneRunBound or None
        Lower bound on the generator's epsilon, if fair coins decided who is in TRAIN.
    overlap : int
        Number of records of HOLDOUT that equal one of TRAIN.
    unlike : float
        P-value of `audit.blind_check` for a difference between TRAIN and HOLDOUT, computed without
        the synthetic table.
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
        """Return the fields of the JSON besides envelope and notices."""
        judged = self.judged.contents()
        return super().contents() | {
            "verdict": {"verdict": self.verdict},
            "judged": {name: judged[name] for name in ("confidence", "bounds", "roc", "setting")},
        }

    def document(self) -> doc.Document:
        """Return the sections of the text and the page."""
        head = (doc.Heading(_verdict_line(self)), doc.Paragraph(_lead(self), "lead"))
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
            *sections.rates_section(self.judged).parts,
            doc.Paragraph(f"Independent rounds of such scores would certify {certified}.", "soft"),
            doc.Figures([sections.roc_chart(self.judged)]),
        ]
        notes = [notice for notice in self.notices if notice.level == "note"]
        return doc.Document(
            f"leakscore audit-synthetic: {self.input['files'][2]['name']}",
            words.head(self.doubts, "", *head),
            (
                doc.Section("The attacks, on the half on which they are chosen", [tried]),
                doc.Section("The best attack on the other half", rates),
                doc.Section("To know", [doc.Notices(notes)]),
                words.input_section(_input_facts(self)),
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
        Tables with the same columns, at least 50 records each: the records that the generator was
        trained on, other records of the same population, and the synthetic records.
    reference : str, optional
        More records of the population. By default half of `holdout` serves as these.
    categories : sequence of str
        Columns of numbers or dates that are categories; columns of words always are.
    columns, exclude : sequence of str, optional
        Columns to use, and columns to leave out.
    delta, confidence : float
        Of the bounds.
    random_bits : bool
        Whether an independent fair coin put each record into `train` or `holdout`. Then a lower
        bound on the generator's epsilon is certified. Needs `reference`.
    seed : int
        Decides the halves.
    reading : mapping, optional
        Other options of `read_table`, for all files.

    Returns
    -------
    SyntheticAudit

    Raises
    ------
    ValueError
        If a table cannot be read, has other columns or fewer than 50 records, no column varies, the
        synthetic table is one of the others, or equal records are spread over the tables as in no
        random split.

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
    tables = _read_tables({role: p for role, p in paths.items() if p}, tuple(categories), options)
    order = rng.permutation(len(tables["HOLDOUT"].values))
    reserved, judged = np.split(order, [0 if reference else len(order) // 2])
    matrices, facts = _encode_tables(tables, categories, reserved)
    population = matrices.get("REFERENCE", matrices["HOLDOUT"][reserved])
    records = np.vstack([matrices["TRAIN"], matrices["HOLDOUT"][judged]])
    member = np.arange(len(records)) < len(matrices["TRAIN"])
    overlap, copies = _count_equal_records(matrices, reserved, rng)
    unlike = _difference_p_value(records, population, member, rng)
    scores = synthetic_scores(
        records, matrices["SYNTH"], population, int(member.sum()), scale=np.ones(records.shape[1])
    )
    half = rng.permutation(len(records)) < len(records) // 2
    tried = sorted(
        (_best_threshold(name, getattr(scores, name)[half], member[half]) for name in _ATTACKS),
        key=lambda attack: attack.p_value,
    )
    values, inside = getattr(scores, tried[0].name)[~half], member[~half]
    chosen = SyntheticAttack.of(tried[0].name, values, inside, tried[0].threshold)
    p_value = min(1.0, 2.0 * min(chosen.p_value, copies.p_value))
    verdict = "refuted" if p_value <= level else "consistent"
    return SyntheticAudit(
        input=facts | {"set_aside": len(reserved), "random_bits": random_bits},
        verdict="cannot-tell" if unlike <= _DIFFERENCE_LEVEL or not np.ptp(values) else verdict,
        p_value=p_value,
        copies=copies,
        chosen=chosen,
        tried=tuple(tried),
        judged=_judge_rounds(values, inside, chosen.threshold, seed, **bounds),
        certified=_certify(values, inside, member, seed, **bounds) if random_bits else None,
        overlap=overlap,
        unlike=unlike,
    )


def _read_tables(
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
        for here, other in ((table, first), (first, table)):
            missing = [name for name in other.columns if name not in here.columns]
            if missing:
                raise ValueError(
                    f"{here.name} has no column {listed(missing)}, which {other.name} has: all "
                    "tables need the same columns (--exclude leaves out others)"
                )
    return tables


# --- columns as numbers --------------------------------------------------------------------------


def _encode_tables(
    tables: Mapping[str, Table], categories: Sequence[str], reserved: Indices
) -> tuple[dict[str, Doubles], dict[str, Any]]:
    """Return the tables as matrices in common units, and facts on the input."""
    first, names = tables["TRAIN"], []
    notes = [f"{table.name}: {note}" for table in tables.values() for note in table.notes]
    doubtful: dict[str, list[str]] = {"other_units": [], "persons": []}
    parts: dict[str, list[Doubles]] = {role: [] for role in tables}
    for j, name in enumerate(first.columns):
        columns: list[Doubles] = []
        why = "" if name in first.groups else first.excluded.get(j, "")
        if not why:
            numbers = _number_columns(name, tables, categories)
            if numbers is None:
                columns, why = _encode_categories(name, tables, doubtful["persons"])
            else:
                columns, why = _standardize(name, numbers, reserved), "it is constant"
                if columns and _units_differ(numbers):
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


def _encode_categories(
    name: str, tables: Mapping[str, Table], persons: list[str]
) -> tuple[list[Doubles], str]:
    """Return the indicators of a column's levels in each table, or why they tell nothing."""
    labels = _normalize_labels({role: table.groups[name] for role, table in tables.items()})
    trained, generated = (set(labels[role].tolist()) for role in ("TRAIN", "SYNTH"))
    if 2 * len(trained) > len(labels["TRAIN"]):
        shared = [np.isin(labels[role], list(generated - {""})) for role in ("TRAIN", "HOLDOUT")]
        same = _flag_attack(shared[0], shared[1])
        if same.p_value < _DIFFERENCE_LEVEL:
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


def _normalize_labels(labels: Mapping[str, Labels]) -> dict[str, Labels]:
    """Return labels in which 1.0 and 1 are one level, in all tables or, beside words, in none."""
    distinct, places = np.unique(np.concatenate(list(labels.values())), return_inverse=True)
    try:
        plain = [f"{float(label):.15g}" if label else "" for label in distinct.tolist()]
    except ValueError:
        return dict(labels)
    ends = np.cumsum([len(values) for values in labels.values()])
    parts = np.split(np.asarray(plain, dtype=np.str_)[places], ends[:-1])
    return dict(zip(labels, parts, strict=True))


def _number_columns(
    name: str, tables: Mapping[str, Table], categories: Sequence[str]
) -> dict[str, Doubles] | None:
    """Return a column of each table as numbers or dates; None if it holds words."""
    values: dict[str, Doubles] = {}
    for role, table in tables.items():
        column = table.values[:, table.columns.index(name)]
        if name in table.groups:
            dates = None if name in categories else alike.dates_as_seconds(table.groups[name])
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
    # A table of float32 numbers holds rounded copies: round the other tables, too.
    with np.errstate(over="ignore"):
        single = {role: column.astype(np.float32) for role, column in values.items()}
    equal = [np.array_equal(single[role], values[role], equal_nan=True) for role in values]
    if any(equal) and not any(np.isinf(column).any() for column in single.values()):
        values = {role: column.astype(np.float64) for role, column in single.items()}
    return values


def _units_differ(values: Mapping[str, Doubles]) -> bool:
    """Whether the synthetic numbers are so wide, narrow or far off that their unit may differ."""
    columns = (values[role] for role in ("TRAIN", "SYNTH"))
    low, middle, high = np.transpose([np.nanquantile(each, (0.25, 0.5, 0.75)) for each in columns])
    narrow, wide = sorted((high - low).tolist())
    return bool(narrow > 0 and max(wide / narrow, abs(np.diff(middle)[0]) / wide) > _RATIO)


def _standardize(name: str, values: Mapping[str, Doubles], reserved: Indices) -> list[Doubles]:
    """Return a column of each table in standard deviations; nothing if it is constant."""
    joined = np.concatenate(list(values.values()))
    population = values.get("REFERENCE", values["HOLDOUT"][reserved])
    gaps = bool(np.isnan(joined).any())
    unit, centre = 0.0, 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for sample in (population, joined):
            present = sample[~np.isnan(sample)]
            if present.size and not unit:
                unit, centre = float(present.std()), float(present.mean())
    if not np.isfinite(unit):
        raise ValueError(f"column {name!r} holds numbers too large to be squared")
    if not unit and (not gaps or np.isnan(joined).all()):
        return []
    return [
        alike.fill_gaps((column - centre) / (unit or 1.0), 0.0, gaps=gaps)
        for column in values.values()
    ]


# --- equal records -------------------------------------------------------------------------------


def _number_records(matrices: Mapping[str, Doubles]) -> dict[str, Indices]:
    """Return a number for each record of each table; equal records have equal numbers."""
    records = np.ascontiguousarray(np.vstack(list(matrices.values())) + 0.0)
    # numpy ignores zero bytes at the end: records of one length are still compared exactly.
    whole = records.view(f"S{records[0].nbytes}").ravel()
    ends = np.cumsum([len(matrix) for matrix in matrices.values()])
    numbers = np.split(np.unique(whole, return_inverse=True)[1], ends[:-1])
    return dict(zip(matrices, numbers, strict=True))


def _flag_attack(train: Flags, holdout: Flags) -> SyntheticAttack:
    """Return the attack that flags these records of TRAIN and of HOLDOUT."""
    flags = np.concatenate([train, holdout])
    return SyntheticAttack.of("copies", flags, np.arange(len(flags)) < len(train), 0.5)


def _count_equal_records(
    matrices: Mapping[str, Doubles], reserved: Indices, rng: np.random.Generator
) -> tuple[int, SyntheticAttack]:
    """Count records of HOLDOUT in TRAIN, and copies; refuse tables that are no random split."""
    rows = _number_records(matrices)
    train, holdout, generated = (rows[role] for role in ("TRAIN", "HOLDOUT", "SYNTH"))
    for role in [role for role in rows if role != "SYNTH"]:
        if np.array_equal(np.sort(rows[role]), np.sort(generated)):
            raise ValueError(f"SYNTH is {role}: it holds the same records")
    overlap = int(np.isin(holdout, train).sum())
    others = rows.get("REFERENCE", holdout[reserved])
    judged = np.delete(np.arange(len(holdout)), reserved if "REFERENCE" not in rows else [])
    shared = np.isin(train, others), np.isin(holdout, others)[judged]
    unlike = (
        min(_flag_attack(*shared).p_value, _flag_attack(*shared[::-1]).p_value) < _REFUSAL_LEVEL
    )
    split, pairs, chance = _split(train, holdout, rng)
    # Tables of few levels overlap, too, but as a random split of both does.
    p_value = min(binom.sf(split - 1, pairs, chance), _p_value_of_rare(train, holdout))
    too_many = 2 * overlap > len(holdout) and p_value < _REFUSAL_LEVEL
    if too_many or (unlike and overlap and "REFERENCE" not in rows):
        raise ValueError(
            f"{overlap} of {counted(len(holdout), 'record')} of HOLDOUT are in TRAIN: HOLDOUT "
            "must hold other records"
        )
    if unlike:
        raise ValueError(
            "the records of the population beside which the others are judged (--reference, or "
            f"half of HOLDOUT) include {counted(int(shared[1].sum()), 'record')} of HOLDOUT and "
            f"{int(shared[0].sum())} of TRAIN: they must be others. {_PERSONS_REMEDY}"
        )
    if binom.cdf(split, pairs, chance) < _REFUSAL_LEVEL:  # as those of a person do
        raise ValueError(
            f"{pairs - split} of {pairs} pairs of equal records lie in one table, TRAIN or "
            f"HOLDOUT: records must be drawn one by one. {_PERSONS_REMEDY}"
        )
    copied = np.isin(train, generated), np.isin(holdout, generated)
    if _flag_attack(*copied[::-1]).p_value < _REFUSAL_LEVEL:
        raise ValueError(
            f"SYNTH has {counted(int(copied[1].sum()), 'record')} of HOLDOUT and "
            f"{int(copied[0].sum())} of TRAIN: HOLDOUT must hold records that were not trained on"
        )
    return overlap, _flag_attack(*copied)


def _split(train: Indices, holdout: Indices, rng: np.random.Generator) -> tuple[int, int, float]:
    """Return how many pairs of equal records lie in both tables, of how many, and their chance.

    Two copies of each repeated record are picked at random. In a random split they lie in one table
    as often as any two records.
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


def _p_value_of_rare(train: Indices, holdout: Indices) -> float:
    """Return the p-value of so few rare records in HOLDOUT: those that equal two others at most.

    A random split gives HOLDOUT its share of these. If HOLDOUT is a part of TRAIN, its records are
    rarely among them: both tables together have each once more than TRAIN.
    """
    records = np.concatenate([train, holdout])
    counts = np.bincount(records)[records]
    rare = [counts <= most for most in (1, 2, 3)]
    p_values = (
        hypergeom.cdf(each[len(train) :].sum(), len(records), each.sum(), len(holdout))
        for each in rare
    )
    return float(min(p_values))


# --- judging -------------------------------------------------------------------------------------


def _best_threshold(name: str, scores: Doubles, member: Flags) -> SyntheticAttack:
    """Return an attack at the threshold with the smallest p-value."""
    sizes = np.rint(2.0 ** np.arange(0.0, np.log2(len(scores)) - 1.0, 0.5)).astype(np.intp)
    thresholds = np.unique(np.sort(scores)[::-1][sizes])[::-1].tolist()
    attacks = (SyntheticAttack.of(name, scores, member, threshold) for threshold in thresholds)
    return min(attacks, key=lambda attack: attack.p_value)


def _difference_p_value(
    records: Doubles, population: Doubles, member: Flags, rng: np.random.Generator
) -> float:
    """Return the p-value of a difference between TRAIN and HOLDOUT without the synthetic table.

    Besides the columns it tests their squares and distances to the population, as the attacks do.
    """
    parts = [rng.permutation(np.flatnonzero(flags))[:_SAMPLE_SIZE] for flags in (member, ~member)]
    sample = np.concatenate(parts)
    others = rng.permutation(population)[: 2 * _SAMPLE_SIZE]
    distances = synthetic_scores(records[sample], others, others, 2).distance
    features = np.column_stack([records[sample], records[sample] ** 2, distances])
    return blind_check(features, member[sample], rng=rng).p_value


def _judge_rounds(
    scores: Doubles, member: Flags, threshold: float, seed: int, *, delta: float, confidence: float
) -> Judgement:
    """Return the judgement of the scores as if they were of independent rounds."""
    data = Samples(scores[member], scores[~member])
    return judge(
        LoadedScores((File("the scores", b""),), "scores", None, {}, str(scores.dtype), data, ()),
        deltas=(delta,),
        confidence=confidence,
        method="split",
        all_methods=False,
        setting=Setting(seed=seed, threshold=threshold),
        lower_is_member=False,
    )


def _certify(
    scores: Doubles, inside: Flags, member: Flags, seed: int, *, delta: float, confidence: float
) -> OneRunBound:
    """Bound the generator's epsilon by fair coins; refuse table sizes that contradict them."""
    sizes = int(member.sum()), int((~member).sum())
    for notice in words.no_fair_coins(*sizes, "--random-bits is not true of these tables"):
        raise ValueError(notice.message)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # on coins: the sizes have been checked
        return one_run(scores, inside, k="all", delta=delta, confidence=confidence, rng=seed)


# --- words ---------------------------------------------------------------------------------------


def _verdict_line(audit: SyntheticAudit) -> str:
    p_value = audit.unlike if audit.unlike <= _DIFFERENCE_LEVEL else audit.p_value
    p = f"(p-value {words.number(p_value, 3)})"
    if audit.verdict == "refuted":
        return f"The synthetic table LEAKS who is in TRAIN {p}."
    if audit.verdict == "consistent":
        return f"NO LEAK SHOWN {p}; that does not prove that there is none."
    if audit.unlike <= _DIFFERENCE_LEVEL:
        return f"INCONCLUSIVE. TRAIN and HOLDOUT differ without the synthetic table {p}."
    return "INCONCLUSIVE. All records have the same score."


def _lead(audit: SyntheticAudit) -> str:
    copies, chosen, half = audit.copies, audit.chosen, audit.judged.input
    first, second = (file["records"] for file in audit.input["files"][:2])
    p_values = [words.number(attack.p_value, 3) for attack in (copies, chosen)]
    return (
        f"{copies.members} of {first} records of TRAIN and {copies.nonmembers} of {second} of "
        f"HOLDOUT equal a synthetic one (p-value {p_values[0]}). Of three attacks the best on one "
        f"half of the records ({_ATTACKS[chosen.name]}) flags {chosen.members} of {half.members} "
        f"and {chosen.nonmembers} of {half.nonmembers} on the other half (p-value {p_values[1]}). "
        "Together their p-value is twice the smaller one."
    )


def _doubts(audit: SyntheticAudit) -> Iterator[doc.Notice]:
    """Yield warnings that make the verdict doubtful."""
    copied = audit.copies.members
    if audit.unlike <= _DIFFERENCE_LEVEL:
        yield doc.warning(
            "unlike",
            "TRAIN and HOLDOUT are told apart without the synthetic table, so that no attack shows "
            "what it adds: take HOLDOUT from the same source, split at random.",
        )
    if names := audit.input["other_units"]:
        yield doc.warning(
            "other-units",
            f"{listed(names)}: SYNTH is {_RATIO:g} times as wide or as narrow as TRAIN, or as far "
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
    """Yield notes on the meaning of the verdict."""
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


def _input_facts(audit: SyntheticAudit) -> Iterator[tuple[str, str]]:
    for file in audit.input["files"]:
        yield file["role"], f"{file['name']}, {counted(file['records'], 'record')}"
        yield "sha256", file["sha256"]
    yield "columns", listed(audit.input["columns"], 20)
    if audit.input["set_aside"]:
        yield "population", f"{audit.input['set_aside']} records of HOLDOUT, not judged"
    for note in audit.input["notes"]:
        yield "note", note
    yield "drawn by", f"leakscore {audit.tool_version}, seed {audit.judged.setting.seed}"
