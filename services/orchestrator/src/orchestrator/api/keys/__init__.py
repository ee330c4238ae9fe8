"""API keys: created, shown once, rotated, revoked, and resolved to their callers."""

from orchestrator.api.keys.callers import KeyHolders, RequestAuthenticator
from orchestrator.api.keys.quotas import KeyQuotas
from orchestrator.api.keys.routes import SHOWN_ONCE, key_routes

__all__ = ["SHOWN_ONCE", "KeyHolders", "KeyQuotas", "RequestAuthenticator", "key_routes"]
