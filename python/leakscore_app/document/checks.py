"""A verdict for other programs: SARIF 2.1.0 (code scanning) and JUnit's XML (test reports).

Both are strict formats. Hidden characters in names from files are escaped, as in a page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

import leakscore
from leakscore.results import as_json
from leakscore_app._visible import in_json, visible

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_RULE = "privacy-claim"
# SARIF 2.1.0, 3.27.9 and 3.27.10: a kind other than "fail" has the level "none".
_KINDS = {"refuted": "fail", "consistent": "pass", "cannot-tell": "open", None: "informational"}


@dataclass(frozen=True)
class Check:
    """A verdict, its reasons, and the files that were judged.

    Attributes
    ----------
    name : str
        The claim, or the bounded quantity if there is none.
    verdict : {"refuted", "consistent", "cannot-tell"} or None
    message : str
        The verdict in words.
    properties : dict
        Numbers and words behind the verdict.
    files : tuple of str
        Paths of the judged files, as the user wrote them.
    """

    name: str
    verdict: str | None
    message: str
    properties: Mapping[str, float | int | str]
    files: tuple[str, ...] = ()


def sarif(check: Check) -> str:
    """Return a SARIF log of one result, which is an error if the claim is refuted."""
    kind = _KINDS[check.verdict]
    result: dict[str, Any] = {
        "ruleId": _RULE,
        "kind": kind,
        "level": "error" if kind == "fail" else "none",
        "message": {"text": visible(check.message)},
        "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": quote(file)}}} for file in check.files
        ],
        "properties": as_json(check.properties),
    }
    rule = {
        "id": _RULE,
        "name": "PrivacyClaim",
        "shortDescription": {"text": "Attack scores contradict a privacy claim."},
    }
    driver = {"name": "leakscore", "version": leakscore.__version__, "rules": [rule]}
    run = {"tool": {"driver": driver}, "results": [result]}
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return in_json(json.dumps(log, indent=2, allow_nan=False, ensure_ascii=False)) + "\n"


def junit(check: Check) -> str:
    """Return a JUnit suite of one test: a failure if refuted, an error if inconclusive."""
    body = {
        "refuted": f"<failure type={_quoted('refuted')} message={_quoted(check.message)}/>",
        "cannot-tell": f"<error type={_quoted('inconclusive')} message={_quoted(check.message)}/>",
    }.get(str(check.verdict), f"<system-out>{escape(visible(check.message))}</system-out>")
    counts = f'failures="{int(check.verdict == "refuted")}" '
    counts += f'errors="{int(check.verdict == "cannot-tell")}" skipped="0"'
    properties = "\n".join(
        f"        <property name={_quoted(name)} value={_quoted(str(value))}/>"
        for name, value in {**check.properties, "leakscore": leakscore.__version__}.items()
    )
    where = _quoted(" and ".join(check.files))
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<testsuites tests="1" {counts}>\n'
        f'  <testsuite name="leakscore audit" tests="1" {counts}>\n'
        f"    <testcase classname={where} name={_quoted(check.name)}>\n"
        f"      <properties>\n{properties}\n      </properties>\n"
        f"      {body}\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n"
    )


def _quoted(text: str) -> str:
    return quoteattr(visible(text))
