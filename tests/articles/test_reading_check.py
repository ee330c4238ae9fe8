"""The check of what is read: it passes a page that is read whole, and catches what is lost or added."""

from documents.blocks import Listing, Paragraph
from documents.sections import PAGE_LEVEL, Section
from reading.extraction import extract
from tests.articles.raw_pages import read_page
from tests.articles.reading_check import parts_not_in_page, text_not_read

_PAGE = b"""<html><head><title>Kilns</title></head><body><div class="navbar">Home</div><h1>1. Kilns</h1>
<p>A kiln is an oven (see <a href="o.html">Ovens</a>) for <img alt="{\\LaTeX}"> clay<sup>[1]</sup>.</p>
<pre>kiln on
kiln off</pre><ul><li>Load it.</li></ul><dl><dt>-h</dt><dd>Heats it.</dd></dl>
<table><tr><th>Clay<th>Heat<tr><td>Red<td>900</table></body></html>"""


def test_a_page_that_is_read_whole_is_passed() -> None:
    sections = extract("kilns.html", _PAGE).sections
    page = read_page("kilns.html", _PAGE)
    assert sections is not None
    assert (parts_not_in_page(page, sections), text_not_read(page, sections)) == ([], [])


def test_what_is_lost_or_added_is_found() -> None:
    page = read_page("kilns.html", _PAGE)
    sections = Section(
        "Kilns", PAGE_LEVEL, blocks=(Listing(("kiln on", "kiln out")), Paragraph("A kiln is red."))
    )
    assert parts_not_in_page(page, sections) == ["pre: kiln on\nkiln out", "p: A kiln is red."]
    assert text_not_read(page, sections) == [
        "A kiln is an oven (see Ovens) for LaTeX clay.",
        "kiln on kiln off",
        "Load it.",
        "Heats it.",
        "Clay",
        "Heat",
        "Red",
        "900",
    ]
