"""Accounts with providers: their keys are sealed when they come in, and opened where a request is about to leave."""

from gateway.credentials.accounts import Accounts
from gateway.credentials.domain import Account, Described
from gateway.credentials.keyring import Keyring

__all__ = ["Account", "Accounts", "Described", "Keyring"]
