"""The message metrics of a service under `/metrics`: its counts, and samples of the outbox.

`docs/operations` lists the metrics, their alerts and the remedy for each.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from chassis.database.pool import Connection
from chassis.observing.metrics import Families
from messaging.flow.dependencies import Dependency
from messaging.flow.relay import Relay
from messaging.flow.runner import QueueRunner
from messaging.headers import Reason
from messaging.observing.counting import PUBLISH_FAILURES, Histogram

COUNT_LIMIT: Final = 100_000
"""Rows of the outbox counted at most: a larger backlog shows as this many."""

# In the order of an index, which holds what is there and nothing of what a backlog of yesterday left behind.
_SAMPLE: Final = """
    with waiting as (select deliver_at from outbox order by due_at limit $1)
    select count(*) as depth,
           coalesce(extract(epoch from clock_timestamp() - min(deliver_at)
                                         filter (where deliver_at <= clock_timestamp())), 0)::float8 as oldest_age,
           (select coalesce(sum(pg_stat_get_live_tuples(inhrelid)), 0)::bigint
            from pg_inherits where inhparent = 'processed_events'::regclass) as inbox_rows
    from waiting
"""


class MessageMetrics(Collector):
    """Metrics of the messages of one service."""

    def __init__(
        self,
        families: Families,
        relay: Relay,
        runners: Sequence[QueueRunner],
        dependencies: Sequence[Dependency],
        exchanges: Sequence[str],
    ) -> None:
        self._families = families
        self._relay = relay
        self._runners = runners
        self._dependencies = dependencies
        self._exchanges = exchanges

    async def sample(self, connection: Connection) -> list[Metric]:
        """Samples the tables of the outbox and the inbox."""
        record = await connection.fetchrow(_SAMPLE, COUNT_LIMIT)
        assert record is not None
        value = self._families.value
        return [
            value("outbox_depth", f"Rows in the outbox, up to {COUNT_LIMIT}.", record["depth"]),
            value(
                "outbox_oldest_age_seconds",
                "How long the oldest message that should have left already has waited; 0 if none does.",
                record["oldest_age"],
            ),
            value("inbox_rows", "Estimated rows in the inbox.", record["inbox_rows"]),
        ]

    def collect(self) -> Iterator[Metric]:
        """Yields all metric families; unused ones have the value 0, so that a rate can start there."""
        yield from self._ends()
        yield from self._durations()
        yield from self._state()
        yield from self._publishes()

    def _ends(self) -> Iterator[Metric]:
        processed = self._families.counter(
            "messages_processed", "Messages whose effects were committed.", "queue", "type"
        )
        duplicate = self._families.counter(
            "messages_duplicate", "Deliveries that had an outcome already.", "queue"
        )
        retried = self._families.counter(
            "messages_retried", "Attempts that failed and will be made again.", "queue", "type"
        )
        aside = self._families.counter(
            "messages_set_aside",
            "Messages that wait, uncounted, because what they need was away.",
            "queue",
            "type",
        )
        dead = self._families.counter("messages_dead_lettered", "Messages given up.", "queue", "reason")
        rejected = self._families.counter(
            "messages_rejected", "Bodies without an envelope, dead-lettered by the broker.", "queue"
        )
        for runner in self._runners:
            queue, counts = runner.queue, runner.settlement.counts
            for name in runner.table:
                processed.add_metric((queue, name), counts.processed[name])
                retried.add_metric((queue, name), counts.retried[name])
                aside.add_metric((queue, name), counts.set_aside[name])
            for reason in Reason:
                cancelled = self._relay.counts.cancelled[queue] if reason is Reason.CANCELLED else 0
                dead.add_metric((queue, reason.value), counts.dead_lettered[reason.value] + cancelled)
            duplicate.add_metric((queue,), counts.duplicates)
            rejected.add_metric((queue,), counts.rejected)
        yield from (processed, duplicate, retried, aside, dead, rejected)

    def _durations(self) -> Iterator[Metric]:
        sizes = self._families.histogram("batch_size", "Messages per committed transaction.", "queue")
        handling = self._families.histogram(
            "handler_seconds",
            "One attempt of a handler, or one call of a handler of batches (type: several, if it took several).",
            "queue",
            "type",
        )
        whole = self._families.histogram(
            "end_to_end_seconds",
            "From the making of a message to the commit of its effects, waiting for its time and retries included.",
            "queue",
            "type",
        )
        for runner in self._runners:
            queue, counts = runner.queue, runner.settlement.counts
            _add(sizes, (queue,), counts.batch_sizes)
            for name in dict.fromkeys((*runner.table, *counts.handler_seconds)):
                _add(handling, (queue, name), counts.handler_seconds[name])
            for name in runner.table:
                _add(whole, (queue, name), counts.end_to_end_seconds[name])
        yield from (sizes, handling, whole)

    def _state(self) -> Iterator[Metric]:
        in_hand = self._families.gauge("deliveries_in_hand", "Deliveries not settled yet.", "queue")
        up = self._families.gauge("consumer_up", "1 while the queue is being consumed, 0 otherwise.", "queue")
        paused = self._families.gauge(
            "queue_paused", "1 while operators have paused the queue's consumers, 0 otherwise.", "queue"
        )
        for runner in self._runners:
            paused.add_metric((runner.queue,), float(runner.is_held))
            in_hand.add_metric((runner.queue,), runner.in_hand)
            up.add_metric((runner.queue,), float(runner.subscription.consuming))
        reached = self._families.gauge(
            "dependency_up",
            "1 while what handlers need can be reached as far as known, 0 otherwise.",
            "dependency",
        )
        for dependency in self._dependencies:
            reached.add_metric((dependency.name,), float(not dependency.away))
        yield from (in_hand, up, paused, reached)

    def _publishes(self) -> Iterator[Metric]:
        counts = self._relay.counts
        published = self._families.counter("published", "Messages that the broker has confirmed.", "exchange")
        failures = self._families.counter(
            "publish_failures", "Publishes that failed and will be tried again.", "reason"
        )
        for exchange in self._exchanges:
            published.add_metric((exchange,), counts.published[exchange])
        for reason in PUBLISH_FAILURES:
            failures.add_metric((reason,), counts.failed[reason])
        yield from (published, failures)


def _add(family: HistogramMetricFamily, labels: Sequence[str], histogram: Histogram) -> None:
    bounds = [*map(floatToGoString, histogram.bounds), "+Inf"]
    buckets: list[tuple[str, float]] = list(zip(bounds, histogram.cumulated(), strict=True))
    family.add_metric(labels, buckets, histogram.total)
