"""How much each provider may be asked: shared by brands and replicas, and obeying what the provider says."""

from gateway.limits.domain import Bounds, Go, Wait
from gateway.limits.gates import Gates, closed

__all__ = ["Bounds", "Gates", "Go", "Wait", "closed"]
