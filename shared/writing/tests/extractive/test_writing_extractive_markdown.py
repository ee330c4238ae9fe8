"""Markdown of the digest renders as exactly the text of its source, and is no harder to read than it must be."""

import lxml.html
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from documents.blocks import Block, DefinitionEntry, Definitions, ItemList, ListItem, Paragraph, Table
from writing.extractive.markdown import MarkdownWriter, escape

RENDERED = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
TEXTS = st.text("ab1 .,:;!?\\`*_[](){}<>#&~|$^-+='\"…é", min_size=1, max_size=40).map(
    lambda text: " ".join(text.split())
)


def text_of(markdown: str) -> str:
    return " ".join(
        lxml.html.document_fromstring(f"<body>{RENDERED.render(markdown)}</body>").text_content().split()
    )


def written(*blocks: Block) -> str:
    return "\n\n".join(MarkdownWriter(1, lambda _: None).blocks(blocks))


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("Set max_heat to 900 $ (or more) > 800.", "Set max_heat to 900 $ (or more) > 800."),
        ("Heat it. […] Wait.", "Heat it. […] Wait."),
        ("kiln [option] {time}", "kiln [option] {time}"),
        (
            "It fires[1] a <b>, a [pot](x) and __clay__.",
            "It fires\\[1\\] a \\<b>, a \\[pot\\](x) and \\_\\_clay\\_\\_.",
        ),
        ("a < b & c; &amp; #1 C#", "a < b & c; \\&amp; #1 C#"),
        ("Use [<name>] or [a_b *].", "Use [\\<name>] or [a_b \\*]."),
        ("C:\\kiln \\* \\", "C:\\kiln \\\\\\* \\\\"),
    ],
)
def test_only_what_would_be_markup_is_escaped(text: str, markdown: str) -> None:
    assert escape(text) == markdown
    assert text_of(f"- {markdown} x") == f"{text} x"


@given(TEXTS)
def test_any_text_renders_as_itself(text: str) -> None:
    if not text:
        return
    assert text_of(written(Paragraph(text))) == f"{text} [1]"
    assert text_of(f"## {escape('a ' + text)}") == f"a {text}"
    assert text_of(written(ItemList((ListItem((Paragraph(text),)),)))) == f"{text} [1]"
    assert text_of(written(Table((("x", text),), ("a", "b")))) == f"a b x {text}".strip()


def test_a_term_is_bold() -> None:
    entry = DefinitionEntry(("max_heat *",), (Paragraph("In degrees."),))
    assert written(Definitions((entry,))) == "- **max_heat \\***: In degrees. [1]"
