"""The keys that processes of ours send each other, as they stand in settings."""

from hashlib import sha256

import pytest
from pydantic import SecretStr, TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from chassis.http.callers import SERVICE
from chassis.http.service_key import ServiceKey
from chassis.service_keys import PairKeysText, ServiceKeyText, is_hash, keys_of, sent_to

KEY = "a-key-of-whoever-runs-it-7Q"
HASH = f"sha256:{sha256(KEY.encode()).hexdigest()}"
SERVICE_KEY: TypeAdapter[SecretStr] = TypeAdapter(ServiceKeyText)
PAIR: TypeAdapter[SecretStr | None] = TypeAdapter(PairKeysText)


def asked_with(key: str) -> Request:
    return Request({"type": "http", "headers": [(b"x-service-key", key.encode())]})


@pytest.mark.parametrize("given", [KEY, HASH])
async def test_who_has_the_hash_can_tell_the_key(given: str) -> None:
    known = ServiceKey(SERVICE_KEY.validate_python(given))
    assert await known(asked_with(KEY)) == SERVICE
    for wrong in ("", HASH, KEY[:-1]):
        with pytest.raises(HTTPException):
            await known(asked_with(wrong))


def test_who_has_the_hash_alone_is_told_what_to_set() -> None:
    pair = PAIR.validate_python("the-first-is-sent-3k, the-other-opens-9z")
    assert pair is not None
    assert keys_of(pair) == ("the-first-is-sent-3k", "the-other-opens-9z")
    hashed = SERVICE_KEY.validate_python(HASH)
    assert is_hash(hashed)
    assert sent_to("A_TO_B_KEY", pair, hashed).get_secret_value() == "the-first-is-sent-3k"
    assert sent_to("A_TO_B_KEY", None, SecretStr(KEY)).get_secret_value() == KEY
    with pytest.raises(ValueError, match="set A_TO_B_KEY"):
        sent_to("A_TO_B_KEY", None, hashed)


@pytest.mark.parametrize("wrong", ["short", "good-and-long-enough-1, ", "sha256:abc", "1234567890123456"])
def test_a_key_that_could_be_guessed_is_none(wrong: str) -> None:
    with pytest.raises(ValidationError):
        PAIR.validate_python(wrong)
    with pytest.raises(ValidationError):
        SERVICE_KEY.validate_python(wrong if "," not in wrong else "short")
