"""Wording is found by its words first and then by its pattern: each match of a pattern has one of its words."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reading.boilerplate import NOTICES
from reading.cleaning import PhrasePatterns, one_line, remove_invisible

WAYS = NOTICES.ways
ODD = "\u017f\u0130\u0131\u212a"
"""Letters that patterns take for s, i, i and k."""
PIECES = sorted(
    {word for words, _ in WAYS for word in words} | {"We use ", "by clicking ", " 20 % off", *ODD}
)
BLANKS = re.compile(r"\s+")


@pytest.mark.extended
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
@pytest.mark.parametrize(("words", "pattern"), WAYS, ids=[words[0] for words, _ in WAYS])
def test_what_a_pattern_matches_is_found(
    words: tuple[str, ...], pattern: re.Pattern[str], data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(pattern))
    assert PhrasePatterns((words, pattern.pattern)).matches(text)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5)).map("".join))
def test_nothing_else_is_found(text: str) -> None:
    assert NOTICES.matches(text) == any(pattern.search(text) for _, pattern in NOTICES.ways)


@given(
    st.text(st.characters() | st.sampled_from("\t\n\x0b\x0c\x1c\x85\xa0\u2028\u200b\xad\ufeff \u0301\u0300"))
)
def test_one_line_has_single_spaces_alone(text: str) -> None:
    assert one_line(text) == BLANKS.sub(" ", remove_invisible(text)).strip()
