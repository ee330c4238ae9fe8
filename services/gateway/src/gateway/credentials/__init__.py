"""Accounts with providers. Keys are encrypted on arrival, and decrypted just before a request."""

from gateway.credentials.accounts import ProviderAccounts
from gateway.credentials.domain import ProviderAccount, ProviderAccountSummary
from gateway.credentials.keyring import Keyring

__all__ = ["Keyring", "ProviderAccount", "ProviderAccountSummary", "ProviderAccounts"]
