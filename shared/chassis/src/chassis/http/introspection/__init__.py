"""Authentication with API keys in services without a key database: they ask the service that has it."""

from chassis.http.introspection.key_lookup import KEY_HASH, IntrospectedKeys, callers_by_key
from chassis.http.introspection.quotas import ReplicaQuotas

__all__ = ["KEY_HASH", "IntrospectedKeys", "ReplicaQuotas", "callers_by_key"]
