"""Accounts of brands with others: where articles, posts and notifications go. Services name an account, and see no credentials."""

from gateway.accounts.asking import AskingAccounts
from gateway.accounts.authorizing import Authorizing
from gateway.accounts.domain import State
from gateway.accounts.health import Health
from gateway.accounts.kinds import KINDS
from gateway.accounts.mail import Mailing
from gateway.accounts.oauth import Apps
from gateway.accounts.registry import Registry
from gateway.accounts.renewing import Renewing
from gateway.accounts.sending import Sender
from gateway.accounts.store import count as count_accounts
from gateway.accounts.turns import Turns

__all__ = [
    "KINDS",
    "Apps",
    "AskingAccounts",
    "Authorizing",
    "Health",
    "Mailing",
    "Registry",
    "Renewing",
    "Sender",
    "State",
    "Turns",
    "count_accounts",
]
