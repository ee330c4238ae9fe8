"""Contents of the page about a brand's site, and the changes of its form. Pure: no I/O."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from console.pages import Form

TYPEFACES: Final = ("serif", "sans", "mixed")
WIDTHS: Final = (360, 768, 1280)
"""Of the previews, in pixels: a phone, a tablet and a desktop."""
FIELDS: Final = ("accent", "typefaces", "tags", "author", "about", "address", "canonical_source", "menu")


def fields_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """Returns the settings as the form has them: one text for each field, empty for the default."""
    author = settings["author"] or {"name": "", "about": ""}
    return {
        "accent": settings["accent"] or "",
        "typefaces": settings["typefaces"],
        "tags": "\n".join(settings["tags"]),
        "author": author["name"],
        "about": author["about"],
        "address": settings["address"] or "",
        "canonical_source": "1" if settings["canonical_source"] else "",
        "menu": "\n".join(f"{each['title']} | {each['to']}" for each in settings["menu"]),
    }


def typed_fields(form: Form) -> dict[str, str]:
    return {name: form.text(name) for name in FIELDS}


def shown_fields(form: Form) -> dict[str, str]:
    """Returns what the form showed before it was changed."""
    return {name: form.text(f"was-{name}") for name in FIELDS}


@dataclass(frozen=True, slots=True)
class BothChanged:
    """A setting that a person changed, and somebody else since the form was shown, to something else."""

    name: str
    theirs: str
    mine: str


def both_changed(form: Form, stored: Mapping[str, str]) -> tuple[BothChanged, ...]:
    typed, shown = typed_fields(form), shown_fields(form)
    return tuple(
        BothChanged(name, stored[name], typed[name])
        for name in _differing(typed, shown)
        if _lines(stored[name]) not in (_lines(shown[name]), _lines(typed[name]))
    )


def joined_fields(form: Form, stored: Mapping[str, str]) -> dict[str, str]:
    """Returns what a person changed, and all else as it is stored now."""
    typed = typed_fields(form)
    changed = _differing(typed, shown_fields(form))
    return {name: typed[name] if name in changed else stored[name] for name in FIELDS}


def _differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    return [name for name in FIELDS if _lines(one[name]) != _lines(other[name])]


def changes_of(form: Form, stored: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Returns the settings that a person changed; None restores a default. What others changed meanwhile stays.

    Args:
        form: what was typed, and what the form showed before.
        stored: the settings as they are now; left out for a preview.
    """
    typed = typed_fields(form) if stored is None else joined_fields(form, stored)
    changed = set(_differing(typed_fields(form), shown_fields(form)))
    wanted: dict[str, Any] = {
        name: typed[name] or None for name in ("accent", "typefaces", "address") if name in changed
    }
    if "tags" in changed:
        wanted["tags"] = _lines(typed["tags"]) or None
    if {"author", "about"} & changed:
        given = {"name": typed["author"], "about": typed["about"]}
        wanted["author"] = given if typed["author"] or typed["about"] else None
    if "canonical_source" in changed:
        wanted["canonical_source"] = bool(typed["canonical_source"])
    if "menu" in changed:
        wanted["menu"] = [_entry(line) for line in _lines(typed["menu"])] or None
    return wanted


def incomplete_menu_line(form: Form) -> str:
    """Returns the first line of the menu that lacks a title or a page; empty if all have both."""
    entries = ((line, _entry(line)) for line in _lines(typed_fields(form)["menu"]))
    return next((line for line, entry in entries if not all(entry.values())), "")


def _entry(line: str) -> dict[str, str]:
    """An entry of the menu, from a line such as `Brews | /tags/cold-brew`; a missing part is empty."""
    title, _, to = line.rpartition("|")
    return {"title": title.strip(), "to": to.strip()}


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def preview_path(brand: str, changes: Mapping[str, Any]) -> str:
    """Returns the address of the site's first page with unsaved changes."""
    settings = f"?{urlencode({'settings': json.dumps(changes)})}" if changes else ""
    return f"/b/{brand}/site/look{settings}"


_PICTURES: Final = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")


def is_picture(content: bytes) -> bool:
    """Whether a file begins like a PNG, JPEG or WebP; its name says nothing. The publisher reads it whole."""
    return content.startswith(_PICTURES) or (content[:4] == b"RIFF" and content[8:12] == b"WEBP")


MOST_PAGES: Final = 10
"""Of the most read ones, that are shown."""


def views_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """Returns how often pages were read: the sum, the most read ones, and the days with the share of the best day in percent."""
    most = max((each["views"] for each in found["days"]), default=0)
    return {
        "total": found["total"],
        "pages": found["pages"][:MOST_PAGES],
        "days": [
            {**each, "share": round(100 * each["views"] / most) if most else 0} for each in found["days"]
        ],
    }
