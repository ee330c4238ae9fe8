"""Keys of subjects held against a bank of pairs that people judged: some written before the rules, some after they stood."""

import csv
import hashlib
from collections import Counter
from pathlib import Path

import pytest

from orchestrator.subjects import words
from orchestrator.subjects.keys import REVISION, key_of, own_key_of, spelling_of

PAIRS = Path(__file__).parent / "pairs"
PARTS = ("before_the_rules.csv", "after_the_rules.csv", "after_the_exceptions.csv")
KNOWN_WRONG = "one_word_two_meanings.csv"
"""Pairs that no rule on words can tell, beside the bank. `distinct` and a split are for them."""
FROZEN = {2: "ffb4109e119425df"}
"""By revision of the rules, a digest of all that the bank's keywords are folded to by them. Published revisions stay as they are."""


def read_pairs(part: str) -> list[dict[str, str]]:
    with (PAIRS / part).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=";"))


def is_folded(pair: dict[str, str]) -> bool:
    return key_of(pair["one"], pair["language"]) == key_of(pair["other"], pair["language"])


@pytest.mark.extended
@pytest.mark.parametrize("part", PARTS)
def test_of_each_part_of_the_bank_few_are_missed(part: str) -> None:
    same = [pair for pair in read_pairs(part) if pair["same"] == "yes"]
    missed = [pair for pair in same if not is_folded(pair)]
    assert len(missed) <= len(same) * 0.05, missed


def test_of_the_different_pairs_hardly_any_is_folded() -> None:
    different = [pair for part in PARTS for pair in read_pairs(part) if pair["same"] == "no"]
    wrong = [pair for pair in different if is_folded(pair)]
    assert len(wrong) <= len(different) * 0.01, wrong


def test_the_pairs_that_no_rule_can_tell_are_folded() -> None:
    """A pair that is folded no more belongs to the bank, and the figures of the decision change."""
    pairs = read_pairs(KNOWN_WRONG)

    assert [pair["same"] for pair in pairs] == ["no"] * 6
    assert [pair for pair in pairs if not is_folded(pair)] == []


def test_the_figures_of_the_decision_are_those_of_the_bank() -> None:
    bank = [pair for part in PARTS for pair in read_pairs(part)]
    different = [pair for pair in bank if pair["same"] == "no"]
    same = [pair for pair in bank if pair["same"] == "yes"]
    together = [*different, *read_pairs(KNOWN_WRONG)]

    assert (sum(map(is_folded, different)), len(different)) == (2, 272)
    assert (sum(map(is_folded, together)), len(together)) == (8, 278)
    assert (sum(not is_folded(pair) for pair in same), len(same)) == (3, 296)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("kilns", "kiln", True),
        ("flats", "flat", False),
        ("flats to rent", "flat to rent", True),
        ("Eagles", "eagle", False),
        ("eagles", "eagle", True),
        ("Beach Boys", "beach boy", False),
        ("eagles tickets", "eagle tickets", False),
        ("golden eagles", "golden eagle", True),
        ("best curries", "best curry", True),
        ("best cookies", "best cookie", True),
        ("garlic and herb butter", "herb & garlic butter", True),
        ("salt and pepper", "pepper and salt", True),
        ("trains and buses to Rome", "trains to Rome and buses", False),
        ("haematology ward", "hematology ward", True),
    ],
)
def test_plurals_that_name_something_else_are_kept_where_they_do(one: str, other: str, *, same: bool) -> None:
    assert (key_of(one, "en") == key_of(other, "en")) is same


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("es", "canciones de cuna", "canción de cuna"),
        ("es", "habitaciones", "habitación"),
        ("fr", "robes vertes", "robe verte"),
        ("pt", "casas amarelas", "casa amarela"),
        ("de", "Kochrezepte", "Kochrezept"),
    ],
)
def test_plurals_of_other_languages_are_folded_alone_too(language: str, one: str, other: str) -> None:
    assert key_of(one, language) == key_of(other, language)


def test_the_bank_is_large_and_spread() -> None:
    parts = {part: read_pairs(part) for part in PARTS}
    for pairs in parts.values():
        assert len(pairs) >= 100
        assert min(Counter(pair["same"] for pair in pairs).values()) >= 50
        assert {"tools", "food", "software", "law", "health", "travel", "finance", "music"} <= {
            pair["domain"] for pair in pairs
        }
    together = [frozenset((pair["one"], pair["other"])) for pairs in parts.values() for pair in pairs]
    assert len(together) == len(set(together))


def test_keys_change_with_their_revision_alone() -> None:
    """If this fails, the rules, the words or the dictionaries of a new release fold otherwise, or the bank has other pairs.

    Stored keys would not be found again: raise `keys.REVISION`, and add the new digest here. Stored keys follow by themselves. For a
    bank with other pairs alone, replace the digest of the last revision.
    """
    listed = sorted(
        words.OWN_PLURALS
        | {" ".join(name) for name in words.LONG_NAMES_IN_PLURAL}
        | words.SINGULARS.keys()
        | words.SPELLINGS.keys()
        | words.NUMBERS.keys()
    )
    told = [key_of(word, "en") for word in listed]
    for part in PARTS:
        for pair in read_pairs(part):
            told += [key_of(pair[side], pair["language"]) for side in ("one", "other")]

    assert max(FROZEN) == REVISION
    assert hashlib.sha256("\n".join(told).encode()).hexdigest()[:16] == FROZEN[REVISION]


def test_a_spelling_of_its_own_folds_case_and_white_space_alone() -> None:
    assert own_key_of("Blues  Guitar") == own_key_of("blues guitar")
    assert own_key_of("blues guitars") != own_key_of("blues guitar")
    assert own_key_of("blues guitar") != key_of("blues guitar", "en")
    assert spelling_of(" Cold\u00a0Brew ") == "cold brew"
