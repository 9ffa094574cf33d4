"""Write docs/reference/cli.md from the parsers of the commands.

Run it after an option changes; tests/docs/test_written.py says when it is due.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from leakscore_app.cli import program

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"

TITLES = {"positional arguments": "Argument", "options": "Help", "optional arguments": "Help"}

HEAD = """# Command line

Written from the parsers by `scripts/write_cli_page.py`. Errors are one line on standard error, with
exit code 1; [exit codes](exit-codes.md) has them all.
"""


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the commands that the program's help names."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            shown = [choice.dest for choice in action._choices_actions]
            return {name: action.choices[name] for name in shown}
    raise ValueError("The parser must have commands")


def _escaped(text: str) -> str:
    return re.sub(r"([<>|*_\\])", r"\\\1", " ".join(text.split()))


def _option(action: argparse.Action) -> str:
    """Return a term and its definition."""
    value = ""
    if action.nargs != 0:
        choices = None if action.choices is None else "{" + ",".join(map(str, action.choices)) + "}"
        metavar = action.metavar or choices or action.dest.upper()
        value = metavar if isinstance(metavar, str) else " ".join(metavar)
    names = [f"{name} {value}".strip() for name in action.option_strings] or [value]
    text = (action.help or "") % {"default": action.default, "prog": "leakscore"}
    return f"{', '.join(f'`{name}`' for name in names)}\n: {_escaped(text)}\n"


def _section(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f"## leakscore {name}\n"
    yield f"{_escaped(parser.description or '')}\n"
    for group in parser._action_groups:
        shown = [action for action in group._group_actions if action.help != argparse.SUPPRESS]
        if not shown:
            continue
        title = TITLES.get(group.title or "")
        yield f"### {title or (group.title or '').capitalize()}\n"
        if group.description:
            yield f"{_escaped(group.description)}\n"
        yield from map(_option, shown)
    if parser.epilog:
        yield f"### Notes\n\n```none\n{parser.epilog.strip()}\n```\n"


def page() -> str:
    """Return the page."""
    parser = program._parser(())
    version = "`--version`\n: show the version and exit\n"
    parts = [HEAD, f"{parser.description}\n", version]
    for name, command in _commands(parser).items():
        parts += _section(name, command)
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
