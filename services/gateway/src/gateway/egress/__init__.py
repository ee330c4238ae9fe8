"""The guarded way out: for addresses that come from users and pages, and may therefore lead anywhere."""

from gateway.egress.client import Egress, Fetched, Limits
from gateway.egress.errors import EgressError, PassingError, RefusedError
from gateway.egress.urls import Target, parse

__all__ = ["Egress", "EgressError", "Fetched", "Limits", "PassingError", "RefusedError", "Target", "parse"]
