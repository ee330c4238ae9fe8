"""Contents of the page of providers, made from the gateway's answers. Pure: no I/O."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from integrations.model_providers import MODEL_PROVIDERS
from integrations.providers import PROVIDER_KINDS
from integrations.search_engines import SEARCH_ENGINES

KINDS: Final = PROVIDER_KINDS
_MODEL_FIELDS: Final = ("url", "model", "read_price", "written_price")
_SEARCH_FIELDS: Final = ("url", "price")


@dataclass(frozen=True, slots=True)
class ProviderLine:
    """A connected provider."""

    name: str
    kind: str
    url: str
    what: str
    """The model, if it is one."""
    key: str
    """`set`, `none`, or the last characters of a long one."""
    may_change: bool
    """False for one that environment variables name."""


def provider_line(provider: Mapping[str, Any]) -> ProviderLine:
    """Returns the line of a provider as the gateway lists it."""
    end = provider["key_end"]
    return ProviderLine(
        provider["name"],
        provider["kind"],
        str(provider["settings"].get("url", "")),
        str(provider["settings"].get("model", "")),
        f"…{end}" if provider["has_key"] and end else "set" if provider["has_key"] else "none",
        not provider["from_environment"],
    )


def fields_of(kind: str) -> tuple[str, ...]:
    """Returns the settings that the form asks for; all others take the gateway's defaults."""
    if kind in MODEL_PROVIDERS:
        return _MODEL_FIELDS
    engine = SEARCH_ENGINES[kind]
    return _SEARCH_FIELDS if engine.url is None else _SEARCH_FIELDS[1:]


def settings_of(kind: str, typed: Callable[[str], str]) -> dict[str, str]:
    """Returns the settings that were typed; empty fields are left out."""
    return {name: text for name in fields_of(kind) if (text := typed(name))}
