"""API keys at a service that keeps none: who has one is asked of the service that does."""

from chassis.http.introspection.asking import KEY_HASH, KeysKeptElsewhere, callers_by_key
from chassis.http.introspection.quotas import ReplicaQuotas

__all__ = ["KEY_HASH", "KeysKeptElsewhere", "ReplicaQuotas", "callers_by_key"]
