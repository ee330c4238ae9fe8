"""What the composer does not look at more closely would have made no difference."""

from collections.abc import Sequence

from hypothesis import example, given
from hypothesis import strategies as st

from writing.body import shown
from writing.extractive import topic as topics
from writing.extractive.topic import Topic

WORDS = (
    "hook",
    "hooks",
    "grind",
    "grinding",
    "size",
    "sizes",
    "class",
    "bus",
    "es",
    "s",
    "git",
    "\u017fet",
    "İd",
    "kiln",
    "x_y",
    "C",
)
KEYWORDS = st.lists(st.sampled_from(WORDS), min_size=0, max_size=3).map(" ".join)
PIECES = (
    *(
        " is a ",
        " are programs that ",
        " refers to ",
        " (or so)",
        "(x)",
        ", which ",
        ", or kiln, ",
        ", also called git, ",
        "-",
    ),
    *(
        "The idea behind ",
        "Use ",
        " when ",
        " reclaims the ",
        "In general, ",
        "A ",
        "the ",
        " called ",
        " means ",
        " ",
        ". ",
        "K",
        "\u017f",
    ),
)
TEXTS = st.lists(st.sampled_from((*WORDS, *map(str.upper, WORDS), *PIECES)), max_size=9)


@given(KEYWORDS, TEXTS, st.booleans())
@example("hook", ["Pre(x)", "hook", "s", " is a ", "kiln"], True)
@example("how to use git hooks", ["git", "-", "HOOKS", " are programs that ", "s"], False)
def test_a_sentence_without_the_keywords_beginnings_defines_nothing(
    keyword: str, pieces: Sequence[str], named: bool
) -> None:
    quick, slow = Topic(keyword, ()), Topic(keyword, ())
    slow._needles = ("",)
    text = "".join(pieces)
    assert quick.definition(text, named=named) == slow.definition(text, named=named)


@given(TEXTS)
def test_a_text_without_the_marks_of_an_aside_has_none(pieces: Sequence[str]) -> None:
    text = "".join(pieces)
    assert topics._without_asides(text) == topics._ASIDE.sub("", text)


@given(
    st.lists(
        st.sampled_from(("word ", "\\*", "\\[", " [1]", "`code`", "[a\\]b](https://x.test)", "**", "é"))
    ).map("".join)
)
def test_each_character_that_is_shown_has_its_place(markdown: str) -> None:
    found = shown(markdown)
    places = found.places(0, len(found.text))
    assert "".join(markdown[end - 1] for _, end in places) == found.text
    for begin in range(len(found.text) + 1):
        assert found.places(begin, begin + 3) == places[begin : begin + 3]
