"""What a browser asks of a page that carries a Content-Security-Policy."""

from __future__ import annotations

import base64
import hashlib
from html.parser import HTMLParser
from xml.etree import ElementTree


class _Page(HTMLParser):
    """The parts of a page that its policy is about, in the order of the page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.seen: list[tuple[str, str]] = []
        self._style: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "meta" and found.get("http-equiv") == "Content-Security-Policy":
            self.seen.append(("policy", found["content"] or ""))
        self.seen += [("attribute", name) for name in found if name == "style" or name[:2] == "on"]
        if tag == "script":
            self.seen.append(("script", ""))
        if tag == "style":
            self._style = []

    def handle_data(self, data: str) -> None:
        if self._style is not None:
            self._style.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "style" and self._style is not None:
            self.seen.append(("style", "".join(self._style)))
            self._style = None


def require_policy(text: str) -> None:
    """The policy stands first, forbids all but the page's style, and the style is the one it names.

    Nothing is fetched, whatever the policy says.
    """
    root = ElementTree.fromstring(text.partition("\n")[2])  # it is well-formed XML, too
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    for element in root.iter():
        for name, value in element.attrib.items():
            assert name not in ("src", "href", "srcset", "data", "action"), (element.tag, name)
            assert not name.startswith("on")
            assert "url(" not in value
    page = _Page()
    page.feed(text)
    page.close()
    kinds = [kind for kind, _ in page.seen]
    assert kinds == ["policy", "style"], kinds
    (_, policy), (_, style) = page.seen
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode()
    assert rules == {
        "default-src": "'none'",
        "style-src": f"'sha256-{digest}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    bare = text.replace('xmlns="http://www.w3.org/1999/xhtml"', "").replace("http-equiv", "")
    assert "http" not in bare
