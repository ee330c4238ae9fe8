"""The HTTP API as one application."""

from orchestrator.api.application import http_api
from orchestrator.api.keys import KnownCallers

__all__ = ["KnownCallers", "http_api"]
