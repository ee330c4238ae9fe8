"""Markup that nobody foresaw: a tree in a time that follows from its size."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.json_form import decode_section, encode_section
from tests.fixtures.kiln_pages import (
    read,
)

# -- hostile pages -------------------------------------------------------------------------------------------------------

DEEP = [
    "<div><h2>x</h2>",
    "<ul><li>x",
    "<dl><dt>x<dd>",
    "<div class='note'>x",
    "<div class='index'>x",
    "<div class='header'>x",
    "<div class='keyword'>x",
    "<aside class='sidebar'>x",
    "<dl class='function'><dt id=x>x()<dd>",
    "<table><tr><td>x<td>y",
    "<sup>x",
    "<table class='index-cp'><tr><td>",
    "<blockquote><section>x",
    "<figure>",
    "<p style='color:white'>x<b>",
    "<div class='fragment'><div class='line'>x",
    "<span class='math'>x<sub>y",
    "<table><tr><th>a<tr><td><span class='math'>x",
    "<a href='#x'>*</a> <sup><a href='#x'>1</a></sup>",
    "<dl class='section user'><dt>x<dd>",
    "<p><code>x<br>",
]


@pytest.mark.extended
@pytest.mark.parametrize("piece", DEEP)
def test_a_deep_page_costs_time_by_its_size_and_fits_json(piece: str) -> None:
    began = time.process_time()
    document = read(piece * 10_000)
    assert time.process_time() - began < 30.0
    assert document.sections is not None
    assert decode_section(encode_section(document.sections)) == document.sections


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *DEEP,
                "</div>",
                "</ul>",
                "</dl>",
                "</li>",
                "</table>",
                "<h1>Title",
                "</h1>",
                "<br>",
                "text. ",
                "<p>",
                "<b>",
                "</b>",
                "<a href=x>",
                "</a>",
                "<pre>",
                "</pre>",
                "</dd>",
                "<figcaption>",
                "<summary>",
                "<math>",
                "</section>",
            ]
        ),
        max_size=40,
    ).map("".join)
)
def test_any_markup_gives_a_tree_that_json_holds(html: str) -> None:
    document = read(html)
    assert document.sections is not None
    assert decode_section(encode_section(document.sections)) == document.sections
