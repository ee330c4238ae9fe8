"""How errors show the beginning of a refused text."""

import pytest

from envelope.brand.texts import shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Kaffeemühle", "'Kaffeemühle'"),
        ("咖啡", "'咖啡'"),
        ("ü" * 41, f"'{'ü' * 40}…'"),
        ("a\x00b\u200b\u202e\ud800", r"'a\x00b\u200b\u202e\ud800'"),
    ],
)
def test_letters_are_shown_and_what_cannot_be_seen_is_escaped(text: str, expected: str) -> None:
    assert shown(text) == expected
