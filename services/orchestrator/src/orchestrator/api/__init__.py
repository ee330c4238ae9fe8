"""The HTTP API as one application."""

from orchestrator.api.application import http_api
from orchestrator.api.keys import KeyHolders, RequestAuthenticator

__all__ = ["KeyHolders", "RequestAuthenticator", "http_api"]
