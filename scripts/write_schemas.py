"""Write the JSON schemas that the package carries, and docs/reference/json.md.

Those of single results follow from their fields. Those of the commands follow from what the
commands write for the runs below, in which every part of a document occurs. Fields may be added
without a new version; a version ends when one changes its meaning or goes away.
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from leakscore import audit, games, leakage, statistics, tradeoff
from leakscore.results import Result
from leakscore_app import report
from leakscore_app.audits import alike, risk, synthetic
from leakscore_app.audits.judge import judge
from leakscore_app.audits.model import Claim, Setting
from leakscore_app.audits.scores import read_scores
from leakscore_app.cli._epsilon import training_epsilon
from leakscore_app.questions import answering

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "python" / "leakscore_app" / "data" / "schemas"
PAGE = ROOT / "docs" / "reference" / "json.md"


def version(name: str) -> int:
    """Return the version of a document."""
    return report.Report.schema_version if name == "report" else 1


# Infinite numbers are words, and what is undefined is null.
NUMBER = {"anyOf": [{"type": ["number", "null"]}, {"enum": ["inf", "-inf"]}]}
NUMBERS = {
    "anyOf": [
        {"$ref": "#/$defs/number"},
        {"type": "array", "items": {"$ref": "#/$defs/numbers"}},
    ]
}

Schema = dict[str, Any]


def _of_type(kind: Any) -> Schema:
    """Return the schema of a field of a result."""
    if get_origin(kind) in (Union, UnionType):
        parts = [_of_type(part) for part in get_args(kind)]
        return {"anyOf": parts} if len(parts) > 1 else parts[0]
    if kind is type(None):
        return {"type": "null"}
    if get_origin(kind) is tuple:
        return {"type": "array", "items": _of_type(get_args(kind)[0])}
    if get_origin(kind) is np.ndarray:
        words = "str_" in str(kind)
        item: Schema = {"type": "string"} if words else {"$ref": "#/$defs/numbers"}
        return {"type": "array", "items": item}
    if isinstance(kind, type) and issubclass(kind, tradeoff.TradeOff):
        return {"type": "string"}  # a curve, by its name
    plain = {bool: "boolean", int: "integer", str: "string"}
    return {"type": plain[kind]} if kind in plain else {"$ref": "#/$defs/number"}


def results() -> Iterator[type[Result]]:
    """Yield the public classes of results."""
    for room in (audit, games, leakage, tradeoff):
        for name in room.__all__:
            value = getattr(room, name)
            if isinstance(value, type) and issubclass(value, Result):
                yield value


def of_result(kind: type[Result]) -> Schema:
    """Return the schema of what `to_json` of a result writes."""
    hints = get_type_hints(kind)
    fields = {field.name: _of_type(hints[field.name]) for field in dataclasses.fields(kind)}
    body = {"type": "object", "properties": fields, "required": list(fields)}
    return _document(kind.__name__, body)


def _document(name: str, body: Schema) -> Schema:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://leakscore.org/schemas/{name}-{version(name)}.json",
        "title": name,
        **body,
        "$defs": {"number": NUMBER, "numbers": NUMBERS},
    }


def of_examples(values: list[Any]) -> Schema:
    """Return a schema that all examples meet; a number, a text or an object may be null too."""
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, dict) for value in known):
        names = dict.fromkeys(name for value in known for name in value)
        return {
            "type": ["object", "null"] if len(known) < len(values) else "object",
            "properties": {
                name: of_examples([value[name] for value in known if name in value])
                for name in names
            },
            "required": [name for name in names if all(name in value for value in known)],
        }
    if known and all(isinstance(value, list) for value in known):
        items = [item for value in known for item in value]
        nullable = ["array", "null"] if len(known) < len(values) else "array"
        return {"type": nullable, "items": of_examples(items)} if items else {"type": nullable}
    if known and all(isinstance(value, bool) for value in known):
        return {"type": ["boolean", "null"]}
    if known and all(isinstance(v, (int, float)) or v in ("inf", "-inf") for v in known):
        return {"$ref": "#/$defs/number"}
    if known and all(isinstance(value, str) for value in known):
        return {"type": ["string", "null"]}
    return {}  # of several kinds, or nothing is known of it


def reports() -> Iterator[report.Report]:
    """Yield reports in which every part occurs."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(4, size=(120, 3))
    names = ["a", "b", "c"]
    table = report.table_of(X, names)
    yield report.analyse(table, n=60, rounds=500, audit=True, show_values=True)
    yield report.analyse(table, rounds=500, previous=[60, 100])
    yield report.analyse(table, rounds=500, noise_shape="same", max_power=0.05, sensitive="a")
    steps = np.column_stack([X, 1000 * np.rint(X[:, 0])])
    steps[7, 3] = 300
    yield report.analyse(report.table_of(steps, [*names, "d"]), rounds=500, decimals=2)
    sexes = report.table_of(X, names, groups={"sex": ["m", "f"] * 60})
    yield report.analyse(sexes, statistic=statistics.GroupMeans("sex"), rounds=500)
    weights = np.random.default_rng(1).uniform(1, 3, size=30)
    weighted = report.table_of(np.column_stack([X[:30, :2], weights]), ["a", "b", "w"])
    yield report.analyse(weighted, statistic=statistics.KnownWeights("w"), rounds=500)
    poisson = report.table_of(np.column_stack([X, np.arange(120) % 5]), [*names, "y"])
    yield report.analyse(poisson, statistic=statistics.GLM("y", "poisson"), rounds=500)
    few = report.table_of(X[:30, :2], ["a", "b"], groups={"g": [str(i % 3) for i in range(30)]})
    yield report.analyse(few, statistic=statistics.GroupMeans("g"), rounds=500)


def _models(folder: str) -> str:
    """Write the outputs of eight shadow models and return the path."""
    rng = np.random.default_rng(1)
    included = np.tile([[True], [False]], (4, 1)) ^ (rng.random((1, 60)) < 0.5)
    path = str(Path(folder) / "models.npz")
    np.savez(path, signals=rng.normal(2.0 * included), included=included)
    return path


def findings() -> Iterator[Any]:
    """Yield findings in which every part occurs."""
    rng = np.random.default_rng(0)
    member = rng.random(400) < 0.5
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "scores.csv")
        rows = np.column_stack([rng.normal(2.0 * member), member])
        np.savetxt(path, rows, delimiter=",", header="score,member", comments="")
        read = read_scores(path)
        for claim in (Claim(epsilon=1.0, delta=1e-5), Claim(mu=1.0), None):
            yield judge(read, claim=claim, setting=Setting(neighbours="replace"))
        yield judge(read, setting=Setting(random_bits=True), method="sorted-bits")
        for name, columns in {
            "samples": {"members": [2.0, 3.0], "nonmembers": [0.0, 1.0, 2.5]},
            "counts": {
                "edges": ["-inf", 0.0, 1.0, "inf"],
                "member_counts": [1, 2, 30],
                "nonmember_counts": [30, 2, 1],
            },
        }.items():
            path = str(Path(folder) / f"{name}.json")
            Path(path).write_text(json.dumps(columns), "utf-8")
            yield judge(read_scores(path), setting=Setting())
        for attack in ("choose", "base"):
            yield judge(read_scores(_models(folder), attack=attack), setting=Setting())


def risks() -> Iterator[Any]:
    """Yield reports on records in which every part occurs."""
    rng = np.random.default_rng(2)
    included = rng.random((24, 40)) < 0.5
    arrays = {"scores": rng.normal(4.0 * included), "included": included}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "scores.npz")
        np.savez(path, **arrays, prediction=rng.random(40))
        yield risk.judge(risk.read_records(path), delta=1e-5)
        np.savez(path, **arrays)
        yield risk.judge(risk.read_records(path))
        for attack in ("choose", "base"):
            yield risk.judge(risk.read_records(_models(folder), attack=attack))


def replies() -> Iterator[Any]:
    """Yield replies in which every part occurs."""
    rng = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "table.csv")
        rows = np.column_stack([rng.normal(size=400), np.arange(400) % 7 + 0.5])
        np.savetxt(path, rows, delimiter=",", header="a,b", comments="")
        for statistic, columns, where in (
            ("mean", ("a",), None),
            ("count", (), "b < 3"),
            ("sum", ("b",), "b < 3 and a > -1"),
            ("sum", ("a",), f"a > {np.sort(rows[:, 0])[0]}"),
        ):
            for preview in (True, False):
                question = answering.Question(where, statistic, columns)
                yield answering.ask(
                    path,
                    str(Path(folder) / "ledger.jsonl"),
                    question,
                    limits={"max_leakage": 0.5, "max_noise": 0.0},
                    preview=preview,
                    reading={},
                )
        limits = {"max_leakage": 0.5, "bounds": {"a": (-9.0, 9.0)}, "reference": "uniform"}
        question, ledger = answering.Question(None, "sum", ("a",)), str(Path(folder) / "public")
        yield answering.ask(path, ledger, question, limits=limits, preview=False, reading={})


def plans() -> Iterator[Any]:
    """Yield plans of trainings with all kinds of batches."""
    for scheme in ("poisson", "allocation", "fixed", "shuffled"):
        plan = {"noise": 2.0, "records": 100, "batch": 20, "epochs": 2, "scheme": scheme}
        yield training_epsilon(plan, 1e-5)


def blind_checks() -> Iterator[Any]:
    """Yield a check of canaries without the model."""
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "canaries.npz")
        np.savez(path, member=rng.random(60) < 0.5, length=rng.normal(size=60))
        yield alike.blind(path, ["length"])


def synthetic_tables() -> Iterator[Any]:
    """Yield audits of synthetic tables, with coins and without."""
    tables = np.random.default_rng(6).normal(size=(4, 60, 2))
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"{name}.npy") for name in ("t", "h", "s", "r")]
        for path, table in zip(paths, tables, strict=True):
            np.save(path, table)
        *most, reference = paths
        yield synthetic.audit_synthetic(*most)
        yield synthetic.audit_synthetic(*most, reference=reference, random_bits=True)


def schemas() -> dict[str, Schema]:
    """Return every schema by its name."""
    made = {kind.__name__: of_result(kind) for kind in results()}
    commands = {"report": reports(), "audit": findings(), "risk": risks(), "ask": replies()}
    commands["epsilon"] = plans()
    commands |= {"audit-blind": blind_checks(), "audit-synthetic": synthetic_tables()}
    for name, runs in commands.items():
        made[name] = _document(name, of_examples([json.loads(run.to_json()) for run in runs]))
    return made


def _examples() -> Iterator[tuple[str, Result]]:
    """Yield one result of each kind."""
    rng = np.random.default_rng(0)
    member = rng.random(400) < 0.5
    played = audit.Audit.from_rounds(rng.normal(2.0 * member), member)
    yield "Audit.epsilon(1e-5)", played.epsilon(1e-5)
    yield "Audit.mu()", played.mu()
    yield "Audit.compare(tradeoff.gaussian(1.0))", played.compare(tradeoff.gaussian(1.0))
    yield "Audit.bootstrap(rng=1)", played.bootstrap(rng=1)
    yield "audit.one_run(...)", audit.one_run(rng.normal(2.0 * member), member, 20, 20, 1e-6)
    yield "audit.required_rounds(...)", audit.required_rounds(tradeoff.gaussian(1.0), epsilon=0.5)


PROSE = """# JSON

Written by `scripts/write_schemas.py`. Every result has `to_json()`, and every command `--json`. The
schemas are in the package:

```python
import json
from importlib.resources import files

folder = files("leakscore_app") / "data" / "schemas"
schema = json.loads((folder / "EpsilonBound-{version}.json").read_text())
print(schema["title"], len(schema["required"]), "fields")
```

```text
EpsilonBound {fields} fields
```

- The number in the name is the version; what the commands write names it, too, as `schema_version`.
  Fields may be added without a new version; a field that goes away or changes its meaning makes a
  new one, and the old schema stays.
- JSON is strict. Numbers are in full precision (below: ten digits); infinite ones are `"inf"` and
  `"-inf"`, NaN is null.
- What the commands write begins with `schema_version`, `tool`, `command` and `tool_version`, and
  has `notices`: level, code and message of what must be known to read the numbers.
- A field that may be an array (of deltas, for example) is one if its argument was.
- A curve is written by its name, as it prints itself.

| document | schema | written by |
| --- | --- | --- |
{rows}

## What the commands write

The fields of `report` are explained under [leakscore_app](api/leakscore_app), those of
`audit` in the page that `--html` writes and in
[how a bound is checked again](../how-to/recheck-a-bound.md), those of `risk` with
`leakscore_app.RiskReport`, those of `audit-synthetic` with `leakscore_app.SyntheticAudit`, those of
`ask` with `leakscore.leakage.Answer` and `Refusal`. Their first level:

{commands}

## Examples

"""


def page(made: dict[str, Schema]) -> str:
    """Return the page."""
    written = {
        "report": "`leakscore report --json`, `Report.to_json()`",
        "audit": "`leakscore audit --json`",
        "audit-blind": "`leakscore audit --blind A,B --json`",
        "audit-synthetic": "`leakscore audit-synthetic --json`",
        "risk": "`leakscore risk --json`",
        "epsilon": "`leakscore epsilon --json`",
        "ask": "`leakscore ask --json`",
    }
    rows = "\n".join(
        f"| `{name}` | `{name}-{version(name)}.json` | {written.get(name, '`to_json()`')} |"
        for name in sorted(made, key=lambda name: (name not in written, name))
    )
    commands = "\n\n".join(
        f"`{name}`\n: " + ", ".join(f"`{field}`" for field in made[name]["properties"])
        for name in written
    )
    fields = len(made["EpsilonBound"]["required"])
    parts = [
        PROSE.format(version=version("EpsilonBound"), fields=fields, rows=rows, commands=commands)
    ]
    for call, result in _examples():
        plain = json.loads(result.to_json(), parse_float=lambda text: float(f"{float(text):.10g}"))
        shown = json.dumps(plain, indent=2, ensure_ascii=False)
        parts.append(f"`{type(result).__name__}`, of `{call}`:\n\n```json\n{shown}\n```\n\n")
    return "".join(parts).rstrip() + "\n"


def main() -> None:
    """Write schemas and page."""
    made = schemas()
    FOLDER.mkdir(exist_ok=True)
    for name, schema in made.items():
        text = json.dumps(schema, indent=1, ensure_ascii=False)
        (FOLDER / f"{name}-{version(name)}.json").write_text(text + "\n", "utf-8")
    PAGE.write_text(page(made), "utf-8")


if __name__ == "__main__":
    main()
