"""Posts composed for each channel: what opens one, and what stands behind it."""

import pytest

from envelope.brand.payloads import QuotedSource
from social.composing import NothingToSayError, drafts
from social.domain import plan, story_of
from social.statements import leans_on_others, stands_alone
from tests.fixtures.promoted_coffee import DEFINITION, LINK, POINTS, command, draft, quoting

# --- reading well ---------------------------------------------------------------------------------------------------


def test_a_short_post_has_one_idea_the_link_and_a_tag_of_the_brand() -> None:
    text = draft("x", command(tags=("filter coffee",))).text
    assert text == f"{DEFINITION}\n\n{LINK}\n\n#FilterCoffee"


def test_a_professional_network_has_short_paragraphs_and_what_else_is_in_the_article() -> None:
    made = draft("linkedin", command(headings=("Ratio", "Pour-over coffee", "Water for the dripper")))
    assert made.text.split("\n\n") == [
        DEFINITION,
        POINTS[1],
        POINTS[2],
        "In the article: Ratio · Water for the dripper",
        f"Read the article: {LINK}",
    ]


def test_what_is_quoted_stands_in_quotation_marks_with_its_source() -> None:
    assert draft("x", quoting()).text == (
        f"“{DEFINITION} It takes about three minutes.”\n— Pouring, by Ada B. (CC BY 4.0)\n\n{LINK}"
    )
    kettle = "Pour-over coffee needs a kettle with a thin spout."
    text = draft("linkedin", quoting(points=(kettle, POINTS[3]), origins=(1, 2, 0))).text
    assert f"“{kettle}”\n\n{POINTS[3]}\n— Pouring; Kettles\n\n" in text, "each has its own author and licence"
    german = draft("x", quoting(language="de-AT", points=(), origins=(1,))).text
    assert german.startswith(
        f"„{DEFINITION} It takes about three minutes.“\n— Pouring, von Ada B. (CC BY 4.0)"
    )


@pytest.mark.parametrize(
    ("sentence", "stands"),
    [
        ("Water between 92 and 96 degrees suits light roasts.", True),
        ("If the water is too hot, the cup tastes bitter.", True),
        ("水は九十三度くらいが最適です。", True),
        ("It takes about three minutes to brew.", False),
        ("This keeps the cup from turning bitter.", False),
        ("However, a darker roast needs cooler water.", False),
        ("For example, a darker roast needs cooler water.", False),
        ("A closed bag protects coffee from all four well enough.", False),
        ("You cannot easily fix these by yourself.", False),
        ("Recipes for all of them hang on the wall.", False),
        ("Steeping makes it a method of immersion.", False),
        ("a darker roast needs cooler water than this.", False),
        ("A darker roast needs cooler water than the.", False),
        ("A darker roast needs cooler water, because…", False),
        ("These are the steps of the recipe:", False),
        ("The roast decides, as described above.", False),
        ("See section 4.2 for the temperature of the water.", False),
        ("Does a darker roast need cooler water?", False),
        ("The kettle (a gooseneck is best matters.", False),
        ("Grind it fine.", False),
    ],
)
def test_a_sentence_that_needs_others_opens_no_post(sentence: str, stands: bool) -> None:
    assert stands_alone(sentence) is stands
    text = draft("x", command(description=sentence, points=(DEFINITION,))).text
    assert stands or text.startswith(DEFINITION)


@pytest.mark.parametrize(
    ("sentence", "stands"),
    [
        ("Children under ten get their cups for free.", True),
        ("Bulbs are the easiest flowers of all.", True),
        ("Many beginners do none of this, because water seems simple.", False),
        ("You want about as much of one as of the other.", False),
        ("Once a year is enough for most, in August.", False),
        ("Because the sugars in the crust have browned.", False),
        ("How to brew without a scale.", False),
        ("Returns the temperature of the water.", False),
        ("Emitted when the water boils.", False),
        ("A kettle used to heat water for coffee.", False),
        ("Returning to our example, the kettle boils.", False),
        ("The simplest possible recipe is as follows.", False),
        ("The recipe below needs a scale.", False),
        ("In January the roaster will be twenty, and I will be retired.", False),
    ],
)
def test_a_quoted_sentence_that_is_a_fragment_or_counts_on_others_opens_no_post(
    sentence: str, stands: bool
) -> None:
    assert stands_alone(sentence) is stands


def test_posts_of_an_article_do_not_all_say_the_same() -> None:
    story = story_of(command())
    firsts = {made.text.removeprefix(story.title).strip().splitlines()[0] for made in drafts(story)}
    assert len(firsts) >= 3


def test_a_short_post_that_does_not_name_its_subject_gets_the_title() -> None:
    text = draft("x", command(description="Sixteen to one is where most people start.", points=())).text
    assert text.startswith("Pour-over coffee: a sourced overview\n\nSixteen to one")


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("descaling a kettle", "Descaling a kettle"),
        ("iPhone cases", "iPhone cases"),
        ("kettle.boil", "kettle.boil"),
    ],
)
def test_no_post_begins_in_lower_case(title: str, shown: str) -> None:
    text = draft(
        "telegram", command(title=title, description="Sixteen to one is where most people start.", points=())
    ).text
    assert text.startswith(f"{shown}\n\n")


def test_no_sentence_is_said_twice() -> None:
    text = draft("telegram", command(description="", opening=DEFINITION)).text
    assert text.count(DEFINITION) == 1


def test_nothing_is_cut_and_what_does_not_fit_is_left_out() -> None:
    long = f"Pour-over coffee is {'slow and ' * 40}clear."
    text = draft("x", command(description=long, points=(POINTS[1],))).text
    assert POINTS[1] in text
    assert "slow" not in text
    assert "…" not in text


def test_a_post_that_would_only_repeat_the_title_is_none() -> None:
    bare = command(description="", points=("Grind",))
    with pytest.raises(NothingToSayError):
        draft("x", bare)
    planned = plan(bare)
    assert planned.post is not None
    assert planned.post.text == bare.article_context.title
    with pytest.raises(NothingToSayError):
        draft("x", command(description="", points=(), headings=("Ratio", "Water")))
    asking = draft("x", command(description="", points=(), headings=("Which ratio?", "Water"))).text
    assert asking == f"{bare.article_context.title}\n\nIn the article: Which ratio? · Water\n\n{LINK}"


def test_an_article_that_begins_with_what_cannot_stand_alone_gives_no_hook() -> None:
    asked = quoting(
        opening="This is a kettle: it heats water.", description="This is a kettle: it heats water."
    )
    with pytest.raises(NothingToSayError):
        draft("x", asked)
    planned = plan(asked)
    assert planned.post is not None
    assert planned.post.text == asked.article_context.title, "the feed has each article"


def test_a_short_first_sentence_keeps_the_next_one() -> None:
    opening = "Kettles are not all alike. Pour-over coffee needs a kettle with a thin spout."
    text = draft("x", quoting(opening=opening, points=(), origins=(1,))).text
    assert f"“{opening}”\n— Pouring" in text


def test_a_quoted_detail_that_has_no_word_of_the_subject_is_left_out() -> None:
    detail, own = "Wait until the middle of May.", "Sixteen grams of water brew a cup of pour-over coffee."
    text = draft("telegram", quoting(points=(detail, own), origins=(1, 1, 1))).text
    assert detail not in text
    assert f"“{own}”" in text


@pytest.mark.parametrize(
    ("sentence", "leans"),
    [
        ("Look at the spout while the kettle boils.", True),
        ("The chart is for light roasts alone.", True),
        ("Check the handle, since many get hot.", True),
        ("The kettle is never full.", False),
        ("Rinsing the paper removes its taste.", False),
        ("In the morning a kettle boils faster.", False),
    ],
)
def test_an_item_of_a_list_speaks_of_no_thing_that_the_post_does_not_name(sentence: str, leans: bool) -> None:
    assert leans_on_others(sentence, "Kettles for coffee") is leans
    kettle = "Kettles for pour-over coffee are never cheap."
    asked = quoting(opening=kettle, points=(DEFINITION, POINTS[1], sentence), origins=(1, 1, 1, 1))
    assert not (leans and sentence in draft("telegram", asked).text)


@pytest.mark.parametrize(
    "sentence",
    [
        "The spout is best when the kettle is old, not when it is new.",
        "Pour-over coffee is already cold, not warm, when the guests arrive.",
        "If pour-over coffee is still cold, ask for more rather than less.",
    ],
)
def test_a_sentence_that_goes_on_from_another_opens_no_post(sentence: str) -> None:
    asked = quoting(points=(sentence,), origins=(1, 1))
    assert {each.sentences[0] for each in story_of(asked).hooks} == {DEFINITION}


def test_of_a_page_about_something_larger_only_what_names_the_subject_opens_a_post() -> None:
    unnamed = "Coffee drips through a filter in three minutes, not in ten."
    larger, own = (QuotedSource(title="Things for the kitchen"),), (QuotedSource(title="Pouring coffee"),)
    named = quoting(sources=larger, points=(unnamed,), origins=(1, 1))
    assert [each.sentences[0] for each in story_of(named).hooks] == [DEFINITION]
    assert story_of(quoting(sources=larger, opening=unnamed, points=(), origins=(1,))).hooks == ()
    assert story_of(quoting(sources=own, opening=unnamed, points=(), origins=(1,))).hooks


def test_what_a_shop_says_of_itself_may_open_a_post() -> None:
    charged = "We charge three pounds for pour-over coffee."
    text = draft("x", quoting(opening=charged, points=(), origins=(1,))).text
    assert text.startswith(f"“{charged}”")


def test_a_list_has_more_than_one_item() -> None:
    text = draft("telegram", command(points=POINTS[:2], headings=())).text
    assert "• " not in text
    assert f"{POINTS[1]}\n\n{DEFINITION}" in text or f"{DEFINITION}\n\n{POINTS[1]}" in text


def test_a_title_that_the_line_of_the_source_says_stands_there_alone() -> None:
    opening = "Three minutes of patience make the difference in each cup."
    source = QuotedSource(title="Pouring slowly", licence="CC0")
    asked = quoting(title="Pouring slowly", opening=opening, sources=(source,), points=(), origins=(1,))
    assert draft("x", asked).text == f"“{opening}”\n— Pouring slowly (CC0)\n\n{LINK}"
    signed = quoting(
        title="Pouring slowly",
        opening=opening,
        sources=(source.model_copy(update={"author": "Ada B."}),),
        points=(),
        origins=(1,),
    )
    assert "\n— Ada B. (CC0)\n" in draft("telegram", signed).text, "“by” needs a title"
    assert draft("telegram", asked).text.startswith(f"Pouring slowly\n\n“{opening}”")
