#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""What contributors run, each in an environment of its own: ``nox -s tests``."""

from __future__ import annotations

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"


def _install(session: nox.Session, group: str, *arguments: str) -> None:
    """Install the package, and a group of what it takes to work on it."""
    session.install(*nox.project.dependency_groups(nox.project.load_toml("pyproject.toml"), group))
    session.install(*arguments, ".[tables]")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests; arguments go to pytest."""
    _install(session, "test")
    session.run("pytest", "-n", "auto", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Run ruff and mypy."""
    _install(session, "lint")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("mypy", *session.posargs)


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the site in build/docs; `-- linkcheck` checks links to other sites."""
    _install(session, "docs")
    builder = session.posargs[0] if session.posargs else "html"
    words = ["-W", "--keep-going", "-n", "-b", builder, "docs", f"build/docs-{builder}"]
    session.run("sphinx-build", *words)


@nox.session(python="3.10", default=False)
def oldest(session: nox.Session) -> None:
    """Run the tests with the oldest supported version of everything."""
    _install(session, "test", "--constraint", ".ci/oldest.txt")
    session.run("pytest", "-n", "auto", *session.posargs)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Run the benchmarks; arguments are topics."""
    _install(session, "bench")
    session.run("python", "-m", "bench", *session.posargs)


if __name__ == "__main__":
    nox.main()
