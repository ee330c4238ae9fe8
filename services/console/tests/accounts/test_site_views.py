"""Changes of a site's form, from its fields alone."""

from typing import Any

from console.pages import Form
from console.site.views import (
    BothChanged,
    both_changed,
    changes_of,
    fields_of,
    incomplete_menu_line,
    is_picture,
    preview_path,
    views_of,
)

SETTINGS: dict[str, Any] = {
    "accent": "#1f6154",
    "typefaces": "serif",
    "tags": ["espresso", "cold brew"],
    "author": {"name": "Ada", "about": "Roasts."},
    "address": None,
    "canonical_source": True,
    "menu": [{"title": "Shop", "to": "https://shop.example"}],
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
    two = form(menu="Shop | https://shop.example\n\nA|B | /tags/tea ")
    assert changes_of(two)["menu"][1] == {"title": "A|B", "to": "/tags/tea"}
    assert changes_of(form(menu="")) == {"menu": None}
    for line in ("About us = /about", "| /tags/tea", "About us |"):
        assert incomplete_menu_line(form(menu=f"Shop | https://shop.example\n{line}\nother")) == line
    assert incomplete_menu_line(two) == ""


def test_what_somebody_else_changed_meanwhile_stays_and_the_same_setting_is_told() -> None:
    stored = fields_of(SETTINGS | {"author": {"name": "Eve", "about": "Roasts."}, "accent": "#000000"})
    assert changes_of(form(about="Bakes."), stored) == {"author": {"name": "Eve", "about": "Bakes."}}
    assert both_changed(form(about="Bakes.", accent="#000000"), stored) == ()
    assert both_changed(form(accent="#ffffff"), stored) == (BothChanged("accent", "#000000", "#ffffff"),)


def test_the_preview_has_what_is_not_saved_yet() -> None:
    assert preview_path("acme", {}) == "/b/acme/site/look"
    assert preview_path("acme", {"accent": None}) == "/b/acme/site/look?settings=%7B%22accent%22%3A+null%7D"


def test_a_picture_is_known_by_its_first_bytes() -> None:
    webp = b"RIFF\x00\x00\x00\x00WEBP"
    assert all(map(is_picture, (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", webp)))
    assert not any(map(is_picture, (b"", b"GIF89a", b"<svg", b"RIFF\x00\x00\x00\x00WAVE")))


def test_the_best_day_is_the_measure_of_all() -> None:
    days = [{"day": "2027-03-01", "views": 1}, {"day": "2027-03-02", "views": 4}]
    shown = views_of({"total": 5, "days": days, "pages": [{"title": "A"}] * 12})
    assert ([each["share"] for each in shown["days"]], len(shown["pages"])) == ([25, 100], 10)
    assert (
        views_of({"total": 0, "days": [{"day": "2027-03-01", "views": 0}], "pages": []})["days"][0]["share"]
        == 0
    )
