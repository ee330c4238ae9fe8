"""Paid calls to providers: each is made once, charged once, and its answer shared by identical requests."""

from gateway.calls.domain import CallRequest, fingerprint
from gateway.calls.paid_calls import CallAnswer, PaidCalls
from gateway.calls.provider import ProviderCaller

__all__ = ["CallAnswer", "CallRequest", "PaidCalls", "ProviderCaller", "fingerprint"]
