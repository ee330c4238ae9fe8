"""Kinds of accounts that are connected by an OAuth log-in, and this installation's OAuth apps."""

from gateway.accounts.oauth.apps import OAuthApp, OAuthApps
from gateway.accounts.oauth.graph import GraphKind
from gateway.accounts.oauth.login import OAuthCredentials, OAuthKind

__all__ = ["GraphKind", "OAuthApp", "OAuthApps", "OAuthCredentials", "OAuthKind"]
