"""An API key is recognised by how it is written, and nothing that is kept or printed of it opens anything."""

import hashlib
import re
import string

from hypothesis import given
from hypothesis import strategies as st

from chassis import redaction
from chassis.api_keys import PATTERN, ApiKey

WRITTEN = ApiKey.make().written()


def test_a_key_is_read_as_it_was_written() -> None:
    key = ApiKey.make()
    assert re.fullmatch(PATTERN, key.written())
    assert ApiKey.read(key.written()) == key
    other = ApiKey.make(key.id)
    assert (other.id == key.id, other.secret == key.secret) == (True, False)


@given(st.integers(0, len(WRITTEN) - 1), st.sampled_from(string.ascii_letters + string.digits + "_- é\0"))
def test_one_wrong_character_is_noticed_wherever_it_is(place: int, char: str) -> None:
    mistyped = WRITTEN[:place] + char + WRITTEN[place + 1 :]
    assert (ApiKey.read(mistyped) is None) == (mistyped != WRITTEN)


@given(st.text(max_size=80) | st.from_regex(PATTERN, fullmatch=True))
def test_what_nobody_has_made_is_no_key(text: str) -> None:
    """Of what looks like a key, one in four thousand million passes for one."""
    assert ApiKey.read(text) is None


def test_a_part_of_a_key_is_none() -> None:
    assert not any(ApiKey.read(WRITTEN[:length]) for length in range(len(WRITTEN)))
    assert ApiKey.read(WRITTEN + "x") is None


def test_a_secret_opens_what_was_kept_of_it() -> None:
    key, other = ApiKey.make(), ApiKey.make()
    assert key.hashed() == hashlib.sha256(key.secret.encode()).digest()
    assert key.opens(key.hashed(), None)
    assert key.opens(other.hashed(), key.hashed())
    assert not key.opens(other.hashed(), None)
    assert not key.opens(None, None)


def test_a_key_is_hidden_wherever_it_is_written_down() -> None:
    key = ApiKey.make()
    assert key.secret not in repr(key)
    hidden = f"be_{key.id}_***"
    for said in (
        f"the key {key.written()} is wrong",
        f"{key.written()[:-3]}",
        f'{{"name": "x", "list": ["{key.written()}"]}}',
        f"https://example.org/{key.written()}/x",
    ):
        told = redaction.text(said)
        assert (key.secret[8:] in told, hidden in told) == (False, True), said
    assert key.secret not in redaction.text(f"Authorization: Bearer {key.written()}")
    assert redaction.text("be_careful_with_names_like_these") == "be_careful_with_names_like_these"
