"""Keys of those who call the API: made, shown once, rotated, revoked; and who it is that sends one."""

from orchestrator.api.keys.callers import KnownCallers
from orchestrator.api.keys.quotas import KeyQuotas
from orchestrator.api.keys.routes import SHOWN_ONCE, key_routes

__all__ = ["SHOWN_ONCE", "KeyQuotas", "KnownCallers", "key_routes"]
