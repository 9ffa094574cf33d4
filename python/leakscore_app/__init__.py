"""The application: files are read, verdicts are written.

`analyse` judges what the mean of a table, or another statistic of it, tells of every record;
`audit_file` what the scores of an attack certify; `audit_synthetic` what a synthetic table shows of
the records that it was made from; `risk_report` lists the records that shadow
models find. The command ``leakscore`` prints and writes their results. Numbers from numbers are the
library's: ``leakscore``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leakscore_app.audits.judge import Judgement, audit_file
    from leakscore_app.audits.risk import RiskReport, risk_report
    from leakscore_app.audits.synthetic import SyntheticAudit, audit_synthetic
    from leakscore_app.cli import main
    from leakscore_app.report import EXIT_CODES, Report, analyse, open_table
    from leakscore_app.tables.table import Table, embedded_table, read_table, table_of

__all__ = [
    "EXIT_CODES",
    "Judgement",
    "Report",
    "RiskReport",
    "SyntheticAudit",
    "Table",
    "analyse",
    "audit_file",
    "audit_synthetic",
    "embedded_table",
    "main",
    "open_table",
    "read_table",
    "risk_report",
    "table_of",
]

_ROOMS = {
    "Judgement": "audits.judge",
    "RiskReport": "audits.risk",
    "SyntheticAudit": "audits.synthetic",
    "audit_file": "audits.judge",
    "audit_synthetic": "audits.synthetic",
    "main": "cli",
    "risk_report": "audits.risk",
    **dict.fromkeys(("Table", "embedded_table", "read_table", "table_of"), "tables.table"),
    **dict.fromkeys(("EXIT_CODES", "Report", "analyse", "open_table"), "report"),
}
"""Where each name lies: loaded on first use, so that a command loads what it needs alone."""

if not TYPE_CHECKING:  # for whom a name that is not above is an error

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in _ROOMS:
            return getattr(import_module(f"leakscore_app.{_ROOMS[name]}"), name)
        raise AttributeError(f"module 'leakscore_app' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
