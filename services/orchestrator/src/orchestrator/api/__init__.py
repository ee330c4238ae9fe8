"""The HTTP API as one application."""

from orchestrator.api.application import http_api

__all__ = ["http_api"]
