"""Documents are easy to read: sentences of at most 30 words, lines that fit on a screen, and nothing on two pages."""

import re
from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.fixtures.command_blocks import ROOT, documents

MOST_WORDS = 30
WIDEST = 160
"""Columns of a line. A row of a table has one line, however long, and pictures are no lines."""
_PICTURE = re.compile(r"^```mermaid\n.*?^```$", re.DOTALL | re.MULTILINE)
_WITHOUT_SENTENCES = re.compile(
    r"^( *)```.*?^\1```|<!--.*?-->|^ *\|.*?$|^#.*?$|^---\n.*?^---$", re.DOTALL | re.MULTILINE
)
"""Code, comments, tables, headings, and the head of a document of the demo."""
_PART = re.compile(r"\n\s*\n(?: *(?:[-*]|\d+\.) )?|\n *(?:[-*]|\d+\.) |^(?:[-*]|\d+\.) ")
"""Between two paragraphs, or before an item of a list."""
_END = re.compile(r"(?<=[.!?])[)*”]*\s")


def sentences_of(text: str) -> Iterator[str]:
    """Yields the sentences of a document, without quotations. A link counts as its words, code as none."""
    bare = _WITHOUT_SENTENCES.sub("\n\n", text)
    bare = re.sub(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)]*\)", r"\1", bare)
    bare = re.sub(r"`[^`]*`", "…", bare)
    bare = re.sub(r"“[^”]*”", "quotation", bare)
    for part in _PART.split(bare):
        yield from _END.split(" ".join(part.split()))


def words_in(sentence: str) -> int:
    return len(re.findall(r"[^\W\d_][\w'-]*", sentence))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One two.\nThree [four](five/six.md), `seven eight`.\n", ["One two.", "Three four, …."]),
        ("Before:\n\n```sh\nmake demo\n```\n\nAfter.", ["Before:", "After."]),
        ("- One\n  two.\n- Three.\n\n1. Four.", ["One two.", "Three.", "Four."]),
        ("# A heading\n\n| a | table |\n|---|---|\n\n“Ten words.” ends.", ["quotation ends."]),
    ],
)
def test_sentences_are_found(text: str, sentences: list[str]) -> None:
    assert [each for each in sentences_of(text) if each] == sentences


def test_no_sentence_is_longer_than_thirty_words() -> None:
    longer = [
        f"{page}: {sentence}"
        for page in documents()
        for sentence in sentences_of((ROOT / page).read_text(encoding="utf-8"))
        if words_in(sentence) > MOST_WORDS
    ]
    assert longer == []


def test_no_line_but_the_rows_of_tables_is_wide() -> None:
    wider = [
        f"{page}: {line}"
        for page in documents()
        for line in _PICTURE.sub("", (ROOT / page).read_text(encoding="utf-8")).splitlines()
        if len(line) > WIDEST and not line.lstrip().startswith("|")
    ]
    assert wider == []


ALONE = ("docs/tutorials/", "docs/decisions/", "docs/reference/", "docs/topology.md", "CHANGELOG.md")
"""Pages that repeat others: a tutorial has all its steps, a decision its reason, the others are generated or history."""


def test_no_sentence_of_eight_words_and_no_row_of_a_table_is_on_two_pages() -> None:
    pages: defaultdict[str, set[str]] = defaultdict(set)
    for page in documents():
        if not page.startswith(ALONE):
            text = (ROOT / page).read_text(encoding="utf-8")
            for each in (*sentences_of(text), *re.findall(r"^\|.*\|$", text, re.MULTILINE)):
                if words_in(each) >= 8:
                    pages[each.replace("*", "").lower()].add(page)
    assert {each: where for each, where in pages.items() if len(where) > 1} == {}
