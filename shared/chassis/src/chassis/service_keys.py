"""How the keys of `X-Service-Key` are written in settings: a key, several of a pair with commas between them, or the hash of a key."""

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
    """Whether somebody can tell the key by it, and not send it."""
    return _HASH.fullmatch(key.get_secret_value()) is not None


def hash_of(key: SecretStr) -> bytes:
    """SHA-256 of a key that is given, or whose hash is given."""
    text = key.get_secret_value()
    found = _HASH.fullmatch(text)
    return bytes.fromhex(found[1]) if found else hashlib.sha256(text.encode()).digest()


def keys_of(keys: SecretStr) -> tuple[str, ...]:
    """The keys of a pair; the first is the one that is sent, all of them open."""
    return tuple(part.strip() for part in keys.get_secret_value().split(","))


def sent_to(name: str, pair: SecretStr | None, service_key: SecretStr) -> SecretStr:
    """The key that another process is sent: the pair's own, or the service key where there is none.

    Raises:
        ValueError: of neither there is more than a hash; `name` is what to set.
    """
    if pair is not None:
        return SecretStr(keys_of(pair)[0])
    if is_hash(service_key):
        raise ValueError(f"SERVICE_KEY is a hash, with which nobody can be asked: set {name}")
    return service_key


def _checked(text: str) -> None:
    """What a header can carry unchanged, and what is not the first thing to try."""
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
"""A key of at least 16 visible ASCII characters, and no trivial one; or `sha256:` and the hash of one in hexadecimal."""
PairKeysText = Annotated[SecretStr | None, AfterValidator(_pair_keys)]
"""One or several such keys with commas between them; None: there are none."""
