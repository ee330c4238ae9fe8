"""The second to the eighth bank: that they are whole, and what the rules make of them."""

from collections import Counter
from typing import Final, TypeAlias

import pytest

from shared.writing.tests.claims.measuring_bank import MORE_BANKS, count, read_folder
from writing.model.claims.wording import normal
from writing.model.copying import SourceRuns
from writing.model.exam.bank import SUBJECTS, ExamItem, read_bank
from writing.model.mending import ROUNDS

Bank: TypeAlias = tuple[ExamItem, ...]

BANKS: Final = {name: read_folder(name) for name in MORE_BANKS}
KINDS: Final = {each.kind for each in read_bank() if not each.is_true}
FEWEST: Final = {
    "second_bank": (8, 13, 19),
    "third_bank": (6, 18, 26),
    "fourth_bank": (8, 25, 38),
    "fifth_bank": (8, 25, 37),
    "sixth_bank": (8, 10, 16),
    "seventh_bank": (8, 10, 16),
    "eighth_bank": (8, 25, 38),
}
"""Subjects, and true sentences and lies of each subject; `FEWEST_OF_A_KIND` in a whole bank."""
FEWEST_OF_A_KIND: Final = 5
PASSAGES: Final = range(2, 7)
PASSAGE_WORDS: Final = range(60, 161)

of_each_bank = pytest.mark.parametrize("bank", BANKS.values(), ids=BANKS)


@pytest.mark.parametrize("name", MORE_BANKS)
def test_each_subject_has_enough_true_sentences_and_lies_and_is_of_no_other_bank(name: str) -> None:
    true = Counter(each.subject for each in BANKS[name] if each.is_true)
    lies = Counter(each.subject for each in BANKS[name] if not each.is_true)
    others = {each.subject for other in MORE_BANKS if other != name for each in BANKS[other]}
    fewest_subjects, fewest_true, fewest_lies = FEWEST[name]

    assert set(true) == set(lies)
    assert len(true) >= fewest_subjects
    assert not set(true) & {*SUBJECTS, *others}
    assert min(true.values()) >= fewest_true
    assert min(lies.values()) >= fewest_lies


@of_each_bank
def test_it_has_every_kind_of_lie_and_no_other(bank: Bank) -> None:
    kinds = Counter(each.kind for each in bank if not each.is_true)

    assert set(kinds) == KINDS
    assert min(kinds.values()) >= FEWEST_OF_A_KIND


@pytest.mark.extended
@of_each_bank
def test_its_sentences_are_unique_and_are_no_copies_of_their_passages(bank: Bank) -> None:
    sentences = Counter(normal(each.sentence).casefold() for each in bank)

    assert not [each for each, times in sentences.items() if times > 1]
    for each in bank:
        passages = SourceRuns.of(one.text for one in each.cited)
        assert passages.find_copied_run(each.sentence) is None
        assert not [wording for wording in each.mended if passages.find_copied_run(wording)]


@of_each_bank
def test_its_passages_are_few_for_a_subject_and_of_a_paragraph_s_length_and_each_is_cited(bank: Bank) -> None:
    for subject in {each.subject for each in bank}:
        passages = {one.id: one for each in bank if each.subject == subject for one in each.cited}
        assert len(passages) in PASSAGES
        assert all(one.heading and len(one.text.split()) in PASSAGE_WORDS for one in passages.values())


@of_each_bank
def test_a_true_sentence_has_quotes_that_stand_in_every_passage_it_cites_and_a_lie_is_never_mended(
    bank: Bank,
) -> None:
    for each in bank:
        quotes = [quote for claim in each.reading.claims for quote in claim.quotes]
        if not each.is_true:
            assert not quotes
            assert each.reading.finding != "supported"
            assert not each.mended
            continue
        texts = {one.id: normal(one.text) for one in each.cited}
        assert len({each.sentence, *each.mended}) == 1 + len(each.mended) <= 1 + ROUNDS
        assert {quote.passage for quote in quotes} == set(texts)
        assert all(normal(quote.words) in texts[quote.passage] for quote in quotes), each.sentence


@pytest.mark.extended
@pytest.mark.parametrize(
    ("name", "first", "mended", "agreed", "strict"),
    [
        ("second_bank", 86, 0.96, 0.1, 0.012),
        ("third_bank", 50, 0.94, 0.095, 0.01),
        ("fourth_bank", 78, 0.94, 0.08, 0.015),
        ("fifth_bank", 74, 0.91, 0.09, 0.025),
        ("sixth_bank", 21, 0.87, 0.08, 0.02),
        ("seventh_bank", 28, 0.91, 0.105, 0.025),
        ("eighth_bank", 88, 0.99, 0.145, 0.025),
    ],
)
def test_what_the_rules_keep_and_let_through(
    name: str, first: int, mended: float, agreed: float, strict: float
) -> None:
    found = count(BANKS[name])

    assert found.first >= first
    assert found.mended >= mended * found.true
    assert len(found.agreed) <= agreed * found.lies
    assert len(found.strict) <= strict * found.lies
    assert not found.unjudged


@pytest.mark.extended
def test_under_the_strict_rules_a_writer_who_heeds_the_reasons_has_a_wording_for_each_sentence() -> None:
    found = count(BANKS["eighth_bank"])

    assert found.strictly_mended >= 0.98 * found.true
