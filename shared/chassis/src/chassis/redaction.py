"""Hides secrets in logs, spans, message failures and error texts.

It recognises secrets by context (the password of a URL, a bearer token, `api_key=…`) and by value (`learn`). The rest of the
text stays, so that the origin of an error remains visible.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from pydantic import BaseModel, SecretStr

HIDDEN: Final = "***"

# Texts may be long and hostile, so each rule takes linear time: names match only at their beginning, and patterns that could
# begin anywhere have a bounded length.
_START: Final = r"(?<![\w-])"
_NAME: Final = r"[\w-]*(?:passwd|password|passphrase|secret|token|(?:api|access|private|service)[_-]?key)"
_NAMED: Final = ("pass", "secret", "token", "key")
"""Every `_NAME` contains one of these."""
_RULES: Final[tuple[tuple[tuple[str, ...], re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    # Each rule begins with lower-case texts; the pattern runs only if one of them occurs, as most log values have none.
    # (No `i`: in a pattern it also matches the dotless one.) Rules come before those for parts of their matches:
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
    # Mistyped ones, too; the id stays, so that an operator can revoke the key.
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
"""Characters of a name; longer names are not cached."""

_known: set[str] = set()
_KNOWN: list[re.Pattern[str]] = []


def learn(*secrets: str) -> None:
    """Hide these secrets from now on, in plain and in percent-encoded form.

    Secrets with fewer than eight characters or of letters alone are ignored: they would hide ordinary words.
    """
    worthy = {secret for secret in secrets if len(secret) >= _SHORTEST and not secret.isalpha()}
    _known.update(worthy, (quote(secret, safe="") for secret in worthy))
    if _known:
        # The longest first: one may begin with another.
        alternatives = map(re.escape, sorted(_known, key=len, reverse=True))
        _KNOWN[:] = [re.compile("|".join(alternatives))]


def learn_settings(settings: BaseModel) -> None:
    """Learn every secret field; of an address, only the password."""
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
    """Hide the password of each address in a word, up to the first @, or the user if there is no password."""
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
    """Return the text with all known and likely secrets hidden."""
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
    """Hide secrets in texts of nested dictionaries and lists; values named `password`, `Authorization` etc. are hidden whole."""
    if depth > _MAX_NESTING:
        return value
    match value:
        case str():
            return text(value)
        case Mapping():
            return {
                name: HIDDEN
                if isinstance(item, str | bytes) and isinstance(name, str) and names_a_secret(name)
                else anything(item, depth + 1)
                for name, item in value.items()
            }
        case list() | tuple():
            return [anything(item, depth + 1) for item in value]
        case _:
            return value


def names_a_secret(name: str) -> bool:
    """Return whether values of this name are hidden whole."""
    # Log lines share the same few names, which are cached; long ones are not.
    return _is_secret(name) if len(name) <= _USUAL_NAME else _SECRET_NAME.match(name) is not None


@lru_cache(maxsize=1024)
def _is_secret(name: str) -> bool:
    return _SECRET_NAME.match(name) is not None
