"""Words and fingerprints are told apart quickly; what comes of it is what their plain definitions say."""

import hashlib
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from writing.quality.likeness import fingerprint, words_of

ASCII = st.text(st.characters(max_codepoint=127))
WORDS = ("Grind", "it", "coarse,", "and", "strain", "Straße", "twice", "İstanbul", "été", "don't", "_x_", "7")
PROSE = st.lists(st.sampled_from(WORDS)).map(" ".join)


def plainly(text: str) -> list[str]:
    return [word.casefold() for word in re.findall(r"\w+", text)]


@pytest.mark.extended
@given(st.text() | ASCII | PROSE)
@example("\x1c\x1d\x1e\x1f\x7fA\tb\x00C_d")
@example("ǅ ŉ İ ß")
def test_words_are_runs_of_letters_digits_and_underscores_folded(text: str) -> None:
    assert words_of(text) == plainly(text)


@given(PROSE | st.text(st.characters(exclude_categories=["Cs"])))
def test_a_fingerprint_has_one_in_eight_of_the_digests_of_three_words_in_a_row(text: str) -> None:
    words = plainly(text)
    runs = {" ".join(words[at : at + 3]) for at in range(max(1, len(words) - 2))} if words else set()
    digests = [hashlib.blake2b(run.encode(), digest_size=8).digest() for run in runs]
    numbers = [int.from_bytes(each) for each in digests]
    assert fingerprint(text) == {number >> 1 for number in numbers if number % 8 == 0}
