"""Kinds whose access is got by logging in with the provider, and what each provider knows this installation by."""

from gateway.accounts.oauth.apps import App, Apps
from gateway.accounts.oauth.graph import GraphKind
from gateway.accounts.oauth.login import OAuthCredentials, OAuthKind

__all__ = ["App", "Apps", "GraphKind", "OAuthCredentials", "OAuthKind"]
