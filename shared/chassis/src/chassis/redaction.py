"""Keeping secrets out of what is written down: logs, spans, failures of messages, complaints.

Two ways to know one: by its surroundings (the password of a URL, a bearer token, `api_key=…`), and by itself, where the
process has been told it (`learn`). What stays is enough to see where an error came from.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from pydantic import BaseModel, SecretStr

HIDDEN: Final = "***"

_NAME: Final = r"[\w-]*(?:passwd|password|passphrase|secret|token|(?:api|access|private|service)[_-]?key)"
_RULES: Final = (
    # Before what is inside it.
    (
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
        ),
        HIDDEN,
    ),
    (
        re.compile(
            r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)\b([\"']?\s*[:=]\s*(?:b?[\"'])?)[^\r\n\"',}\])]+"
        ),
        rf"\1\2{HIDDEN}",
    ),
    (re.compile(r"(?i)\b(bearer\s+)(?=[a-z]*[^a-z\s])[\w.~+/=-]{8,}"), rf"\1{HIDDEN}"),
    # The user stays. A password that was not percent-encoded may have any character but an @.
    (re.compile(r"(?i)(\b[a-z][a-z0-9+.-]*://[^\s/@:\"'<>]*:)[^\s@\"'<>]+(?=@)"), rf"\1{HIDDEN}"),
    (re.compile(r"(?i)(\b[a-z][a-z0-9+.-]*://)[^\s/@:\"'<>]+(?=@)"), rf"\1{HIDDEN}"),
    (
        re.compile(rf"(?i)([?&;](?:{_NAME}|key|code|sig|signature|auth|session|sid)=)[^\s&;#\"'<>)]+"),
        rf"\1{HIDDEN}",
    ),
    (re.compile(rf"(?i)\b({_NAME}[\"']\s*:\s*b?[\"'])[^\"']+"), rf"\1{HIDDEN}"),
    (re.compile(rf"(?i)\b({_NAME}=(?:b?[\"'])?)[^\s&;,\"'<>)}}\]]+"), rf"\1{HIDDEN}"),
    (re.compile(r"(?i)\b(x-[\w-]*key\s*:\s*)[^\s\"',]+"), rf"\1{HIDDEN}"),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+"), HIDDEN),
)
_SECRET_NAME: Final = re.compile(rf"(?i)^(?:{_NAME}|(?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]*key)$")
_SHORTEST: Final = 8
_MAX_NESTING: Final = 20

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
        return
    try:
        password = urlsplit(value).password
    except ValueError:
        return
    if password:
        yield password
        yield unquote(password)


def text(value: str) -> str:
    """The same without what is known or looks like a secret."""
    for pattern in _KNOWN:
        value = pattern.sub(HIDDEN, value)
    for pattern, replacement in _RULES:
        value = pattern.sub(replacement, value)
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
                if isinstance(name, str) and isinstance(item, str | bytes) and _SECRET_NAME.match(name)
                else anything(item, depth + 1)
                for name, item in value.items()
            }
        case list() | tuple():
            return [anything(item, depth + 1) for item in value]
        case _:
            return value
