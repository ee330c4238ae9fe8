"""Open questions of an article's outline are searched for once, and the article is planned again with the results."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from good_model import GoodModel, Notes, Subject

from documents.sections import Section
from writing.article import Article, ArticleSource, SourcePassage
from writing.model.planning import MAX_OPEN, add_sources
from writing.model.writer import ModelWriter

SUBJECT = Subject("sourdough-starter")
KNOWN, MORE = SUBJECT.sources[:2], SUBJECT.sources[2]
OPEN = tuple(
    each["question"] for each in SUBJECT.told["sections"] if set(each["passages"].split()) <= {"g", "h"}
)
"""What the third source alone answers."""


async def write(sources: Sequence[ArticleSource], notes: Notes) -> tuple[Article, list[dict[str, Any]]]:
    """The article, and what each outline was asked with."""
    model = GoodModel(SUBJECT)
    article = await ModelWriter(model, notes, 32_768, model).write(
        keyword=SUBJECT.keyword, sources=sources, brand_name="Acme", language="en"
    )
    return article, [data for shape, data in model.told if shape == "Outline"]


@pytest.mark.extended
async def test_an_article_with_what_was_found_is_as_if_it_had_been_there() -> None:
    # Research numbers what it finds by itself.
    notes = Notes([replace(MORE, n=1)])
    article, outlines = await write(KNOWN, notes)
    whole, asked_once = await write(SUBJECT.sources, Notes())

    assert OPEN
    assert notes.searched == [OPEN]
    assert article.found == (MORE,)
    assert replace(article, found=()) == whole
    assert [("open" in each, "plan" in each) for each in outlines] == [(True, False), (False, True)]
    assert len(asked_once) == 1


@pytest.mark.extended
@pytest.mark.parametrize("found", [(), (ArticleSource(1, "Off", (SourcePassage(None, "Rain fell.", 1.0),)),)])
async def test_what_stays_open_is_left_out_and_not_searched_for_again(
    found: tuple[ArticleSource, ...],
) -> None:
    notes = Notes(found)
    article, outlines = await write(KNOWN, notes)
    whole, _ = await write(SUBJECT.sources, Notes())

    assert notes.searched == [OPEN]
    assert len(outlines) == 1 + len(found)
    assert article.found == ()
    headings = [line for line in whole.body_markdown.splitlines() if line.startswith("## ")]
    left = [line for line in article.body_markdown.splitlines() if line.startswith("## ")]
    assert left == headings[: len(left)]
    assert len(headings) - len(left) == len(OPEN)


async def test_few_questions_are_searched_for() -> None:
    nothing = ArticleSource(1, "Off", (SourcePassage(None, "Rain fell on the roof of the mill.", 1.0),))
    notes = Notes()
    with pytest.raises(Exception, match="nothing was found on “What is a sourdough starter\\?”"):
        await write([nothing], notes)

    assert [len(each) for each in notes.searched] == [MAX_OPEN]
    assert len(SUBJECT.told["sections"]) > MAX_OPEN


PAGE = Section("Coffee", 0, children=(Section("Storing", 2),))
FIRST, SECOND = SourcePassage(None, "first", 1.0), SourcePassage(None, "second", 1.0)


@pytest.mark.parametrize(
    ("found", "numbers", "passages"),
    [
        # A known document has more to say.
        (ArticleSource(1, "Coffee", (FIRST, SECOND), path="a.md"), [4], [SECOND, FIRST]),
        (ArticleSource(1, "Coffee", (SECOND,), path="a.md", section=PAGE.children[0]), [4], [SECOND, FIRST]),
        # Another document, and another section of a known one.
        (ArticleSource(1, "Coffee", (SECOND,), path="b.md"), [4, 5], [FIRST]),
        (ArticleSource(1, "Coffee", (), path="a.md", section=Section("Beans", 2)), [4, 5], [FIRST]),
    ],
)
def test_sources_that_were_found_are_numbered_on_or_join_their_document(
    found: ArticleSource, numbers: list[int], passages: list[SourcePassage]
) -> None:
    known = ArticleSource(4, "Coffee", (FIRST,), path="a.md", section=PAGE)
    merged = add_sources([known], [found])

    assert [each.n for each in merged] == numbers
    assert [*merged[0].passages] == passages
    assert merged[0].section == PAGE
