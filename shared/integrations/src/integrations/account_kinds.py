"""Every kind of account that can be connected, by name."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from integrations.account import Account
from integrations.discovery import find_entries

_PACKAGES: Final = ("integrations.networks", "integrations.sites", "integrations.notices")
ACCOUNT_KINDS: Final[Mapping[str, Account]] = {
    account.kind: account
    for account in sorted(
        (account for package in _PACKAGES for _, account in find_entries(package, Account)),
        key=lambda account: account.kind,
    )
}
"""Sorted by name."""
LOGIN_KINDS: Final = tuple(name for name, account in ACCOUNT_KINDS.items() if account.login is not None)
"""Those that a person connects by a log-in."""

if TYPE_CHECKING:
    AccountKindName: TypeAlias = str
    LoginKindName: TypeAlias = str
else:
    AccountKindName = Literal[tuple(ACCOUNT_KINDS)]
    LoginKindName = Literal[LOGIN_KINDS]
