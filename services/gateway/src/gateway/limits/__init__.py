"""Rate limits of providers and accounts, shared by brands and replicas; they follow the providers' own limits."""

from gateway.limits.domain import Permit, PermitDelay, RateLimits
from gateway.limits.rate_limiter import RateLimiter, list_closed

__all__ = ["Permit", "PermitDelay", "RateLimiter", "RateLimits", "list_closed"]
