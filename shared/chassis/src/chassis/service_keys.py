"""Keys of `X-Service-Key` in settings: one key, comma-separated keys of a pair, or the hash of a key."""

import hashlib
import re
from itertools import pairwise
from typing import Annotated, Final

from pydantic import AfterValidator, SecretStr

_HASH: Final = re.compile(r"sha256:([0-9a-f]{64})")
_HOW_TO_MAKE_A_KEY: Final = "make one with `openssl rand -hex 24` and give it to both sides"
_SHORTEST_KEY: Final = 16
_FEWEST_DIFFERENT: Final = 6


def is_hash(key: SecretStr) -> bool:
    """Return whether the setting is a hash, which can check the key but not send it."""
    return _HASH.fullmatch(key.get_secret_value()) is not None


def hash_of(key: SecretStr) -> bytes:
    """Return the SHA-256 of the key, from the key or from its `sha256:…` form."""
    text = key.get_secret_value()
    found = _HASH.fullmatch(text)
    return bytes.fromhex(found[1]) if found else hashlib.sha256(text.encode()).digest()


def keys_of(keys: SecretStr) -> tuple[str, ...]:
    """Split the keys of a pair: the client sends the first, the server accepts all."""
    return tuple(part.strip() for part in keys.get_secret_value().split(","))


def sent_to(name: str, pair: SecretStr | None, service_key: SecretStr) -> SecretStr:
    """Return the key to send to another process: the first of the pair, else the service key.

    Raises:
        ValueError: there is no pair key, and SERVICE_KEY is a hash; the message says to set `name`.
    """
    if pair is not None:
        return SecretStr(keys_of(pair)[0])
    if is_hash(service_key):
        raise ValueError(f"SERVICE_KEY is a hash, with which nobody can be asked: set {name}")
    return service_key


def _checked(text: str) -> None:
    """Raise ValueError for a key that is short, guessable, or unfit for a header."""
    if len(text) < _SHORTEST_KEY:
        raise ValueError(f"has fewer than {_SHORTEST_KEY} characters; {_HOW_TO_MAKE_A_KEY}")
    if not all("!" <= char <= "~" for char in text):
        raise ValueError(
            f"has other characters than visible ASCII, which a header cannot carry; {_HOW_TO_MAKE_A_KEY}"
        )
    steps = [ord(after) - ord(before) for before, after in pairwise(text)]
    runs = sum(step in {-1, 0, 1} for step in steps) > len(steps) / 2  # 1234567890…, aaaabbbb…
    repeats = text in (text + text)[1:-1]  # change-mechange-me
    if runs or repeats or len(set(text)) < _FEWEST_DIFFERENT:
        raise ValueError(f"is easily guessed; {_HOW_TO_MAKE_A_KEY}")


def _service_key(key: SecretStr) -> SecretStr:
    if not is_hash(key):
        _checked(key.get_secret_value())
    return key


def _pair_keys(keys: SecretStr | None) -> SecretStr | None:
    for key in () if keys is None else keys_of(keys):
        _checked(key)
    return keys


ServiceKeyText = Annotated[SecretStr, AfterValidator(_service_key)]
"""A non-trivial key of at least 16 visible ASCII characters, or `sha256:` and its hash in hexadecimal."""
PairKeysText = Annotated[SecretStr | None, AfterValidator(_pair_keys)]
"""One or several such keys, comma-separated; None: no keys."""
