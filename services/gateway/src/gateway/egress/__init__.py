"""A client for untrusted addresses from users and pages: it connects to public addresses only."""

from gateway.egress.client import EgressClient, FetchedResponse, FetchLimits
from gateway.egress.errors import EgressError, EgressRefusedError, EgressUnavailableError
from gateway.egress.urls import EgressUrl, parse

__all__ = [
    "EgressClient",
    "EgressError",
    "EgressRefusedError",
    "EgressUnavailableError",
    "EgressUrl",
    "FetchLimits",
    "FetchedResponse",
    "parse",
]
