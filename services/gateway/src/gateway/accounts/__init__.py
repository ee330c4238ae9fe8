"""Accounts of brands with others: where articles, posts and notifications go. Services name an account, and see no credentials."""

from gateway.accounts.apps import Apps
from gateway.accounts.asking import AskingAccounts
from gateway.accounts.health import Health
from gateway.accounts.registry import Registry
from gateway.accounts.renewing import Renewing
from gateway.accounts.sending import Sender

__all__ = ["Apps", "AskingAccounts", "Health", "Registry", "Renewing", "Sender"]
