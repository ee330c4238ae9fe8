"""Measures of an article, its failed criteria, and the likeness of two texts."""

from dataclasses import replace

import pytest

from writing import Article, ArticleSource, BrandWishes, SourcePassage
from writing.article import ModelDraftCounts
from writing.body import prose_of
from writing.quality.likeness import containment, count_independent, estimate, fingerprint
from writing.quality.measures import QUOTED, WRITTEN, Measure, NearestArticle, measure, problems

GOOD = Article(
    title="Cold brew: ratio and time",
    slug="cold-brew",
    meta_description="Cold brew is coffee steeped in cold water.",
    body_markdown=(
        "Cold brew is coffee steeped in cold water for twelve hours. [1] It tastes milder than hot coffee. [2]\n\n"
        "## Ratio\n\nOne part of coffee to eight parts of water suits most recipes. [1]\n\n"
        "- Grind it coarse. [3]\n- Strain it twice. [3]\n\n```\nnot prose at all\n```\n\n"
        "## How long it keeps\n\nA closed bottle keeps for a week in the refrigerator. [2]\n"
    ),
    word_count=300,
    key_points=("Cold brew tastes milder than hot coffee.",),
    cited=(1, 2, 3),
)


def measured(article: Article = GOOD, **changed: object) -> dict[str, Measure]:
    given = {
        "keyword": "cold brew",
        "sources": 3,
        "wishes": BrandWishes(min_sources=3, forbidden_words=("game-changer",)),
        "nearest": None,
        "bounds": WRITTEN,
    }
    return {each.name: each for each in measure(article, **{**given, **changed})}  # type: ignore[arg-type]


def test_a_brand_may_ask_for_more_sources() -> None:
    found = measured(wishes=BrandWishes(min_sources=4))["sources"]

    assert (found.least, found.problem) == (4, "3 independent sources, of at least 4")


def body(markdown: str) -> Article:
    return replace(GOOD, body_markdown=markdown)


def test_a_sound_article_keeps_all_bounds_and_its_figures_are_those_of_its_prose() -> None:
    found = measured()

    assert problems(tuple(found.values())) == ()
    assert {name: each.value for name, each in found.items()} == {
        "opening": 1.0,
        "words": 300,
        "sources": 3,
        "sentences": 7.5,
        "paragraphs": 17,
        "headings": 0,
        "repetition": 0,
        "readability": found["readability"].value,
        "likeness": 0,
        "title": 25,
        "description": 42,
        "forbidden": 0,
    }
    assert (found["words"].least, found["title"].most) == (250, 60)
    # Six sentences of 45 words, of which "steeped", "recipes" and "refrigerator" have more than six letters.
    assert found["readability"].value == pytest.approx(45 / 6 + 100 * 3 / 45, abs=0.1)


def test_the_title_of_a_quoted_page_may_have_the_keyword_alone() -> None:
    article = body("The grounds steep in cold water. [1]")
    assert measured(article)["opening"].problem is not None
    assert measured(article, bounds=QUOTED)["opening"].problem is None
    assert measured(article, bounds=QUOTED)["words"].least == 120


SAME = "Grounds of one size give an even extraction in every cup that is brewed."


@pytest.mark.parametrize(
    ("name", "article", "says"),
    [
        (
            "opening",
            body("A drink for hot days. [1]\n\nCold brew is another. [2]"),
            "does not speak of “cold brew”",
        ),
        ("opening", body("## Cold brew\n"), "does not speak of"),
        ("words", replace(GOOD, word_count=249), "249 words, of at least 250"),
        ("sentences", body(f"Cold brew {'is a drink of ' * 8}. [1]"), "35.0 words on the average"),
        ("paragraphs", body("Cold brew is a drink. " * 40), "a paragraph of 200 words, of at most 140"),
        ("headings", body("Cold brew. [1]\n\n## Introduction\n\nCold. [1]"), "“Introduction” says nothing"),
        (
            "headings",
            body("Cold brew. [1]\n\n## Time\n\nCold. [1]\n\n## TIME\n\nCold. [1]"),
            "“TIME” stands twice",
        ),
        ("headings", body("Cold brew. [1]\n\n## www.shop.test\n\nCold. [1]"), "is an address"),
        ("headings", body("Cold brew. [1]\n\n## …\n\nCold. [1]"), "has no word"),
        (
            "headings",
            body(f"Cold brew. [1]\n\n## {'long ' * 15}\n\nCold. [1]"),
            "74 characters, of at most 70",
        ),
        (
            "repetition",
            body(f"Cold brew. {SAME} [1]\n\n## Size\n\n{SAME} [2]"),
            "1 of 3 sentences repeat what another section says",
        ),
        (
            "readability",
            body("Cold brew necessitates extraordinarily meticulous temperature considerations. [1]"),
            "hard to read",
        ),
        ("title", replace(GOOD, title="x" * 61), "a title of 61 characters, of at most 60"),
        ("title", replace(GOOD, title=" "), "it has no title"),
        ("description", replace(GOOD, meta_description="x" * 156), "of 156 characters, of at most 155"),
        ("forbidden", replace(GOOD, title="A Game-Changer"), "it has game-changer"),
        ("forbidden", body("Cold brew, a game-changer. [1]"), "it has game-changer"),
        ("dropped", replace(GOOD, draft=ModelDraftCounts(30, 16, 0.1)), "16 of 30 sentences did not hold"),
        ("copied", replace(GOOD, draft=ModelDraftCounts(30, 1, 0.4)), "40% of it is copied"),
    ],
)
def test_what_does_not_hold_says_what_is_wrong(name: str, article: Article, says: str) -> None:
    problem = measured(article)[name].problem
    assert problem is not None
    assert says in problem


def test_too_few_sources_and_too_near_an_article_do_not_hold() -> None:
    near = NearestArticle("Cold brew at home", "https://site.test/cold-brew", 0.8)
    found = measured(sources=2, nearest=near)

    assert problems(tuple(found.values())) == (
        "2 independent sources, of at least 3",
        "80% of it stands in “Cold brew at home” already (https://site.test/cold-brew)",
    )
    assert measured(nearest=replace(near, share=0.3))["likeness"].problem is None


@pytest.mark.parametrize(
    ("keyword", "opening", "holds"),
    [
        ("git hooks", "A hook is a program that runs by itself.", True),
        ("disk encryption", "Encrypting disks keeps what is on them from others.", True),
        ("water quality for coffee", "The quality of the water decides how coffee tastes.", True),
        ("how cold brew works", "Cold brew is steeped in cold water.", True),
        ("moka pot", "A mocha is a drink of coffee and chocolate.", False),
        ("kiln", "A kilogram is a thousand grams.", False),
        ("Kaffee für zu Hause", "Wer zu Hause Kaffee kocht, wiegt ihn ab.", True),
    ],
)
def test_an_opening_speaks_of_the_keyword_in_any_form(keyword: str, opening: str, holds: bool) -> None:
    found = measured(body(f"{opening} [1]\n"), keyword=keyword)["opening"]
    assert (found.problem is None) is holds


@pytest.mark.parametrize(
    ("words", "asked", "holds"),
    [
        (300, None, True),
        (300, 400, True),
        (300, 600, False),
        (300, 250, True),
        (900, 500, False),
        (700, 500, True),
    ],
)
def test_an_article_is_about_as_long_as_was_asked_for(words: int, asked: int | None, holds: bool) -> None:
    found = measured(replace(GOOD, word_count=words), asked=asked)["words"]
    assert (found.problem is None) is holds


def test_what_is_quoted_may_have_longer_paragraphs_than_what_is_written() -> None:
    long = body("Cold brew is a drink. " * 40)
    assert measured(long, bounds=QUOTED)["paragraphs"].problem is None


def test_likeness_counts_what_a_reader_reads_and_fingerprints_estimate_it() -> None:
    sentences = [f"Sentence number {n} tells of matter {n * 7} and of thing {n * 13}." for n in range(200)]
    half = sentences[:100] + [
        f"Another {n} has {n * 11} other words about {n * 17} more." for n in range(100)
    ]
    text, other = (
        " [1] ".join(half),
        " [2] ".join(sentences).replace("matter", "[matter](https://site.test/)"),
    )

    share = containment(prose_of(other), prose_of(text))

    assert share == pytest.approx(0.5, abs=0.06)
    assert estimate(fingerprint(prose_of(text)), fingerprint(prose_of(other))) == pytest.approx(
        share, abs=0.1
    )
    assert containment(prose_of(text), prose_of(text)) == 1
    assert containment("", "") == 0


def test_a_fingerprint_is_the_same_everywhere() -> None:
    assert sorted(fingerprint("Grind it coarse, and strain it twice through a paper filter."))[:1] == [
        2021109401457156600
    ]


def test_a_copy_is_no_other_source() -> None:
    text = " ".join(f"word{n} thing{n * 3}" for n in range(60))
    one = ArticleSource(1, "One", (SourcePassage(None, text, 1.0),))
    copy = ArticleSource(2, "Two", (SourcePassage(None, f"{text} and a little more of it", 1.0),))
    other = ArticleSource(3, "Three", (SourcePassage(None, " ".join(f"other{n}" for n in range(80)), 1.0),))
    empty = ArticleSource(4, "Four", ())
    assert count_independent([one, copy, other, empty]) == 2


def test_a_source_put_together_from_others_takes_none_of_them_away() -> None:
    texts = [" ".join(f"{name}{n}" for n in range(40)) for name in ("salt", "clay", "glaze")]
    originals = [
        ArticleSource(n, "", (SourcePassage(heading=None, text=text, score=1.0),))
        for n, text in enumerate(texts, start=1)
    ]
    collection = ArticleSource(9, "", (SourcePassage(heading=None, text=" ".join(texts), score=1.0),))
    assert count_independent(originals) == count_independent([collection, *originals]) == 3
    assert count_independent([collection, originals[0]]) == 1
