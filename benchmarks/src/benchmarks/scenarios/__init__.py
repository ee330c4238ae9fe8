"""The scenarios by name, in the order in which they are run."""

from typing import Final

from benchmarks.run import Scenarios
from benchmarks.scenarios import (
    commands,
    console,
    corpus,
    corpus_search,
    event_log,
    first_page,
    gateway,
    growth,
    latency,
    ledger,
    memory,
    operator_pages,
    pages,
    pipeline,
    profile,
    prune,
    replay,
    submit,
    throughput,
)

SCENARIOS: Final[Scenarios] = {
    "drain_idempotent": throughput.drain_idempotent,
    "outbox_chain": throughput.outbox_chain,
    "single_handler": throughput.single_handler,
    "dup_storm": throughput.dup_storm,
    "latency_light": latency.latency_light,
    "live_confirmed": latency.live_confirmed,
    "pipeline_keywords": pipeline.pipeline_keywords,
    "pipeline_profile": profile.pipeline_profile,
    "first_page": first_page.first_page,
    "api_submit": submit.api_submit,
    "replay_flood": replay.replay_flood,
    "site_pages": pages.site_pages,
    "corpus_index": corpus.corpus_index,
    "corpus_search": corpus_search.corpus_search,
    "gateway_call": gateway.gateway_call,
    "inbox_growth": growth.inbox_growth,
    "backlog_growth": growth.backlog_growth,
    "prune_day": prune.prune_day,
    "memory": memory.memory,
    "console": console.console,
    "operator_pages": operator_pages.operator_pages,
    "ledger": ledger.ledger,
    "event_log": event_log.event_log,
    "command_start": commands.command_start,
}
