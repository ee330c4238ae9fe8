"""Queues and their consumers."""

from collections.abc import Mapping

QUEUES: Mapping[str, str] = {
    "orchestrator": "orchestrator-commands|orchestrator-events",
    "research": "research-commands",
    "publisher": "publisher-commands",
    "social": "social-commands",
    "monitor": "monitor-commands|.+-dlq",
}
"""Service → the queues it consumes, as a pattern."""
JOBS = "|".join(QUEUES)
