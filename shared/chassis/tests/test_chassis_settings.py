"""The key that is asked for at the start."""

import pytest
from pydantic import ValidationError

from chassis.settings import KeyedSettings


@pytest.mark.parametrize(
    ("key", "complaint"),
    [
        ("too-short-a-key", "fewer than 16 characters"),
        ("schlüssel-für-die-anderen", "other characters than visible ASCII"),
        ("a key with blanks in it", "other characters than visible ASCII"),
        ("a-key-that-ends-its-line\n", "other characters than visible ASCII"),
        ("aaaaaaaaaaaaaaaaaaaaaaaa", "easily guessed"),
        ("abcabcabcabcabcabcabcabc", "easily guessed"),
        ("change-me-change-me-", "easily guessed"),
        ("passwordpassword", "easily guessed"),
        ("0123456789abcdef", "easily guessed"),
        ("12345678901234567890", "easily guessed"),
        ("zyxwvutsrqponmlkjihgfedcba", "easily guessed"),
    ],
)
def test_a_key_that_cannot_be_sent_or_is_trivial_is_refused_with_the_way_to_make_one(
    key: str, complaint: str
) -> None:
    with pytest.raises(ValidationError, match=complaint) as refused:
        KeyedSettings(service_key=key)
    assert "openssl rand -hex 24" in str(refused.value)
    assert key not in str(refused.value)


@pytest.mark.parametrize(
    "key",
    ["4b1c9f0e7a2d8c35", "a-key-for-tests-only", "it's~a{key}!of:16+", "xkcd-correct-horse-battery-staple"],
)
def test_any_other_key_will_do(key: str) -> None:
    assert KeyedSettings(service_key=key).service_key.get_secret_value() == key
