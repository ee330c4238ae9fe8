"""Brands' accounts at other sites and networks. A service names an account; the gateway alone sees its credentials."""

from gateway.accounts.caller import AccountCaller
from gateway.accounts.domain import AccountState
from gateway.accounts.handovers import AccountHandovers
from gateway.accounts.health import AccountHealthChecker
from gateway.accounts.kinds import KINDS
from gateway.accounts.login_flow import LoginFlow
from gateway.accounts.mail import AccountMailer
from gateway.accounts.oauth import OAuthApps
from gateway.accounts.rate_limiter import AccountRateLimiter
from gateway.accounts.registry import AccountRegistry
from gateway.accounts.renewal import CredentialRenewal
from gateway.accounts.sender import RequestSender
from gateway.accounts.store import count as count_accounts

__all__ = [
    "KINDS",
    "AccountCaller",
    "AccountHandovers",
    "AccountHealthChecker",
    "AccountMailer",
    "AccountRateLimiter",
    "AccountRegistry",
    "AccountState",
    "CredentialRenewal",
    "LoginFlow",
    "OAuthApps",
    "RequestSender",
    "count_accounts",
]
