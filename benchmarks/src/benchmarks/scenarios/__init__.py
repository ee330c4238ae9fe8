"""The scenarios by name, in the order in which they are run."""

from typing import Final

from benchmarks.run import Scenarios
from benchmarks.scenarios import growth, latency, memory, pipeline, prune, throughput

SCENARIOS: Final[Scenarios] = {
    "drain_idempotent": throughput.drain_idempotent,
    "outbox_chain": throughput.outbox_chain,
    "single_handler": throughput.single_handler,
    "dup_storm": throughput.dup_storm,
    "latency_light": latency.latency_light,
    "live_confirmed": latency.live_confirmed,
    "pipeline_keywords": pipeline.pipeline_keywords,
    "inbox_growth": growth.inbox_growth,
    "backlog_growth": growth.backlog_growth,
    "prune_day": prune.prune_day,
    "memory": memory.memory,
}
