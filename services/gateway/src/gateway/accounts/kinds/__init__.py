"""One module for each kind of account: its authentication, the allowed requests, and how to read answers.

The settings for connecting one, and its provider's address, are in `integrations`.
"""

from collections.abc import Mapping
from typing import Final

from gateway.accounts.kind import AccountKind
from integrations.discovery import find_classes

KINDS: Final[Mapping[str, AccountKind]] = {
    kind.name: kind for kind in (found() for found in find_classes(__name__, AccountKind))
}
"""All of them by name."""

__all__ = ["KINDS"]
