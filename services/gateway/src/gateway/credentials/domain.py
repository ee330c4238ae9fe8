"""An account with a provider, and what may be shown of its key."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pydantic import SecretStr

_SHOWN: Final = 4
_LONG: Final = 16
"""Of a key this long, its last four characters tell it from others and help nobody to guess it."""


@dataclass(frozen=True, slots=True)
class Account:
    """One that can be asked. Its key is secret wherever it is printed."""

    name: str
    kind: str
    settings: Mapping[str, Any]
    key: SecretStr | None

    @property
    def authorization(self) -> dict[str, str]:
        """The header that most providers take the key in; none if there is no key."""
        return {} if self.key is None else {"Authorization": f"Bearer {self.key.get_secret_value()}"}


@dataclass(frozen=True, slots=True)
class Described:
    """What anybody may know of one."""

    name: str
    kind: str
    settings: Mapping[str, Any]
    has_key: bool
    key_end: str | None
    key_set_at: datetime | None
    from_environment: bool


def key_end(key: str) -> str | None:
    return key[-_SHOWN:] if len(key) >= _LONG else None
