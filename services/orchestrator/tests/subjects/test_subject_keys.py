"""Keys of subjects held against a bank of pairs that people judged: half of it written before the rules, half after they stood."""

import csv
import hashlib
from collections import Counter
from pathlib import Path

import pytest

from orchestrator.subjects import words
from orchestrator.subjects.keys import VERSION, key_of, own_key_of, spelling_of

PAIRS = Path(__file__).parent / "pairs"
HALVES = ("before_the_rules.csv", "after_the_rules.csv")
FROZEN = (2, "a88129f78b152db8")
"""The version of the rules, and a digest of all that the bank's keywords are folded to by them."""


def read_pairs(half: str) -> list[dict[str, str]]:
    with (PAIRS / half).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=";"))


def is_folded(pair: dict[str, str]) -> bool:
    return key_of(pair["one"], pair["language"]) == key_of(pair["other"], pair["language"])


@pytest.mark.parametrize("half", HALVES)
def test_of_each_half_of_the_bank_few_are_missed_and_hardly_any_is_folded_wrongly(half: str) -> None:
    pairs = read_pairs(half)
    same = [pair for pair in pairs if pair["same"] == "yes"]
    missed = [pair for pair in same if not is_folded(pair)]
    wrong = [pair for pair in pairs if pair["same"] == "no" and is_folded(pair)]

    assert len(missed) <= len(same) * 0.05, missed
    assert len(wrong) <= len(pairs) * 0.01, wrong


def test_the_bank_is_large_and_spread() -> None:
    halves = {half: read_pairs(half) for half in HALVES}
    for pairs in halves.values():
        assert len(pairs) >= 100
        assert min(Counter(pair["same"] for pair in pairs).values()) >= 50
        assert {"tools", "food", "software", "law", "health", "travel", "finance", "music"} <= {
            pair["domain"] for pair in pairs
        }
    together = [frozenset((pair["one"], pair["other"])) for pairs in halves.values() for pair in pairs]
    assert len(together) == len(set(together))


def test_keys_change_with_their_version_alone() -> None:
    """If this fails, the rules, the words or the dictionaries of a new release fold otherwise.

    Stored keys would not be found again: raise `keys.VERSION`, have stored keys follow by a migration, and note the new digest here.
    """
    listed = sorted(
        words.OWN_PLURALS | words.SINGULARS.keys() | words.SPELLINGS.keys() | words.NUMBERS.keys()
    )
    told = [key_of(word, "en") for word in listed]
    for half in HALVES:
        for pair in read_pairs(half):
            told += [key_of(pair[side], pair["language"]) for side in ("one", "other")]

    assert (VERSION, hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]) == FROZEN


def test_a_spelling_of_its_own_folds_case_and_white_space_alone() -> None:
    assert own_key_of("Blues  Guitar") == own_key_of("blues guitar")
    assert own_key_of("blues guitars") != own_key_of("blues guitar")
    assert own_key_of("blues guitar") != key_of("blues guitar", "en")
    assert spelling_of(" Cold\u00a0Brew ") == "cold brew"
