"""Accounts that a person has to reconnect: fetched from the gateway every hour, and stored for audits."""

from orchestrator.accounts.poller import AccountHealthPoller
from orchestrator.accounts.store import AccountInTrouble, accounts_in_trouble, trouble_with_accounts

__all__ = ["AccountHealthPoller", "AccountInTrouble", "accounts_in_trouble", "trouble_with_accounts"]
