"""What a brand defines for an incoming webhook, and how a body becomes the data of a command. Pure: no I/O."""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

MOST_VALUES: Final = 50
"""Fields and entries of `data`, nested ones included."""
MOST_DEPTH: Final = 6
MOST_CHARACTERS: Final = 2_000
"""Of a constant."""
_FROM: Final = frozenset({"from", "default"})


class HookKind(StrEnum):
    """How a sender proves who it is."""

    STANDARD = "standard"
    """Signatures of Standard Webhooks (`webhook-signature`)."""
    GITHUB = "github"
    """GitHub's signatures (`X-Hub-Signature-256`)."""
    PATH = "path"
    """A secret at the end of the address, for senders that sign nothing."""


def _checked_data(data: dict[str, Any]) -> dict[str, Any]:
    if "brand_slug" in data:
        raise ValueError("brand_slug is that of the hook's brand; leave it out")
    for count, (value, depth) in enumerate(_walk(data, 0)):
        if count > MOST_VALUES:
            raise ValueError(f"has more than {MOST_VALUES} fields and entries")
        if depth > MOST_DEPTH:
            raise ValueError(f"is nested more than {MOST_DEPTH} deep")
        if isinstance(value, str) and len(value) > MOST_CHARACTERS:
            raise ValueError(f"has a text of more than {MOST_CHARACTERS:,} characters")
        if isinstance(value, str) and "\0" in value:
            raise ValueError("has a text with the character U+0000")
        if isinstance(value, dict) and "from" in value:
            _check_reference(value)
    return data


def _check_reference(value: Mapping[str, Any]) -> None:
    if not isinstance(value["from"], str) or not re.fullmatch(POINTER, value["from"]):
        raise ValueError("`from` must be a JSON pointer, such as '/article/title'")
    if further := sorted(value.keys() - _FROM):
        raise ValueError(
            f"beside `from` there may be `default`, and not {', '.join(map(repr, further))[:100]}"
        )


def _walk(value: Any, depth: int) -> Iterator[tuple[Any, int]]:
    yield value, depth
    # No deeper than what is refused above.
    if depth > MOST_DEPTH:
        return
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inside:
        yield from _walk(each, depth + 1)


POINTER: Final = r"^(/([^~/\x00]|~[01])*){1,10}$"
"""A JSON pointer (RFC 6901) of up to ten parts."""
Pointer = Annotated[str, StringConstraints(pattern=POINTER, max_length=300)]
Constant = Annotated[str, StringConstraints(max_length=MOST_CHARACTERS)] | int | float | bool | None


class HookDefinition(BaseModel):
    """What an incoming webhook does."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["cycle.start", "brand.audit"] = Field(
        description="The command that a body becomes.", examples=["cycle.start"]
    )
    data: Annotated[dict[str, Any], AfterValidator(_checked_data)] = Field(
        default={},
        description='Data of the command without `brand_slug`: constants, and `{"from": "/json/pointer", "default": …}` for values of the body.',
        examples=[{"keywords": [{"from": "/article/title"}], "priority": "high"}],
    )
    when: dict[Pointer, Constant] = Field(
        default={},
        max_length=10,
        description="Bodies whose values at these JSON pointers differ are ignored.",
        examples=[{"/action": "published"}],
    )
    events: list[Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,100}$")]] | None = Field(
        default=None,
        max_length=50,
        description="Of the kind `github`: only these values of `X-GitHub-Event`; null: all.",
    )


class MissingValueError(ValueError):
    """The body lacks a value that the definition takes from it; the text names it."""


_ABSENT: Final = object()


def is_wanted(definition: HookDefinition, body: Any, event: str | None) -> bool:
    """Whether the definition takes this body; `event` is `X-GitHub-Event`."""
    if definition.events is not None and event not in definition.events:
        return False
    return all(_is_same(value_at(body, place), value) for place, value in definition.when.items())


def _is_same(found: object, wanted: object) -> bool:
    # True is no 1 here, as in JSON.
    return found == wanted and isinstance(found, bool) == isinstance(wanted, bool)


def command_data(definition: HookDefinition, brand: str, body: Any) -> dict[str, Any]:
    """The data of the command.

    Raises:
        MissingValueError: the body lacks a value without a default.
    """
    filled = _filled(definition.data, body)
    assert isinstance(filled, dict)
    return filled | {"brand_slug": brand}


def _filled(template: Any, body: Any) -> Any:
    if isinstance(template, dict):
        if "from" in template:
            found = value_at(body, template["from"])
            if found is _ABSENT:
                if "default" not in template:
                    raise MissingValueError(f"the body has no value at {template['from']}")
                return template["default"]
            return found
        return {name: _filled(each, body) for name, each in template.items()}
    if isinstance(template, list):
        return [_filled(each, body) for each in template]
    return template


def value_at(body: Any, pointer: str) -> Any:
    """The value at a JSON pointer; a value of its own kind if there is none."""
    found = body
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(name, _ABSENT)
        elif isinstance(found, list) and re.fullmatch("0|[1-9][0-9]{0,5}", name):
            found = found[int(name)] if int(name) < len(found) else _ABSENT
        else:
            return _ABSENT
    return found
