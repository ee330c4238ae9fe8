"""Words are compared by light stems; a definition begins with the words that it defines."""

import pytest

from documents.words import bare_title, find_run, is_definition, stem, stems_of, telling_stems, words_of


@pytest.mark.parametrize(
    ("one", "other"),
    [("scan", "scanning"), ("backup", "backups"), ("query", "queries"), ("install", "installation")],
)
def test_forms_of_a_word_have_one_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_an_identifier_is_one_word() -> None:
    assert words_of("Set wal_level, please: über") == ["set", "wal_level", "please", "über"]


def test_function_words_tell_nothing() -> None:
    assert telling_stems("The scanning of an index") == stems_of("scan index")
    assert telling_stems("of the") == stems_of("of the")


@pytest.mark.parametrize(
    ("wanted", "place"), [("b c", 1), ("a", 0), ("c b", None), ("", None), ("d e", None)]
)
def test_runs_are_found_side_by_side(wanted: str, place: int | None) -> None:
    assert find_run(wanted.split(), ["a", "b", "c", "d"]) == place


@pytest.mark.parametrize(
    ("sentence", "defines"),
    [
        ("A global variable is one that may be accessed anywhere.", True),
        ("Global variables provide a way to share values.", False),
        ("The global variable statement declares names.", False),
        ("Global variables are names that all functions see.", True),
        ("The global variable is empty.", False),
        ("Use a global variable that is short.", False),
        ("", False),
    ],
)
def test_a_definition_begins_with_what_it_defines(sentence: str, defines: bool) -> None:
    assert is_definition(stems_of("global variables"), sentence) is defines


@pytest.mark.parametrize(
    ("title", "bare"),
    [
        ("13.3.1 Desktops", "Desktops"),
        ("Chapter 4: Mail", "Mail"),
        ("2.1. Kiln", "Kiln"),
        ("3 ways to print", "3 ways to print"),
        ("git-log(1) Manual Page", "git-log"),
    ],
)
def test_titles_without_their_numbers(title: str, bare: str) -> None:
    assert bare_title(title) == bare
