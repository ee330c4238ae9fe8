"""A provider account, and the part of its key that may be shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pydantic import SecretStr

_SHOWN: Final = 4
_LONG: Final = 16
"""Keys of this length show their last four characters: enough to recognize, too few to guess."""


@dataclass(frozen=True, slots=True)
class ProviderAccount:
    """A provider account with its key, which prints masked."""

    name: str
    kind: str
    settings: Mapping[str, Any]
    key: SecretStr | None
    address_of_operator: bool = True
    """Whether the operator gave its address, by the environment or with the service key: then it may be a private one."""

    @property
    def authorization(self) -> dict[str, str]:
        """A bearer header with the key; empty without a key."""
        return {} if self.key is None else {"Authorization": f"Bearer {self.key.get_secret_value()}"}


@dataclass(frozen=True, slots=True)
class ProviderAccountSummary:
    """A provider account without its key, as shown to operators."""

    name: str
    kind: str
    settings: Mapping[str, Any]
    has_key: bool
    key_end: str | None
    key_set_at: datetime | None
    from_environment: bool


def key_end(key: str) -> str | None:
    return key[-_SHOWN:] if len(key) >= _LONG else None
