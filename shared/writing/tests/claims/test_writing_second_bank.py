"""The second bank: that it is whole, and what the rules make of it with an honest judge, an agreeing one and none."""

from collections import Counter
from typing import Final

from shared.writing.tests.claims.measuring_bank import count, read_second_bank
from writing.model.claims.wording import normal
from writing.model.copying import SourceRuns
from writing.model.exam.bank import SUBJECTS, read_bank

BANK: Final = read_second_bank()
KINDS: Final = {each.kind for each in read_bank() if not each.is_true}
FEWEST_SUBJECTS: Final = 8
FEWEST_TRUE: Final = 13
"""Of each subject, as `FEWEST_LIES`; `FEWEST_OF_A_KIND` in the whole bank."""
FEWEST_LIES: Final = 19
FEWEST_OF_A_KIND: Final = 5
PASSAGES: Final = range(3, 7)
PASSAGE_WORDS: Final = range(60, 151)


def test_each_subject_has_enough_true_sentences_and_lies_and_is_none_of_the_exam() -> None:
    true = Counter(each.subject for each in BANK if each.is_true)
    lies = Counter(each.subject for each in BANK if not each.is_true)

    assert set(true) == set(lies)
    assert len(true) >= FEWEST_SUBJECTS
    assert not set(true) & set(SUBJECTS)
    assert min(true.values()) >= FEWEST_TRUE
    assert min(lies.values()) >= FEWEST_LIES


def test_it_has_every_kind_of_lie_and_no_other() -> None:
    kinds = Counter(each.kind for each in BANK if not each.is_true)

    assert set(kinds) == KINDS
    assert min(kinds.values()) >= FEWEST_OF_A_KIND


def test_its_sentences_are_unique_and_are_no_copies_of_their_passages() -> None:
    sentences = Counter(normal(each.sentence).casefold() for each in BANK)

    assert not [each for each, times in sentences.items() if times > 1]
    for each in BANK:
        passages = SourceRuns.of(one.text for one in each.cited)
        assert passages.find_copied_run(each.sentence) is None
        assert passages.find_copied_run(each.again) is None


def test_its_passages_are_few_for_a_subject_and_of_a_paragraph_s_length_and_each_is_cited() -> None:
    for subject in {each.subject for each in BANK}:
        passages = {one.id: one for each in BANK if each.subject == subject for one in each.cited}
        assert len(passages) in PASSAGES
        assert all(one.heading and len(one.text.split()) in PASSAGE_WORDS for one in passages.values())


def test_a_true_sentence_has_a_second_wording_and_quotes_that_stand_in_every_passage_it_cites() -> None:
    for each in BANK:
        quotes = [quote for claim in each.reading.claims for quote in claim.quotes]
        if not each.is_true:
            assert not quotes
            assert each.reading.finding != "supported"
            continue
        texts = {one.id: normal(one.text) for one in each.cited}
        assert each.again
        assert {quote.passage for quote in quotes} == set(texts)
        assert all(normal(quote.words) in texts[quote.passage] for quote in quotes), each.sentence


def test_what_the_rules_keep_and_let_through() -> None:
    found = count(BANK)

    assert found.first >= 84
    assert found.mended >= 0.87 * found.true
    assert len(found.agreed) <= 0.06 * found.lies
    assert not found.unjudged
