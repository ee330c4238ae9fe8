"""Finds the elements that a page's own style hides from readers. Pure.

It knows inline styles, attributes, and rules of `<style>` whose selectors are one element: `p.note`, `#box`, `.a.b`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from lxml import etree

MAX_STYLE: Final = 200_000
"""Characters of style sheets that are read."""
MAX_ALIKE: Final = 20
"""Rules for the same class, id or tag that are kept."""
MAX_RULES: Final = 2_000
"""Rules that are kept, of those that decide what can be seen."""

_COMMENT: Final = re.compile(r"/\*.*?\*/|<!--|-->", re.DOTALL)
_RULE: Final = re.compile(r"([^{}]*)([{}])")
_SELECTOR: Final = re.compile(r"([a-z][\w-]*|\*)?((?:[.#][\w-]+)*)", re.IGNORECASE)
_NAME: Final = re.compile(r"[.#][\w-]+")
_SHOWN_MEDIA: Final = re.compile(r"@media\s+(?:all|screen|only screen)\s*", re.IGNORECASE)
_PROPERTIES: Final = frozenset(
    "display visibility opacity font-size left top text-indent color background background-color position clip".split()  # noqa: SIM905
)
_ZERO: Final = re.compile(r"0*(?:\.0*)?(?:px|em|rem|pt|%)?")
_FAR: Final = re.compile(r"-\d{3,}")
_HIDDEN_CLASSES: Final = frozenset(
    {"hidden", "d-none", "invisible", "visually-hidden", "sr-only", "screen-reader-text"}
)
_HEX: Final = re.compile(r"#([0-9a-f])([0-9a-f])([0-9a-f])")
_COLOURS: Final = {"white": "#ffffff", "black": "#000000", "red": "#ff0000", "transparent": ""}


@dataclass(frozen=True, slots=True)
class _StyleRule:
    tag: str
    identity: str
    classes: frozenset[str]
    declarations: Mapping[str, str]

    def applies_to(self, tag: str, identity: str, classes: frozenset[str]) -> bool:
        return self.tag in {"", tag} and self.identity in {"", identity} and self.classes <= classes

    @property
    def specificity(self) -> tuple[int, int, int]:
        return bool(self.identity), len(self.classes), bool(self.tag)


class HiddenElements:
    """The rules of one page that decide whether an element can be seen."""

    def __init__(self, root: etree._Element) -> None:
        self._by_name: dict[str, list[_StyleRule]] = defaultdict(list)
        for rule in _rules_of("\n".join(style.text or "" for style in root.iter("style"))):
            alike = self._by_name[_key(rule)]
            alike.append(rule)
            # The last one wins; an element is not compared with thousands.
            del alike[:-MAX_ALIKE]

    def hides(self, element: etree._Element) -> bool:
        """Return whether readers do not see the element, for a reason of its own."""
        classes = element.get("class") or ""
        style = element.get("style")
        if element.get("hidden") is not None or (element.get("aria-hidden") or "").lower() == "true":
            return True
        names = frozenset(classes.split())
        if names and not _HIDDEN_CLASSES.isdisjoint(map(str.lower, names)):
            return True
        if not style and not self._by_name:
            return False
        declared = self._declared(element, names)
        if style:
            declared |= _declarations(style)
        return bool(declared) and _is_hidden(declared, element)

    def _declared(self, element: etree._Element, names: frozenset[str]) -> dict[str, str]:
        if not self._by_name:
            return {}
        identity = element.get("id") or ""
        tag = str(element.tag)
        keys = [tag, *names, f"#{identity}"]
        found = [
            rule
            for key in keys
            for rule in self._by_name.get(key, ())
            if rule.applies_to(tag, identity, names)
        ]
        declared: dict[str, str] = {}
        for rule in sorted(found, key=lambda rule: rule.specificity):
            declared |= rule.declarations
        return declared


def _key(rule: _StyleRule) -> str:
    if rule.identity:
        return f"#{rule.identity}"
    return min(rule.classes) if rule.classes else rule.tag


def _rules_of(sheet: str) -> Iterable[_StyleRule]:
    if not sheet or sheet.isspace():
        return
    sheet = _COMMENT.sub(" ", sheet[:MAX_STYLE])
    count = 0
    depth = skipped_from = 0
    selectors = ""
    for match in _RULE.finditer(sheet):
        text, brace = match[1].strip(), match[2]
        if brace == "{":
            depth += 1
            selectors = text
            if not skipped_from and text.startswith("@") and not _SHOWN_MEDIA.fullmatch(text):
                skipped_from = depth
            continue
        if not skipped_from and selectors and (declarations := _declarations(text)):
            for selector in selectors.rpartition(";")[2].split(","):
                if count < MAX_RULES and (rule := _rule(selector.strip(), declarations)):
                    count += 1
                    yield rule
        selectors = ""
        if depth == skipped_from:
            skipped_from = 0
        depth = max(0, depth - 1)


def _rule(selector: str, declarations: Mapping[str, str]) -> _StyleRule | None:
    match = _SELECTOR.fullmatch(selector)
    if match is None or not selector or selector in {"*", "body", "html"}:
        return None
    names = _NAME.findall(match[2])
    identities = [name[1:] for name in names if name[0] == "#"]
    classes = frozenset(name[1:] for name in names if name[0] == ".")
    tag = (match[1] or "").lower().replace("*", "")
    if len(identities) > 1 or not (tag or names):
        return None
    return _StyleRule(tag, identities[0] if identities else "", classes, declarations)


def _declarations(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for declaration in text[:MAX_STYLE].lower().split(";"):
        name, colon, value = declaration.partition(":")
        if colon and (name := name.strip()) in _PROPERTIES:
            found[name] = value.replace("!important", "").strip()
    return found


def _is_hidden(declared: Mapping[str, str], element: etree._Element) -> bool:
    def value(name: str) -> str:
        return declared.get(name, "")

    if value("display") == "none" or value("visibility") in {"hidden", "collapse"}:
        return True
    if any(value(name) and _ZERO.fullmatch(value(name)) for name in ("opacity", "font-size")):
        return True
    if any(_FAR.match(value(name)) for name in ("left", "top", "text-indent")):
        return True
    colour = _colour(value("color"))
    return bool(colour) and colour == (
        _colour(value("background-color") or value("background")) or _background(element)
    )


def _colour(value: str) -> str:
    first = value.split(" ", maxsplit=1)[0] if "(" not in value else value.replace(" ", "")
    first = _COLOURS.get(first, first)
    return _HEX.sub(r"#\1\1\2\2\3\3", first) if len(first) == len("#fff") else first


def _background(element: etree._Element) -> str:
    """Return the colour behind an element by the inline styles around it; white if none says."""
    if "color" not in (element.get("style") or ""):
        return ""
    for at, around in enumerate(element.iterancestors()):
        style = around.get("style") or ""
        if around.get("bgcolor") or "background" in style or at > 20 or around.get("class"):  # noqa: PLR2004
            declared = _declarations(style)
            return _colour(
                declared.get("background-color") or declared.get("background") or around.get("bgcolor") or ""
            )
    return "#ffffff"
