"""Queues and their consumers."""

from collections.abc import Mapping

from envelope.brand import SERVICES

_MORE: Mapping[str, tuple[str, ...]] = {"orchestrator": ("orchestrator-events",), "monitor": (".+-dlq",)}
QUEUES: Mapping[str, str] = {name: "|".join((f"{name}-commands", *_MORE.get(name, ()))) for name in SERVICES}
"""Service → the queues it consumes, as a pattern."""
JOBS = "|".join(QUEUES)
