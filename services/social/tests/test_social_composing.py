from typing import Any
from uuid import UUID

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from envelope.brand.payloads import ArticleContext, QuotedSource, SocialCreate
from social.channels import CHANNELS, REMOTE
from social.channels.linkedin import escaped as linkedin_escaped
from social.composing import ChannelDraft, LinkTooLongError, NothingToSayError, compose, drafts
from social.counting import graphemes
from social.cutting import clean_line, comparable, cut, hashtag, without_mentions
from social.domain import plan, post_id, story_of
from social.statements import leans_on_others, stands_alone
from social.technical import has_code, is_about_programs
from tests.fixtures.growth import grows_with_size

CONTENT = UUID("01980000-0000-7000-8000-000000000001")
LINK = "https://daily-grind.example/sites/daily-grind/pour-over-coffee"
DEFINITION = "Pour-over coffee is a brewing method in which hot water is poured by hand over ground coffee in a filter."
POINTS = (
    DEFINITION,
    "Sixteen grams of water for each gram of coffee is a reliable ratio to start from.",
    "A gooseneck kettle gives a slow, aimed stream.",
    "Rinsing the paper filter removes papery taste.",
)


def command(
    *,
    title: str = "Pour-over coffee: a sourced overview",
    keyword: str = "pour-over coffee",
    description: str = DEFINITION,
    points: tuple[str, ...] = POINTS,
    link: str | None = LINK,
    channels: tuple[str, ...] = ("feed",),
    tags: tuple[str, ...] = (),
    language: str | None = None,
    **more: Any,
) -> SocialCreate:
    return SocialCreate(
        brand_slug="daily-grind",
        content_id=CONTENT,
        article_context=ArticleContext(
            title=title, keyword=keyword, meta_description=description, key_points=points, **more
        ),
        published_url=link,
        channels=channels,
        tags=tags,
        language=language,
    )


def quoting(**changes: Any) -> SocialCreate:
    """About an article that quotes two sources."""
    given: dict[str, Any] = {
        "opening": f"{DEFINITION} It takes about three minutes.",
        "headings": ("Ratio", "Water for the dripper"),
        "sources": (
            QuotedSource(title="Pouring", author="Ada B.", licence="CC BY 4.0"),
            QuotedSource(title="Kettles", licence="CC0"),
        ),
        "origins": (1, 1, 1, 2, 0),
    }
    return command(**(given | changes))


def draft(channel: str, asked: SocialCreate) -> ChannelDraft:
    return compose(CHANNELS[channel], story_of(asked))


# --- any input ------------------------------------------------------------------------------------------------------

_TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
_EMOJI = st.lists(
    st.sampled_from(["👨\u200d👩\u200d👧\u200d👦", "🇩🇪", "☕️", "🙋🏽", "\u200d", "\ufe0f", "🏽", "e\u0301"])
).map("".join)
_ADDRESSES = st.lists(
    st.sampled_from(["a.co", "http://b.io/x,http://c.io", "e.g.", "...", "@everyone", "# _*_ "])
).map(" ".join)
_PIECES = st.lists(st.one_of(_TEXT, _EMOJI, _ADDRESSES, st.just("A whole sentence stands here. "))).map(
    "".join
)
_LINKS = st.one_of(
    st.none(),
    st.just(LINK),
    st.just("http://127.0.0.1:8012/sites/daily-grind/pour-over-coffee"),
    st.integers(1, 480).map(lambda size: f"https://example.org/{'long-' * size}"[:2000]),
    st.just("https://example.org/weg_(neu)/~größe?x=1&y=[2]"),
)
_COMMANDS = st.builds(
    command,
    title=_PIECES.map(lambda text: text[:500] or "-"),
    keyword=_PIECES.map(lambda text: text[:200] or "-"),
    description=_PIECES.map(lambda text: text[:1000]),
    points=st.lists(_PIECES.map(lambda text: text[:2000]), max_size=6).map(tuple),
    link=_LINKS,
)


@pytest.mark.extended
@settings(max_examples=40, deadline=None)
@given(_COMMANDS)
@example(command(description="x" * 1000, title="字" * 500))
@example(command(description="👨\u200d👩\u200d👧\u200d👦" * 140))
@example(command(description="e" + "\u0301" * 999))
def test_no_draft_is_over_a_limit_and_every_link_is_whole(asked: SocialCreate) -> None:
    story = story_of(asked)
    for channel in REMOTE:
        try:
            made = compose(channel, story)
        except LinkTooLongError:
            assert story.link is not None
            assert any(not limit.holds(story.link) for limit in channel.limits)
            continue
        except NothingToSayError:
            continue
        for limit, count in zip(channel.limits, made.counts, strict=True):
            assert limit.count(made.text) == count.used <= count.maximum == limit.maximum
        if story.link is not None:
            assert regex.search(rf"(?:^|\s){regex.escape(story.link)}(?:$|\s)", made.text)


@settings(max_examples=40, deadline=None)
@given(_COMMANDS)
def test_facets_are_byte_ranges_and_linkedin_text_is_escaped_and_the_same_again(asked: SocialCreate) -> None:
    for made in drafts(story_of(asked)):
        encoded = made.text.encode()
        parts = [encoded[facet.start : facet.end].decode().removeprefix("#") for facet in made.facets]
        assert parts == [facet.target for facet in made.facets], "of link and hashtags"
        if made.api_text is not None:
            assert made.channel == "linkedin"
            assert regex.sub(r"\\([\\|{}@\[\]()<>*_~#])", r"\1", made.api_text) == made.text
            assert not regex.search(r"(?<!\\)(?:\\\\)*[|{}@\[\]()<>*_~]", made.api_text)
    assert plan(asked) == plan(asked)


@settings(max_examples=200)
@given(_PIECES, st.integers(0, 120))
def test_a_cut_never_splits_a_grapheme(text: str, room: int) -> None:
    text = clean_line(text)
    result = cut(text, lambda piece: len(piece) <= room)
    assert len(result) <= room
    kept = graphemes(result.removesuffix("…"))
    assert kept == graphemes(text)[: len(kept)]


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


def of_manual(opening: str, *points: str, **more: Any) -> SocialCreate:
    """About an article that quotes the manual of a program, Brewer."""
    given: dict[str, Any] = {
        "title": "How timers of Brewer work",
        "keyword": "timers of brewer",
        "description": opening,
        "opening": opening,
        "points": points,
        "headings": ("Setting timers", "Logs", "Timers in the command line", "brewer.start()"),
        "sources": (QuotedSource(title="Brewer manual: Timers"),),
        "origins": (1,) * (1 + len(points)),
    }
    return command(**(given | more))


LETS = "Brewer lets you stop timers without losing a single cup."


@pytest.mark.parametrize(
    ("sentence", "opens"),
    [
        (LETS, True),
        ("Timers of Brewer are never late, not even in a power cut.", True),
        ("Brewer is a program for timers that remind you of the kettle.", True),
        ("Brewer has timers of several kinds in its memory.", False),
        ("Timers can be stopped without losing a single cup.", False),
        ("Provides access to timers without losing a single cup.", False),
        ("Brewer can stop timers whose callback returns no value.", False),
        ("By default, Brewer never stops timers that are running.", False),
        ("Brewer never stops timers before brewer.start() was called.", False),
        ("Brewer never stops timers in earlier versions.", False),
        ("Timers of Brewer can be set with the button or the key.", False),
        ("Timers of Brewer can be used to boil a kettle.", True),
        ("The largest part of Brewer is a wall where timers are designed.", False),
        ("Typical timers take 107 bytes on Linux and 103 on a kettle, but never more.", False),
    ],
)
def test_of_a_manual_a_sentence_that_names_the_program_and_says_why_it_matters_opens_a_post(
    sentence: str, opens: bool
) -> None:
    known = "The software reads timers that Brewer wrote."
    asked = of_manual("Timers of Brewer are written to a file.", known, sentence)
    if not opens:
        with pytest.raises(NothingToSayError):
            draft("x", asked)
        planned = plan(asked)
        assert planned.post is not None
        assert planned.post.text == "How timers of Brewer work", "the feed lists it"
        return
    assert draft("x", asked).text == f"“{sentence}”\n— Brewer manual: Timers\n\n{LINK}"


def test_the_opening_of_a_manual_names_the_subject_too() -> None:
    other = "Kettler never loses a drop of water, not even at night."
    asked = of_manual(other, "The software reads what Kettler wrote.")
    assert "Kettler" in story_of(asked).proper_names
    assert story_of(asked).hooks == ()
    assert story_of(
        of_manual(f"{other[:-1]} or with timers.", "The software reads what Kettler wrote.")
    ).hooks


def test_a_post_about_a_manual_has_one_sentence_and_headings_of_more_words() -> None:
    second = "Brewer never stops timers without a reason."
    asked = of_manual(LETS, second, "The software has timers.")
    assert draft("telegram", asked).text == (
        f"How timers of Brewer work\n\n“{second}”\n— Brewer manual: Timers\n\n"
        f"In the article: Setting timers · Timers in the command line\n\nRead the article: {LINK}"
    )
    own = "Your own words stand behind it."
    edited = of_manual(LETS, own, origins=(1, 0))
    assert own in draft("telegram", edited).text, "an edited key point is nobody's detail"


def test_a_sentence_of_a_manual_keeps_the_next_one_if_readers_understand_it() -> None:
    plain, with_code = "Instead it waits for you.", "Instead it calls brewer.start() again."
    more = "The software has timers of Brewer."
    assert f"“{LETS} {plain}”" in draft("x", of_manual(f"{LETS} {plain}", more)).text
    assert f"“{LETS}”" in draft("x", of_manual(f"{LETS} {with_code}", more)).text


def test_the_frequent_questions_of_a_manual_are_told_without_what_stands_between_them() -> None:
    headings = ("Which timers are there?", "Setting timers", "Why is the software late?")
    text = draft("x", of_manual("It has a callback.", headings=headings)).text
    assert text == f"How timers of Brewer work\n\nIn the article: {headings[0]} · {headings[2]}\n\n{LINK}"


def test_why_a_manual_has_no_post_is_told() -> None:
    silent = story_of(of_manual("It has a callback."))
    assert silent.why_silent.startswith("no sentence of this manual names its subject")
    named = story_of(of_manual(LETS, title="brewer.start()"))
    assert named.hooks == ()
    assert named.why_silent.startswith("the title is a name inside a program")
    assert story_of(quoting()).why_silent == "no sentence of the article stands alone"


def test_the_title_of_a_part_of_a_program_is_no_hashtag_but_its_name_is() -> None:
    texts = (LETS, "With Brewer, the software is never late.")
    assert story_of(of_manual(*texts, keyword="Timers")).tags == ()
    assert story_of(of_manual(*texts, keyword="Brewer")).tags == ("#Brewer",)
    assert story_of(command(keyword="brewer.start()")).tags == ()


@pytest.mark.parametrize(
    "text",
    [
        "A cup costs $3 and is ready at 10:30 -- or later.",
        "Ask for ten percent (10%) if a baker's dozen isn't enough.",
        "It drains into a cup or server; dogs aren't welcome.",
    ],
)
def test_prices_and_times_make_no_manual(text: str) -> None:
    assert not is_about_programs([text])


def test_a_word_in_quotation_marks_or_one_of_programs_makes_no_manual_but_two_do() -> None:
    assert not is_about_programs(["The 'crumb' is open."])
    assert not is_about_programs(["We take orders by software."])
    assert is_about_programs(["It reads files.", "It writes variables."])
    assert is_about_programs(["Parameters stand in a dialog."])
    assert is_about_programs([], ["convhulln (Convex hull)"])


@pytest.mark.parametrize(
    "text",
    [
        "Timers came with 1.4.0 in July.",
        "Leaving 0.x behind took five years.",
        "Choose Tools → Timers for another one.",
        "It waits for an IPv6 address.",
        "Choose a kettle in the drop-down.",
        "All recipes are in the repo.",
    ],
)
def test_a_version_or_the_way_through_a_menu_makes_a_manual(text: str) -> None:
    assert is_about_programs([text])
    assert not is_about_programs(["It costs 1.40 on 2.12.2025, from 8.30 to 12.00, at 1.5 bar."])


def test_coordinates_tell_readers_of_feeds_nothing() -> None:
    assert has_code("The first pin is at (0, 4.7 mm).")
    assert not has_code("The first three (12 and more) are free.")


def test_the_rules_about_manuals_are_for_english() -> None:
    german = "Brewer hält eine Datei für jeden Timer und verliert nie einen."
    assert draft("x", of_manual(german, "Das API ist klein.", language="de")).text.startswith(f"„{german}“")


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


@pytest.mark.parametrize(
    ("keyword", "tags", "expected"),
    [
        ("pour-over coffee ratio", (), ""),
        ("espresso", ("cold brew", "Espresso"), "#Espresso #ColdBrew"),
        ("water quality", ("filter coffee",), "#FilterCoffee"),
    ],
)
def test_hashtags_are_tags_of_the_brand_and_keywords_of_one_word(
    keyword: str, tags: tuple[str, ...], expected: str
) -> None:
    assert " ".join(story_of(command(keyword=keyword, tags=tags)).tags) == expected


@pytest.mark.parametrize(
    ("text", "room", "expected"),
    [
        ("One sentence. Another sentence. A third.", 32, "One sentence. Another sentence."),
        ("Use milk, e.g. Oat milk, with care and patience.", 20, "Use milk, e.g. Oat…"),
        (
            "Yes. And then a rather long sentence follows that has no end",
            40,
            "Yes. And then a rather long sentence…",
        ),
        ("Donaudampfschifffahrtsgesellschaft", 10, "Donaudamp…"),
        ("水は大切です。豆も大切です。", 8, "水は大切です。"),
        ("Anything", 0, ""),
    ],
)
def test_cuts_fall_where_readers_expect_them(text: str, room: int, expected: str) -> None:
    assert cut(text, lambda piece: len(piece) <= room) == expected


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("pour-over coffee", "#PourOverCoffee"),
        ("write-ahead logging (WAL)", "#WriteAheadLoggingWAL"),
        ("iPhone camera", "#iPhoneCamera"),
        ("kaffee für zuhause", "#KaffeeFürZuhause"),
        ("コーヒー", "#コーヒー"),
        ("हिन्दी", "#हिन्दी"),
        ("2024", None),
        ("☕", None),
        ("a very long keyword that nobody would ever type as a hashtag", None),
    ],
)
def test_hashtags_are_camel_case(phrase: str, expected: str | None) -> None:
    assert hashtag(phrase) == expected


def test_quoted_text_mentions_nobody() -> None:
    assert without_mentions("ask @everyone or me@example.org") == "ask @\u2060everyone or me@example.org"
    assert (
        "@everyone"
        not in draft(
            "discord",
            command(title="@everyone look", description="Everybody should ask @here about the news."),
        ).text
    )


def test_invisible_and_reordering_characters_are_dropped() -> None:
    assert clean_line("a\u200bb\u202ec\u0007 \n d\ufeff 👨\u200d🎤") == "abc d 👨\u200d🎤"


def test_linkedin_keeps_hashtags_and_escapes_every_other_reserved_character() -> None:
    assert linkedin_escaped("f(x) = #Coffee # 1_000 <b>") == r"f\(x\) = #Coffee \# 1\_000 \<b\>"


def test_a_link_that_no_post_can_hold_leaves_out_that_channel_alone() -> None:
    link = f"https://example.org/{'a' * 285}"
    made = {each.channel for each in drafts(story_of(command(link=link)))}
    assert made == {channel.name for channel in REMOTE if channel.network.drafted} - {"bluesky"}


# --- planning -------------------------------------------------------------------------------------------------------


def test_only_the_feed_is_posted_to_and_the_others_say_why_not() -> None:
    planned = plan(command(channels=("feed", "X", "myspace", "feed")))
    outcomes = {name: refusal.reason if refusal else None for name, refusal in planned.outcomes}
    assert outcomes == {"feed": None, "X": "channel_not_connected", "myspace": "unknown_channel"}
    assert planned.post is not None
    assert {each.channel for each in planned.post.drafts} == {
        channel.name for channel in REMOTE if channel.network.drafted
    }


def test_nothing_is_posted_when_no_channel_takes_it() -> None:
    assert plan(command(channels=("x",))).post is None


@pytest.mark.parametrize("link", ["http://[", "http://e.org:99999/"])
def test_a_link_that_is_no_web_address_is_refused(link: str) -> None:
    planned = plan(command(link=link))
    assert planned.post is None
    assert [refusal and refusal.reason for _, refusal in planned.outcomes] == ["invalid_link"]


@pytest.mark.parametrize("link", ["javascript:alert(1)", "https://", "https://a b", "ftp://example.org"])
def test_what_is_no_link_at_all_is_not_even_a_command(link: str) -> None:
    with pytest.raises(ValidationError, match="published_url"):
        command(link=link)


def test_the_id_of_a_post_follows_from_content_and_channel() -> None:
    assert post_id(CONTENT, "feed") == post_id(CONTENT, "feed") != post_id(CONTENT, "x")


@pytest.mark.parametrize(
    "unit", ["x", "w ", "a.", "@a ", "http://a.b,", "e\u0301", "👨\u200d👩\u200d👧\u200d👦", "([“"]
)
def test_the_longest_command_is_composed_in_bounded_time(unit: str) -> None:
    def compose(size: int) -> object:
        points = tuple(f"{number}{unit * size}"[:size] for number in range(20))
        asked = command(
            title=(unit * size)[: size // 4], description=(unit * size)[: size // 2], points=points
        )
        return plan(asked)

    assert grows_with_size(compose, 2000)


@given(st.text() | st.text(st.characters(max_codepoint=127)))
@example("A_b\x1cc\x00D9 it's")
def test_what_is_compared_are_letters_marks_and_digits_folded(text: str) -> None:
    assert comparable(text) == " ".join(regex.findall(r"[\p{L}\p{M}\p{N}]+", text.casefold()))
