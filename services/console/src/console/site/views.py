"""What the page about a brand's site shows, and what its form changes. Pure: no I/O."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from console.pages import Form

TYPEFACES: Final = ("serif", "sans", "mixed")
WIDTHS: Final = (360, 768, 1280)
"""Of the previews, in pixels: a phone, a tablet and a desktop."""
FIELDS: Final = ("accent", "typefaces", "tags", "author", "about", "address", "canonical_source")


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
    }


def typed_fields(form: Form) -> dict[str, str]:
    return {name: form.text(name) for name in FIELDS}


def shown_fields(form: Form) -> dict[str, str]:
    """Returns what the form showed before it was changed."""
    return {name: form.text(f"was-{name}") for name in FIELDS}


def changes_of(form: Form) -> dict[str, Any]:
    """Returns the settings that a person changed; None restores a default. What others changed meanwhile stays."""
    typed, shown = typed_fields(form), shown_fields(form)
    changed = {name for name in FIELDS if _lines(typed[name]) != _lines(shown[name])}
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
    return wanted


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def preview_path(brand: str, drafts: Sequence[Mapping[str, Any]]) -> str | None:
    """Returns the address of a page of the brand as it will look, of its first draft; None without drafts."""
    if not drafts:
        return None
    return f"/b/{brand}/drafts/{drafts[0]['content_id']}/page?version={drafts[0]['version']}"
