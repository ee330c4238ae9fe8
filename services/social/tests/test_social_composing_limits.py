"""Posts within the limits of their networks: cuts, hashtags, links, and texts that nobody foresaw."""

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from envelope.brand.payloads import SocialCreate
from social.channels import REMOTE
from social.channels.linkedin import escaped as linkedin_escaped
from social.composing import LinkTooLongError, NothingToSayError, compose, drafts
from social.counting import graphemes
from social.cutting import clean_line, comparable, cut, hashtag, without_mentions
from social.domain import plan, post_id, story_of
from tests.fixtures.growth import grows_with_size
from tests.fixtures.promoted_coffee import CONTENT, LINK, command, draft

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
