"""Differences of versions, two changes in one text, and a paragraph that is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.drafts.editing import diff_lines, find_conflict, merge, without_block

BODY = "Opening. [1]\n\n## Time\n\nTwelve hours. [1]\n\n- One\n- Two\n"
LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=6).map("\n".join)


def test_a_changed_line_marks_the_words_that_differ() -> None:
    found = diff_lines(
        "--- version 1\n+++ version 2\n@@ -1,2 +1,2 @@\n Title: Tea\n-Steep it for two hours.\n+Steep it for ten hours.\n"
    )

    assert [each.kind for each in found] == ["same", "removed", "added"]
    assert [run.text for run in found[1].runs if run.is_changed] == ["two"]
    assert [run.text for run in found[2].runs if run.is_changed] == ["ten"]


def test_a_line_that_begins_with_dashes_is_text() -> None:
    found = diff_lines("--- version 1\n+++ version 2\n@@ -1 +1 @@\n--- rule\n+++ plus\n")

    assert [(each.kind, "".join(run.text for run in each.runs)) for each in found] == [
        ("removed", "-- rule"),
        ("added", "++ plus"),
    ]


def test_two_changes_at_different_places_are_joined() -> None:
    found = merge(BODY, BODY.replace("Twelve", "Ten"), BODY.replace("Opening.", "A new opening."))

    assert found.conflicts == 0
    assert "Ten hours" in found.text
    assert "A new opening." in found.text


def test_two_changes_of_one_line_both_stay() -> None:
    found = merge(BODY, BODY.replace("Twelve", "Ten"), BODY.replace("Twelve", "Two"))

    assert found.conflicts == 1
    assert "Ten hours. [1]\n\nTwo hours. [1]" in found.text


@pytest.mark.extended
@given(LINES, LINES, LINES)
def test_nothing_that_somebody_wrote_is_lost(base: str, mine: str, theirs: str) -> None:
    text = merge(base, mine, theirs).text.splitlines()
    for written in (mine, theirs):
        assert {each for each in written.splitlines() if each and each not in base.splitlines()} <= set(text)


@given(LINES, LINES)
def test_one_change_is_taken_as_it_is(base: str, mine: str) -> None:
    assert merge(base, mine, base).text == mine
    assert merge(base, base, mine).text == mine
    assert merge(base, mine, mine).text == mine


def test_a_conflict_keeps_what_a_person_wrote() -> None:
    base = {"version": 1, "made_by": "writer", "title": "Tea", "meta_description": "d", "slug": "tea", "body_markdown": BODY, "key_points": ["a"]}  # fmt: skip
    newest = {**base, "version": 2, "made_by": "bob", "title": "Green tea", "key_points": ["a", "b"]}
    mine = {"title": "Black tea", "meta_description": "d", "slug": "tea", "body_markdown": BODY.replace("Two", "Three"), "key_points": "a"}  # fmt: skip

    found = find_conflict(base, mine, newest)

    assert (found.version, found.made_by, found.places) == (2, "bob", 1)
    assert found.merged["title"] == "Black tea"
    assert "Three" in found.merged["body_markdown"]
    assert found.merged["key_points"] == "a\nb"


def test_a_block_is_cut_with_its_mark() -> None:
    def cut(text: str) -> str:
        at = BODY.index(text)
        return without_block(BODY, at, at + len(text))

    assert cut("Twelve hours. [1]") == "Opening. [1]\n\n## Time\n\n- One\n- Two\n"
    assert cut("One") == "Opening. [1]\n\n## Time\n\nTwelve hours. [1]\n\n- Two\n"
    assert cut("Two") == "Opening. [1]\n\n## Time\n\nTwelve hours. [1]\n\n- One\n"
    assert cut("Opening. [1]") == "## Time\n\nTwelve hours. [1]\n\n- One\n- Two\n"
    assert without_block("Only this.\n", 0, 10) == ""
