"""The README is a short front door, and each of its figures stands in the page that it links to."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
README: Final = (ROOT / "README.md").read_text()


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_each_figure_stands_in_a_page_that_its_paragraph_links_to() -> None:
    section = README.partition("\n## What is promised, and measured\n")[2].partition("\n## ")[0]
    paragraphs = re.split(r"\n- ", section)[1:]
    checked = 0
    for paragraph in paragraphs:
        links = re.findall(r"\]\(([^)#\s]+)", paragraph)
        text = " ".join((ROOT / link).read_text() for link in links)
        for figure in re.findall(r"\d[\d,.]*\d", re.sub(r"\]\([^)]*\)", "]", paragraph)):
            assert re.search(rf"(?<![\d,.]){re.escape(figure)}(?![\d]|[,.]\d)", text), (figure, links)
            checked += 1
    assert checked >= 5
