"""Metrics of incoming webhooks: how many wait and since when, and how many were refused, by reason."""

from collections.abc import Callable
from typing import Final

from prometheus_client.core import Metric

from chassis import Connection
from chassis.http.problem_codes import BODY_TOO_LARGE, TOO_MANY_REQUESTS, UNSUPPORTED_MEDIA_TYPE
from chassis.observing.metrics import Metrics
from events import problem_codes as codes
from events.incoming_hooks import store

CountRefusal = Callable[[str], None]
"""Counts a refused request by its code."""
_AT_THE_DOOR: Final = (
    codes.UNKNOWN_HOOK,
    codes.SIGNATURE_INVALID,
    codes.HOOK_STALE,
    codes.BODY_NOT_MAPPED,
    BODY_TOO_LARGE,
    TOO_MANY_REQUESTS,
    UNSUPPORTED_MEDIA_TYPE,
)


def uncounted(_: str) -> None:
    """Counts nothing."""


def add_hook_metrics(metrics: Metrics) -> CountRefusal:
    """Adds the metrics to those of the process; what it returns counts a refusal, here or by the orchestrator."""
    refused = metrics.counter(
        "hook_requests_refused",
        "Requests to incoming webhooks that were refused, by the code of the refusal.",
        "reason",
        values=[(each.code,) for each in _AT_THE_DOOR],
    )

    async def sample(connection: Connection) -> list[Metric]:
        waiting, age = await store.read_backlog(connection)
        families = metrics.families
        return [
            families.value(
                "hook_requests_waiting",
                "Requests to incoming webhooks that wait for the orchestrator, up to 100,000.",
                waiting,
            ),
            families.value(
                "hook_requests_oldest_waiting_seconds", "Age of the oldest of them; 0 without one.", age
            ),
        ]

    metrics.add_sample(sample)
    return lambda reason: refused.labels(reason).inc()
