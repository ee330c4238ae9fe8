"""Calls that may cost something: each made once, paid once, and answered to all who asked for it."""

from gateway.calls.asking import ask
from gateway.calls.domain import Asked, fingerprint
from gateway.calls.paying import Answer, Paying

__all__ = ["Answer", "Asked", "Paying", "ask", "fingerprint"]
