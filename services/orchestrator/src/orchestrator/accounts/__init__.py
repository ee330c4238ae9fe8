"""Which accounts of the brands need a person: asked of the gateway every hour, and kept for audits."""

from orchestrator.accounts.store import AccountInTrouble, accounts_in_trouble, trouble_with_accounts
from orchestrator.accounts.watching import Watching

__all__ = ["AccountInTrouble", "Watching", "accounts_in_trouble", "trouble_with_accounts"]
