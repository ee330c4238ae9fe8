"""Keeping secrets out of what is written down: logs, spans, failures of messages, complaints.

Two ways to know one: by its surroundings (the password of a URL, a bearer token, `api_key=…`), and by itself, where the
process has been told it (`learn`). What stays is enough to see where an error came from.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from pydantic import BaseModel, SecretStr

HIDDEN: Final = "***"

# What is looked at may be long and made to be slow: each rule takes time in proportion to it. Therefore names begin where no
# other character of a name stands before them, and what could begin anywhere is of bounded length.
_START: Final = r"(?<![\w-])"
_NAME: Final = r"[\w-]*(?:passwd|password|passphrase|secret|token|(?:api|access|private|service)[_-]?key)"
_NAMED: Final = ("pass", "secret", "token", "key")
"""One of these is in every `_NAME`."""
_RULES: Final[tuple[tuple[tuple[str, ...], re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    # First what a text has some of, in small letters, where there is anything to find: every value of every log line is
    # looked at, and most have none. (No `i`: in a pattern it is also the one without a dot.) Before what is inside it:
    (
        ("-----beg",),
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
        ),
        HIDDEN,
    ),
    (
        ("author", "cook"),
        re.compile(
            r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)\b([\"']?\s*[:=]\s*(?:b?[\"'])?)[^\r\n\"',}\])]+"
        ),
        rf"\1\2{HIDDEN}",
    ),
    (("bearer",), re.compile(r"(?i)\b(bearer\s+)(?=[a-z]*[^a-z\s])[\w.~+/=-]{8,}"), rf"\1{HIDDEN}"),
    # Mistyped ones, too; the id stays, by which it can be revoked.
    (("be_",), re.compile(r"\bbe_([0-9A-Za-z]{12})_[0-9A-Za-z]{8,}"), rf"be_\1_{HIDDEN}"),
    (("://",), re.compile(r"[^\s\"'<>]+"), lambda found: _without_password(found[0])),
    (
        ("=",),
        re.compile(rf"(?i)([?&;](?:{_NAME}|key|code|sig|signature|auth|session|sid)=)[^\s&;#\"'<>)]+"),
        rf"\1{HIDDEN}",
    ),
    (_NAMED, re.compile(rf"(?i){_START}({_NAME}[\"']\s*:\s*b?[\"'])[^\"']+"), rf"\1{HIDDEN}"),
    (_NAMED, re.compile(rf"(?i){_START}({_NAME}=(?:b?[\"'])?)[^\s&;,\"'<>)}}\]]+"), rf"\1{HIDDEN}"),
    (
        ("key",),
        re.compile(rf"(?i){_START}([\w-]*key)(\s*:\s*)[^\s\"',]+"),
        lambda found: f"{found[1]}{found[2]}{HIDDEN}" if "x-" in found[1].lower() else found[0],
    ),
    (("eyj",), re.compile(r"\beyJ[\w-]{8,400}\.[\w-]{8,}\.[\w-]+"), HIDDEN),
)
_SECRET_NAME: Final = re.compile(rf"(?i)^(?:{_NAME}|(?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]*key)$")
_SHORTEST: Final = 8
_MAX_NESTING: Final = 20
_USUAL_NAME: Final = 64
"""Characters of a name that is worth remembering."""

_known: set[str] = set()
_KNOWN: list[re.Pattern[str]] = []


def learn(*secrets: str) -> None:
    """From now on these are hidden wherever they stand, also as parts of URLs are written.

    What is shorter than eight characters or a plain word is not: it would be hidden where it means something else.
    """
    worthy = {secret for secret in secrets if len(secret) >= _SHORTEST and not secret.isalpha()}
    _known.update(worthy, (quote(secret, safe="") for secret in worthy))
    if _known:
        # The longest first: one may begin with another.
        alternatives = map(re.escape, sorted(_known, key=len, reverse=True))
        _KNOWN[:] = [re.compile("|".join(alternatives))]


def learn_settings(settings: BaseModel) -> None:
    """Learns every secret field; of an address, the password."""
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, SecretStr):
            learn(*_secrets_in(value.get_secret_value()))


def _secrets_in(value: str) -> Iterator[str]:
    if "://" not in value:
        yield value
        yield from value.split(",")
        return
    try:
        password = urlsplit(value).password
    except ValueError:
        return
    if password:
        yield password
        yield unquote(password)


def _without_password(word: str) -> str:
    """Without the password of each address in it, which ends at the first @; without the user where that stands alone."""
    shown: list[str] = []
    done = begin = 0
    at = -1
    while (begin := word.find("://", begin)) >= 0:
        begin += 3
        if at < begin and (at := word.find("@", begin)) < 0:
            break
        colon, slash = word.find(":", begin, at), word.find("/", begin, at)
        if colon >= 0 and (slash < 0 or colon < slash) and colon + 1 < at:
            hidden_from = colon + 1
        elif colon < 0 and slash < 0 and begin < at:
            hidden_from = begin
        else:
            continue
        shown += (word[done:hidden_from], HIDDEN)
        done = begin = at
    return "".join((*shown, word[done:]))


def text(value: str) -> str:
    """The same without what is known or looks like a secret."""
    for pattern in _KNOWN:
        value = pattern.sub(HIDDEN, value)
    small = value.casefold()
    for signs, pattern, replacement in _RULES:
        for sign in signs:
            if sign in small:
                value = pattern.sub(replacement, value)
                break
    return value


def anything(value: Any, depth: int = 0) -> Any:
    """The same for texts in dictionaries and lists; what is called `password`, `Authorization` and the like is hidden whole."""
    if depth > _MAX_NESTING:
        return value
    match value:
        case str():
            return text(value)
        case Mapping():
            return {
                name: HIDDEN
                if isinstance(item, str | bytes) and isinstance(name, str) and _names_a_secret(name)
                else anything(item, depth + 1)
                for name, item in value.items()
            }
        case list() | tuple():
            return [anything(item, depth + 1) for item in value]
        case _:
            return value


def _names_a_secret(name: str) -> bool:
    # Every line of the log has the same few names, and a strange one may be of any length.
    return _is_secret(name) if len(name) <= _USUAL_NAME else _SECRET_NAME.match(name) is not None


@lru_cache(maxsize=1024)
def _is_secret(name: str) -> bool:
    return _SECRET_NAME.match(name) is not None
