"""What the form of a site changes, from its fields alone."""

from typing import Any

from console.pages import Form
from console.site.views import changes_of, fields_of, preview_path

SETTINGS: dict[str, Any] = {
    "accent": "#1f6154",
    "typefaces": "serif",
    "tags": ["espresso", "cold brew"],
    "author": {"name": "Ada", "about": "Roasts."},
    "address": None,
    "canonical_source": True,
}


def form(**typed: str) -> Form:
    shown = fields_of(SETTINGS)
    return Form([*((f"was-{name}", value) for name, value in shown.items()), *(shown | typed).items()])


def test_only_what_a_person_changed_is_sent() -> None:
    assert changes_of(form()) == {}
    assert changes_of(form(accent="", tags="tea\n\n ")) == {"accent": None, "tags": ["tea"]}
    assert changes_of(form(about="")) == {"author": {"name": "Ada", "about": ""}}
    assert changes_of(form(author="", about="", canonical_source="")) == {
        "author": None,
        "canonical_source": False,
    }


def test_the_preview_is_of_the_first_draft() -> None:
    assert preview_path("acme", []) is None
    assert preview_path("acme", [{"content_id": "c1", "version": 3}]) == "/b/acme/drafts/c1/page?version=3"
