"""The bank of the exam: that it is whole, and what the rules make of its halves with an honest judge, an agreeing one and none."""

from collections import Counter
from pathlib import Path

import pytest

from shared.writing.tests.claims.measuring_bank import count
from writing.model import claims
from writing.model.claims.wording import normal
from writing.model.exam.bank import SUBJECTS, Half, read_bank

KINDS = 25
MOST_LINES = 1350
BANK = read_bank()


def test_the_bank_has_270_true_sentences_and_500_lies_of_25_kinds_in_ten_subjects() -> None:
    true = Counter(each.subject for each in BANK if each.is_true)
    lies = Counter(each.subject for each in BANK if not each.is_true)

    assert set(true) == set(lies) == set(SUBJECTS)
    assert true.total() >= 270
    assert lies.total() >= 500
    assert min(true.values()) >= 25
    assert min(lies.values()) >= 38
    for subject in SUBJECTS:
        assert len({each.kind for each in BANK if each.subject == subject and not each.is_true}) == KINDS
    assert len({each.sentence for each in BANK}) == len(BANK)


def test_the_words_that_carry_a_true_sentence_stand_in_the_passages_that_it_cites() -> None:
    for each in BANK:
        texts = {one.id: normal(one.text) for one in each.cited}
        quotes = [quote for claim in each.reading.claims for quote in claim.quotes]
        assert bool(quotes) == each.is_true
        assert all(normal(quote.words) in texts[quote.passage] for quote in quotes), each.sentence


@pytest.mark.extended
@pytest.mark.parametrize(
    ("half", "first", "mended", "agreed", "strict"),
    [("development", 77, 0.98, 0.1, 0.042), ("blind", 50, 0.97, 0.1, 0.04)],
)
def test_what_the_rules_keep_and_let_through(
    half: Half, first: int, mended: float, agreed: float, strict: float
) -> None:
    found = count(read_bank(half))

    assert found.first >= first
    assert found.mended >= mended * found.true
    assert len(found.agreed) <= agreed * found.lies
    assert len(found.strict) <= strict * found.lies
    assert not found.unjudged


def test_the_rules_stay_few() -> None:
    modules = Path(claims.__path__[0]).glob("*.py")

    assert sum(len(each.read_text("utf-8").splitlines()) for each in modules) <= MOST_LINES
