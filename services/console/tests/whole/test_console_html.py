"""The HTML of every page is valid, as html-validate reads it: for owners in each language, for somebody who may only read, and signed out."""

from pathlib import Path
from typing import Any, Final

import pytest

from tests.fixtures.console.screens import find_screens, find_signed_out, is_page
from tests.fixtures.page_checks import PageChecks

RULES: Final[dict[str, object]] = {
    # The defaults of HTML: a button in a form sends it, and a field without a type takes text.
    "no-implicit-button-type": "off",
    "no-implicit-input-type": "off",
    # A page has the title of its article or post, however long somebody made it.
    "long-title": "off",
    # Checkboxes of one name are a choice of several things.
    "form-dup-name": ["error", {"shared": ["checkbox", "radio", "button", "submit"]}],
    # Lists have names, which screen readers say: the heading above stands for more than the list.
    "aria-label-misuse": ["error", {"allowAnyNamable": True}],
    # Settings are shown to those who may not change them in the same form, switched off and without its button.
    "wcag/h32": "off",
}
"""Those that differ from the recommended ones, each with its reason."""


@pytest.mark.extended
async def test_every_page_is_valid_html(hostile_brand: Any, page_checks: PageChecks, tmp_path: Path) -> None:
    documents: dict[str, str] = {}
    for name, screens in (
        ("an owner", await find_screens(hostile_brand, hostile_brand.owner)),
        ("a German owner", await find_screens(hostile_brand, hostile_brand.german)),
        ("a viewer", await find_screens(hostile_brand, hostile_brand.viewer)),
        ("nobody", await find_signed_out(hostile_brand, "en")),
        ("nobody German", await find_signed_out(hostile_brand, "de")),
    ):
        for address, answer in screens.texts.items():
            if is_page(screens, address):
                documents[f"{address} for {name}"] = answer.text
    assert len(documents) > 250
    folder = tmp_path / "pages"
    folder.mkdir()
    found = page_checks.html(list(documents.values()), folder, RULES)
    names = list(documents)
    problems = [f"{names[int(each.partition(':')[0])]}: {each}" for each in found]
    assert not problems, "\n".join(problems[:40])
