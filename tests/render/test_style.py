"""The page's style: contrast, computed from its colours; narrow windows; paper."""

from __future__ import annotations

import re
from importlib import resources
from itertools import product

import pytest

STYLE = (resources.files("leakscore_app") / "data" / "page.css").read_text("utf-8")
GROUNDS = ("paper", "ground", "alert-ground")
ENOUGH = 4.5  # WCAG 2.2, 1.4.3


def rules(style: str) -> list[tuple[str, dict[str, str]]]:
    """Selectors and declarations of the style, those of media queries too."""
    plain = re.sub(r"/\*.*?\*/", "", style, flags=re.S)
    found = []
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", plain):
        pairs = (part.split(":", 1) for part in body.split(";") if ":" in part)
        found.append((selector.strip(), {name.strip(): value.strip() for name, value in pairs}))
    return found


def media(query: str) -> dict[str, dict[str, str]]:
    """Return the rules under one media query."""
    start = STYLE.index(f"@media {query} {{")
    depth, end = 0, start
    for end in range(start, len(STYLE)):
        depth += {"{": 1, "}": -1}.get(STYLE[end], 0)
        if depth == 0 and STYLE[end] == "}":
            break
    return merged(rules(STYLE[STYLE.index("{", start) + 1 : end]))


def merged(found: list[tuple[str, dict[str, str]]]) -> dict[str, dict[str, str]]:
    """Return the declarations of every selector, later ones over earlier ones."""
    every: dict[str, dict[str, str]] = {}
    for names, body in found:
        for name in map(str.strip, names.split(",")):
            every[name] = every.get(name, {}) | body
    return every


COLOURS = {
    name[2:]: value
    for names, body in rules(STYLE)
    if names == ":root"
    for name, value in body.items()
}


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def drawn() -> set[str]:
    """Return the colours in which text and lines are drawn."""
    found = set()
    for _, body in rules(STYLE):
        for name, value in body.items():
            if name in ("color", "stroke", "fill") or name.startswith("border"):
                found |= set(re.findall(r"var\(--([\w-]+)\)", value))
                assert not re.search(r"#[0-9a-fA-F]{3}", value), "a colour without a name"
    return found


def test_contrast_against_known_values() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize(("colour", "ground"), list(product(sorted(drawn()), GROUNDS)))
def test_text_and_lines_are_seen(colour: str, ground: str) -> None:
    assert contrast(COLOURS[colour], COLOURS[ground]) >= ENOUGH


def test_every_ground_is_one_of_those() -> None:
    for _, body in rules(STYLE):
        for name in ("background", "background-color"):
            used = re.findall(r"var\(--([\w-]+)\)", body.get(name, ""))
            assert set(used) <= set(GROUNDS)
    assert {"ink", "soft", "line", "informed", "weaker", "out", "alert"} <= drawn()


def test_there_is_one_scheme() -> None:
    """A dark one would need colours of its own."""
    assert "prefers-color-scheme" not in STYLE


def test_paper_shows_all() -> None:
    paper = media("print")
    assert paper["thead"]["display"] == "table-header-group"
    for name in ("section", "tr", "figure", ".card"):
        assert paper[name]["break-inside"] == "avoid"
    assert paper[".scroll"]["overflow"] == "visible"
    hidden = [name for name, body in paper.items() if body.get("display") == "none"]
    assert hidden == [".meter", "th.meter"]  # bars whose numbers stand beside them


def test_a_narrow_window_scrolls_down_only() -> None:
    """At 400 px: no wider width, columns that shrink, tables in a box of their own."""
    whole = merged(rules(STYLE[: STYLE.index("@media")]))
    assert whole[".scroll"]["overflow-x"] == "auto"
    for _, body in rules(STYLE):
        for name in ("width", "min-width"):
            for size in re.findall(r"(\d+)px", body.get(name, "")):
                assert int(size) <= 100
        for low in re.findall(
            r"minmax\(((?:[^()]|\([^()]*\))*)\)", body.get("grid-template-columns", "")
        ):
            assert low.startswith(("0", "min(100%"))
    for name in ("h1", "p", "li", "dt", "dd", "caption"):
        assert whole[name]["overflow-wrap"] == "break-word"
