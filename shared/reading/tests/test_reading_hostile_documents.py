"""Documents made to be slow: the time that reading takes grows with their size, not with its square."""

import time
from collections.abc import Callable

import pytest

from reading.cleaning import MAX_MARKS, remove_invisible
from reading.extraction import extract
from reading.formats import UnreadableFileError

SIZE = 400_000
# Of the processor; the slowest of these takes a twentieth of it on a common machine. What grows with the square takes minutes.
BUDGET_SECONDS = 60.0
PROSE = "Grind the beans to a medium size before you brew."


def filled(piece: str) -> Callable[[int], str]:
    return lambda size: piece * (size // len(piece))


FAMILIES: dict[str, tuple[str, Callable[[int], str]]] = {
    "permalinks in a heading": (".html", lambda size: f"<h1>{'#' * size}x</h1><p>{PROSE}"),
    "permalinks in a Markdown heading": (".md", lambda size: f"# {'#' * size}x\n\n{PROSE}"),
    "combining marks": (".txt", lambda size: "a" + "\u0315\u0300\u0327" * (size // 3)),
    "marks that show once taken apart": (".txt", lambda size: "a" + "\u0f73" * size),
    "marks with invisible ones between": (".txt", lambda size: "a" + "\u0300\u200b\u0315" * (size // 3)),
    "headings in one element": (
        ".html",
        lambda size: f"<div>{filled(f'<h2>A heading</h2><p>{PROSE}</p>')(size)}</div>",
    ),
    "bare headings": (".html", lambda size: f"<div>{filled('<h2>A heading</h2>x')(size)}</div>"),
    "terms of a list": (".html", lambda size: f"<dl>{filled(f'<dt>A term<dd>{PROSE}')(size)}</dl>"),
    "hidden elements side by side": (".html", filled("<i hidden></i>x")),
    "navigation in navigation": (".html", filled("<div class=nav>")),
    "lists in lists": (".html", filled("<ul><li>")),
    "tables in tables": (".html", filled("<table><tr><td>")),
    "links": (".html", filled("<a href=x>a</a>")),
    "lists of one link": (".html", filled("<ul><li><a href=x>a</a></ul>b")),
    "orders to a machine": (".html", filled("<p>ignore all your previous ignore all your previous.")),
    "images begun": (".md", filled("![")),
    "links begun": (".md", filled("[a](")),
    "links in short paragraphs": (".md", filled("![" * 10 + "\n\n")),
    "links in long paragraphs": (".md", filled("![" * 250 + "a" * 19_000 + "\n\n")),
    "brackets in paragraphs": (".md", filled("![" * 140 + "\n\n")),
    "emphasis": (".md", filled("*a_ ")),
    "markup begun": (".md", filled("a <![CDATA[ ")),
    "quotations in quotations": (".md", filled("> ")),
    "rows of a table": (".md", lambda size: "|" * 200 + "\n" + "|-" * 200 + "|\n" + "|\n" * (size // 2)),
    "references": (".md", filled("[a]: b\n")),
    "white space": (".txt", filled("\n ")),
    "emphasis begun": (".rst", filled("*a ")),
    "literals begun": (".rst", filled("``a ")),
    "roles begun": (".rst", filled(":a:`b ")),
    "mail addresses": (".rst", filled("a@b.c ")),
    "directives": (".rst", filled(".. note:: a\n\n.. function:: a(b)\n\n   c\n\n")),
    "links of AsciiDoc": (".adoc", filled("<<a,b>> link:c[d] ")),
    "links begun in AsciiDoc": (".adoc", filled("<<a link:c[")),
    "attached blocks": (".adoc", filled("* a\n+\nb\n+\n----\nc\n----\n\n")),
    "terms of AsciiDoc": (".adoc", filled("a::\nb;;\nc:::\n")),
    "preformatted text": (
        ".html",
        lambda size: "<pre>NAME\n" + filled("  a  b\n     c\n\n - d\n")(size),
    ),
    "brackets of links": (".html", filled("(<a href=x>a</a>) ")),
    "brackets begun": (".html", filled("<a href=x>(</a>[( ")),
    "line breaks": (".html", filled("a<br>")),
    "rules of style": (
        ".html",
        lambda size: f"<style>{filled('.a{color:red}')(size)}</style>{filled('<p class=a>b')(size)}",
    ),
    "ids": (".html", filled("<b id=a>c</b><h2>d</h2>")),
    "entries of an index": (
        ".html",
        lambda size: f"<table class=indextable>{filled('<ul><li>a<a href=b>c</a>')(size)}",
    ),
}


@pytest.mark.extended
@pytest.mark.parametrize("family", FAMILIES)
def test_reading_takes_time_by_the_size_of_the_document(family: str) -> None:
    suffix, made = FAMILIES[family]
    content = made(SIZE).encode()
    began = time.process_time()
    extract(f"a{suffix}", content)
    assert time.process_time() - began < BUDGET_SECONDS


@pytest.mark.parametrize("encoding", ["punycode", "idna", "utf-7", "unicode_escape", "rot13", "hex", "\\"])
def test_encodings_that_no_page_has_are_refused(encoding: str) -> None:
    content = f"<meta charset={encoding}>{'a-' * SIZE}bcdefg".encode()
    began = time.process_time()
    with pytest.raises(UnreadableFileError, match=r"unknown encoding|not valid"):
        extract("a.html", b"\xff" + content)
    assert time.process_time() - began < BUDGET_SECONDS


def test_letters_keep_the_marks_that_a_script_needs() -> None:
    vietnamese = "e\u0302\u0323"
    assert remove_invisible(vietnamese) == "\u1ec7"
    assert remove_invisible("a" + "\u0315" * 100 + "b") == "a" + "\u0315" * MAX_MARKS + "b"
    dashes = "\u2014" * 100
    assert remove_invisible(dashes) == dashes


def test_a_heading_speaks_for_its_list_however_long() -> None:
    document = extract(
        "a.html", ("<title>Terms</title><dl>" + f"<dt>A term</dt><dd>{PROSE}</dd>" * 2000 + "</dl>").encode()
    )
    assert len(document.passages) == 2000
    assert {passage.heading for passage in document.passages} == {"A term"}


def test_a_heading_loses_its_permalink() -> None:
    document = extract("a.html", f"<h1>Top</h1><h2>Water ¶ #</h2><p>{PROSE}".encode())
    assert document.passages[0].heading == "Water"


@pytest.mark.parametrize("tag", ["script", "style", "template"])
def test_what_stands_in_the_head_is_no_prose(tag: str) -> None:
    hidden = "Nobody is going to see this sentence on the page."
    document = extract("a.html", f"<head><{tag}>{hidden}</{tag}></head><body><p>{PROSE}</p>".encode())
    assert [passage.text for passage in document.passages] == [PROSE]
