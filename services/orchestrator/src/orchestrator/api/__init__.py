"""The HTTP API as one application."""

from orchestrator.api.application import http_api
from orchestrator.api.keys import RequestAuthenticator

__all__ = ["RequestAuthenticator", "http_api"]
