"""Hides what may be secret or a person's in the bodies of dead letters, for those who may not see them in full. Pure.

Hidden are fields that the message models mark (`envelope.MASKED`), fields of certain names in messages of any type, and
secrets and mail addresses inside texts. It rather hides too much: a body in full needs the scope `repair`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_core import from_json

from chassis import redaction
from envelope.brand import CATALOGUE
from envelope.masking import masked_fields

RULES: Final = 1
"""Version of the rules; bodies that an earlier one masked are masked again."""
MOST_PATHS: Final = 50
"""Hidden places that are listed."""
_HIDDEN: Final = redaction.HIDDEN
_MAX_NESTING: Final = 20
_LONGEST_NAME: Final = 100
_MARKED: Final = masked_fields(CATALOGUE)
_PEOPLE: Final = (
    "birthdate", "birthday", "dateofbirth", "email", "emailaddress", "familyname", "firstname", "fullname", "givenname",
    "iban", "ipaddress", "lastname", "mobile", "phone", "phonenumber", "recipient", "recipients", "streetaddress", "surname",
    "telephone", "username",
)  # fmt: skip
"""Names without `_` and `-`; a longer name may end with one."""
_ADDRESS: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_MEMBER: Final = re.compile(r'"([\w-]{1,100})"(\s{0,20}:\s{0,20})"((?:[^"\\]|\\.){0,20000})"?')
"""A member of an object in a text that is no whole JSON."""


@dataclass(slots=True)
class MaskedDocument:
    """A JSON value without what is hidden, and where that was, such as `payload.comment`."""

    value: Any
    paths: list[str] = field(default_factory=list)


def mask(document: Any) -> MaskedDocument:
    found = MaskedDocument(None)
    found.value = _masked(document, "", 0, found.paths)
    return found


def mask_text(text: str) -> str:
    """Masks a text that is no JSON, or only the beginning of it."""
    text = _MEMBER.sub(lambda each: _member(each) if _is_hidden(each[1]) else each[0], text)
    return _clean(text)


def masked_body(body: bytes) -> bytes | None:
    """The body as it is shown; None if nothing in it is hidden."""
    try:
        found = mask(from_json(body, allow_inf_nan=False))
        if not found.paths:
            return None
        return json.dumps(found.value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    except ValueError:  # no JSON, or a number of more digits than Python writes
        text = body.decode(errors="replace")
        masked = mask_text(text)
        return None if masked == text else masked.encode(errors="replace")


def _masked(value: Any, path: str, depth: int, paths: list[str]) -> Any:
    if depth > _MAX_NESTING:
        return _hide(path, paths)
    match value:
        case str():
            cleaned = _clean(value)
            if cleaned != value:
                _hide(path, paths)
            return cleaned
        case Mapping():
            return dict(_members(value, path, depth, paths))
        case list():
            return [_masked(each, f"{path}[{place}]", depth + 1, paths) for place, each in enumerate(value)]
        case _:
            return value


def _members(value: Mapping[str, Any], path: str, depth: int, paths: list[str]) -> Iterator[tuple[str, Any]]:
    for name, each in value.items():
        inner = f"{path}.{name[:_LONGEST_NAME]}" if path else name[:_LONGEST_NAME]
        # Nothing is hidden where nothing is.
        if each is not None and each not in ("", [], {}) and _is_hidden(name):
            yield name, _hide(inner, paths)
        else:
            yield name, _masked(each, inner, depth + 1, paths)


def _hide(path: str, paths: list[str]) -> str:
    if len(paths) < MOST_PATHS:
        paths.append(path)
    return _HIDDEN


def _is_hidden(name: str) -> bool:
    if name in _MARKED or redaction.names_a_secret(name):
        return True
    return name[-_LONGEST_NAME:].lower().replace("_", "").replace("-", "").endswith(_PEOPLE)


def _member(found: re.Match[str]) -> str:
    return f'"{found[1]}"{found[2]}"{_HIDDEN}"'


def _clean(text: str) -> str:
    text = redaction.text(text)
    return _ADDRESS.sub(_HIDDEN, text) if "@" in text else text
