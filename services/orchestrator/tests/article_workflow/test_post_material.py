"""The parts of an article that its posts get."""

from envelope.brand.payloads import QuotedSource
from orchestrator.article_workflow.post_material import context_of
from writing.body import Body

BODY = """\
Cold brew is coffee that steeps in cold water. It is then filtered. [2]

## Ratio

- One part of coffee, eight parts of water. [1]

## Time \\[sic\\]

Twelve hours are enough. [2] Some wait longer. [1]

| Way | Hours |
|---|---|
| Cold | 12 |
"""
SOURCES = [
    {
        "n": 1,
        "title": "Ratios",
        "url": None,
        "path": "a.md",
        "licence": "CC0",
        "author": None,
        "quoted": True,
    },
    {
        "n": 2,
        "title": "",
        "url": "https://docs.example/b",
        "path": None,
        "licence": None,
        "author": "Ada",
        "quoted": True,
    },
]
POINTS = ("One part of coffee, eight parts of water.", "It is then filtered.", "Written by a person.")


def test_each_text_that_is_quoted_has_the_source_that_its_paragraph_cites() -> None:
    context = context_of(
        title="Cold brew",
        keyword="cold brew",
        meta_description="",
        key_points=POINTS,
        body=Body(BODY),
        sources=SOURCES,
    )
    assert context.opening == "Cold brew is coffee that steeps in cold water. It is then filtered."
    assert context.headings == ("Ratio", "Time [sic]")
    assert context.sources == (
        QuotedSource(title="Ratios", licence="CC0"),
        QuotedSource(title="https://docs.example/b", author="Ada"),
    )
    assert context.origins == (2, 1, 2, 0)


def test_the_subject_that_a_digest_sets_in_front_of_its_opening_is_not_quoted() -> None:
    context = context_of(
        title="Cold brew \\[1\\]",
        keyword="cold brew",
        meta_description="",
        key_points=(),
        body=Body("**Cold brew \\[cold\\]** – Coffee steeps in cold water. [1]\n"),  # noqa: RUF001
        sources=SOURCES,
    )
    assert context.opening == "Coffee steeps in cold water."
    assert context.origins == (1,)


def test_an_article_in_its_own_words_has_no_sources_to_name() -> None:
    own = [source | {"quoted": False} for source in SOURCES]
    older = [{"n": 1, "title": "Ratios", "url": None, "path": None, "licence": None}]
    for sources in (own, older):
        context = context_of(
            title="Tea",
            keyword="tea",
            meta_description="",
            key_points=POINTS,
            body=Body(BODY),
            sources=sources,
        )
        assert (context.sources, context.origins) == ((), ())


def test_what_is_longer_than_a_message_allows_is_cut() -> None:
    context = context_of(
        title="x" * 600,
        keyword="tea",
        meta_description="y" * 2000,
        key_points=["z" * 3000] * 30,
        body=Body("## Heading\n\n- " + "word " * 1000),
        sources=[SOURCES[0] | {"title": "t" * 900}] * 30,
    )
    assert (len(context.title), len(context.meta_description), len(context.key_points)) == (500, 1000, 20)
    assert context.opening == "", "a list opens no post"
    assert len(context.sources) == 20
