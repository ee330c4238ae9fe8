#!/usr/bin/env python3
"""Writes the dashboards in `dashboards/`: one of the pipeline, one of the backbone, one per service from one pattern.

Every panel says what it shows, and what to make of it where that is not plain.

The JSON is committed, since that is what Grafana reads; a test fails when it is not what this script would write.
Usage: generate.py [FOLDER]
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from outside import gateway
from panels import (
    WINDOW,
    Json,
    dashboard,
    failing,
    figure,
    graph,
    processes,
    quantile,
    rate,
    requests,
    row,
    target,
)

QUEUES: Mapping[str, str] = {
    "orchestrator": "orchestrator-commands|orchestrator-events",
    "research": "research-commands",
    "publisher": "publisher-commands",
    "social": "social-commands",
    "monitor": "monitor-commands|.+-dlq",
}
"""Service → the queues it consumes, as a pattern."""
JOBS = "|".join(QUEUES)


# -- the dashboards ----------------------------------------------------------------------------------------------------


def pipeline() -> Json:
    """From keyword to post, as the orchestrator's router sees it: one event ends each step."""
    events = 'job="orchestrator", queue="orchestrator-events"'
    steps = "research.completed|content.generated|content.published|social.posted"
    failures = "research.failed|content.refused|content.publish_failed|social.failed"

    def in_last_hour(name: str) -> str:
        metric = f'brand_engine_messages_processed_total{{{events}, type="{name}"}}'
        return f"round(sum(increase({metric}[1h])))"

    return dashboard(
        "brand-engine-pipeline",
        "Brand Engine: pipeline",
        "From keyword to post: how many, how fast, and what is in the way.",
        [
            figure(
                "Researched, last hour",
                in_last_hour("research.completed"),
                description="Keywords for which the documents said enough.",
            ),
            figure("Written, last hour", in_last_hour("content.generated"), description="Articles."),
            figure(
                "Published, last hour",
                in_last_hour("content.published"),
                description="Articles that have become a page.",
            ),
            figure(
                "Posted, last hour",
                in_last_hour("social.posted"),
                description="Posts; an article has one for each channel.",
            ),
            figure(
                "Dead letters open",
                "sum(max by (queue) (brand_engine_dead_letters_open))",
                alarming=1,
                description="Wait for somebody to send them again or to discard them.",
            ),
            figure(
                "Attempts that fail",
                failing(f'job=~"{JOBS}"'),
                unit="percentunit",
                alarming=0.1,
                description="Of all attempts at messages; they are made again, with growing pauses.",
            ),
            graph(
                "Steps done",
                target(
                    rate("messages_processed_total", "type", where=f'{events}, type=~"{steps}"'), "{{type}}"
                ),
                unit="ops",
                description="Each step ends with its event; what falls behind its neighbour is where work piles up.",
            ),
            graph(
                "Steps refused or failed",
                target(
                    rate("messages_processed_total", "type", where=f'{events}, type=~"{failures}"'),
                    "{{type}}",
                ),
                unit="ops",
                description="Ends that are no accident: too few sources, a draft that waits for somebody, a page or a post that was refused.",
            ),
            graph(
                "Time of a command, until its effects are committed (95 %)",
                target(
                    quantile(0.95, "end_to_end_seconds", "type", where='queue=~".+-commands"'), "{{type}}"
                ),
                unit="s",
                description="From when a command was made; waiting in queues and retries included.",
            ),
            graph(
                "Time of an event, until it is routed (95 %)",
                target(quantile(0.95, "end_to_end_seconds", "type", where=events), "{{type}}"),
                unit="s",
                description="From when an event was made until what follows from it is decided and on its way.",
            ),
            graph(
                "Work that waits",
                target(
                    'max by (queue) (rabbitmq_detailed_queue_messages_ready{queue=~".+-commands|.+-events"})',
                    "{{queue}}",
                ),
                stacked=True,
                description="Messages in the queues. A queue that only grows has too few replicas, or a handler that waits.",
            ),
            graph(
                "Work in hand",
                target(
                    'sum by (queue) (brand_engine_deliveries_in_hand{queue=~".+-commands|.+-events"})',
                    "{{queue}}",
                ),
                stacked=True,
                description="Deliveries that a service has taken and not settled yet.",
            ),
            graph(
                "Attempts that will be made again",
                target(rate("messages_retried_total", "queue", "type"), "{{type}}"),
                unit="ops",
                description="Attempts that failed for a reason that may pass; the log says which (attempt_failed).",
            ),
            graph(
                "Messages given up",
                target(rate("messages_dead_lettered_total", "queue", "reason"), "{{queue}} {{reason}}"),
                unit="ops",
                description="Became dead letters, by reason; they wait with the monitor for a decision.",
            ),
        ],
    )


def backbone() -> Json:
    queues = 'queue=~".+-commands|.+-events"'
    dead = 'queue=~".+-dlq"'
    jobs = f'job=~"{JOBS}"'
    return dashboard(
        "brand-engine-backbone",
        "Brand Engine: backbone",
        "Queues, outboxes and the broker under them.",
        [
            figure(
                "Replicas that answer",
                f"sum(up{{{jobs}}})",
                wanted=len(QUEUES),
                description="Of all services; red if there are fewer than services.",
            ),
            figure(
                "Queues without consumer",
                "count(max by (queue) (rabbitmq_detailed_queue_consumers) == 0) or vector(0)",
                alarming=1,
                description="What is sent there waits until its service consumes again.",
            ),
            figure(
                "Longest wait in an outbox",
                "max(brand_engine_outbox_oldest_age_seconds)",
                unit="s",
                alarming=60,
                description="Of a message that is due. It is not lost; the broker is away or refuses it.",
            ),
            figure(
                "In dead-letter queues",
                f"sum(max by (queue) (rabbitmq_detailed_queue_messages{{{dead}}}))",
                alarming=1,
                description="On their way to the monitor, which takes them within seconds.",
            ),
            figure(
                "Dependencies away",
                f"count(min by (job, dependency) (brand_engine_dependency_up{{{jobs}}}) == 0) or vector(0)",
                alarming=1,
                description="Messages that need them wait, and no attempt is counted; the services' dashboards say which.",
            ),
            figure(
                "Memory alarm",
                "max(rabbitmq_alarms_memory_used_watermark)",
                alarming=1,
                description="Of the broker: 1 while it takes no messages because it is short of memory.",
            ),
            figure(
                "Disk alarm",
                "max(rabbitmq_alarms_free_disk_space_watermark)",
                alarming=1,
                description="Of the broker: 1 while it takes no messages because its disk is nearly full.",
            ),
            row("Queues"),
            graph(
                "Ready",
                target(f"max by (queue) (rabbitmq_detailed_queue_messages_ready{{{queues}}})", "{{queue}}"),
                description="Wait for a consumer to have room.",
            ),
            graph(
                "Delivered, not acknowledged",
                target(f"max by (queue) (rabbitmq_detailed_queue_messages_unacked{{{queues}}})", "{{queue}}"),
                description="In the hands of consumers; delivered again should one of them die.",
            ),
            graph(
                "Consumers",
                target("max by (queue) (rabbitmq_detailed_queue_consumers)", "{{queue}}"),
                description="As the broker counts them.",
            ),
            graph(
                "In dead-letter queues",
                target(f"max by (queue) (rabbitmq_detailed_queue_messages{{{dead}}})", "{{queue}}"),
                description="Given up and not recorded yet; the monitor takes them within seconds.",
            ),
            row("Consuming"),
            graph(
                "Messages",
                target(rate("messages_processed_total", "queue"), "{{queue}}"),
                unit="ops",
                description="Whose effects were committed.",
            ),
            graph(
                "Messages per transaction (half of them have at least so many)",
                target(quantile(0.5, "batch_size", "queue"), "{{queue}}"),
                description="Grows with the load: a batch is what arrived while the last one ran.",
            ),
            graph(
                "Duplicates",
                target(rate("messages_duplicate_total", "queue"), "{{queue}}"),
                unit="ops",
                description="Recognised and acknowledged without effect.",
            ),
            graph(
                "Bodies without an envelope",
                target(rate("messages_rejected_total", "queue"), "{{queue}}"),
                unit="ops",
                description="Somebody else publishes here; they are kept as dead letters.",
            ),
            row("Publishing"),
            graph(
                "Confirmed",
                target(rate("published_total", "exchange"), "{{exchange}}"),
                unit="ops",
                description="The broker has them on disk, on most of its nodes.",
            ),
            graph(
                "Failed, to be tried again",
                target(rate("publish_failures_total", "job", "reason"), "{{job}} {{reason}}"),
                unit="ops",
                description="unavailable mends itself; unroutable, refused and unsendable do not.",
            ),
            graph(
                "Rows in the outbox",
                target("max by (job) (brand_engine_outbox_depth)", "{{job}}"),
                description="What is due and what waits for its time, retries included; counted up to 100,000.",
            ),
            graph(
                "Longest wait of a message that is due",
                target("max by (job) (brand_engine_outbox_oldest_age_seconds)", "{{job}}"),
                unit="s",
                description="0 as long as what is due leaves at once.",
            ),
            graph(
                "Rows in the inbox",
                target("max by (job) (brand_engine_inbox_rows)", "{{job}}"),
                description="What was handled in the last seven days, estimated; a copy that comes late is recognised by it.",
            ),
            row("Broker"),
            graph(
                "Memory",
                target("rabbitmq_process_resident_memory_bytes", "{{instance}}"),
                target("rabbitmq_resident_memory_limit_bytes", "{{instance}} limit"),
                unit="bytes",
                description="From its limit on it takes no messages.",
            ),
            graph(
                "Free disk space",
                target("rabbitmq_disk_space_available_bytes", "{{instance}}"),
                target("rabbitmq_disk_space_available_limit_bytes", "{{instance}} limit"),
                unit="bytes",
                description="Below its limit it takes no messages.",
            ),
            graph(
                "Connections",
                target("rabbitmq_connections", "{{instance}}"),
                description="Two for each replica of a service: one to consume, one to publish.",
            ),
            graph(
                "Messages received and acknowledged",
                target(f"sum(rate(rabbitmq_global_messages_received_total[{WINDOW}]))", "received"),
                target(f"sum(rate(rabbitmq_global_messages_acknowledged_total[{WINDOW}]))", "acknowledged"),
                unit="ops",
                description="By the whole broker; apart for long, they say that work piles up.",
            ),
            row("Requests"),
            graph(
                "Requests",
                target(rate("http_request_seconds_count", "job"), "{{job}}"),
                unit="reqps",
                description="Over HTTP: the API, reads between services, visitors of pages. Without health checks.",
            ),
            graph(
                "Requests that failed",
                target(
                    rate("http_request_seconds_count", "job", "status", where='status=~"5.."'),
                    "{{job}} {{status}}",
                ),
                unit="reqps",
                description="503: the database is away, and the caller is asked to come again. 500: a fault, see the log.",
            ),
            row("What is running"),
            graph(
                "Replicas by version",
                target(
                    "count by (job, version, revision) (brand_engine_build_info)",
                    "{{job}} {{version}} {{revision}}",
                ),
                description="Two of a service only while it is being replaced.",
                stacked=True,
            ),
        ],
    )


WRITING: Sequence[Json] = (
    row("Writing"),
    graph(
        "Keywords that wait",
        target("max by (what) (brand_engine_articles_waiting)", "{{what}}"),
        description="By what they wait for: a turn, where their brand has enough in hand, a budget, a provider, a model.",
    ),
    graph(
        "Articles refused",
        target(rate("articles_refused_total", "reason", where='job="orchestrator"'), "{{reason}}"),
        unit="ops",
        description="No accidents: too few sources; of what a model wrote its sources support too little (try another model); waits for somebody.",
    ),
    graph(
        "Sentences of models",
        target(rate("draft_sentences_total", "verdict", where='job="orchestrator"'), "{{verdict}}"),
        unit="ops",
        description="Held by code, confirmed by the judge, or why they were refused. Many unread: the judge gives no usable answer.",
    ),
)

SCHEDULES: Sequence[Json] = (
    row("Schedules"),
    graph(
        "Schedules",
        target("max by (state) (brand_engine_schedules)", "{{state}}"),
        description="Parked: given up, until a person resumes it. Overdue: due for two minutes and not fired.",
    ),
)

CORPUS: Sequence[Json] = (
    row("Corpus"),
    graph(
        "Files",
        target("max by (state) (brand_engine_documents)", "{{state}}"),
        description="What is set aside was too slow or ended its reader: brandctl documents says which and why.",
    ),
)


def service(name: str) -> Json:
    job = f'job="{name}"'
    queues = f'queue=~"{QUEUES[name]}"'
    if name == "monitor":
        dead_letters = "sum(max by (queue) (brand_engine_dead_letters_open))"
    else:
        dead_letters = f"sum(max by (queue) (brand_engine_dead_letters_open{{{queues}}}))"
    return dashboard(
        f"brand-engine-{name}",
        f"Brand Engine: {name}",
        f"The service {name}: its work, its outbox and its processes.",
        [
            figure(
                "Replicas that answer",
                f"sum(up{{{job}}})",
                wanted=1,
                description="They share queues and database; any number works.",
            ),
            figure(
                "Messages",
                f"sum(rate(brand_engine_messages_processed_total{{{job}}}[{WINDOW}]))",
                unit="ops",
                description="Whose effects were committed, by all replicas.",
            ),
            figure(
                "Attempts that fail",
                failing(job),
                unit="percentunit",
                alarming=0.1,
                description="They are made again, with growing pauses; the log says why (attempt_failed).",
            ),
            figure(
                "Dead letters open",
                dead_letters,
                alarming=1,
                description="Wait for somebody to send them again or to discard them: brandctl dead-letters list.",
            ),
            figure(
                "Longest wait in the outbox",
                f"max(brand_engine_outbox_oldest_age_seconds{{{job}}})",
                unit="s",
                alarming=60,
                description="Of a message that is due. It is not lost; the broker is away or refuses it.",
            ),
            figure(
                "Queues not consumed",
                f"count(max by (queue) (brand_engine_consumer_up{{{job}}}) == 0) or vector(0)",
                alarming=1,
                description="By any replica. While the database is away that is on purpose.",
            ),
            row("Messages"),
            graph(
                "Handled",
                target(rate("messages_processed_total", "queue", "type", where=job), "{{queue}} {{type}}"),
                unit="ops",
                stacked=True,
                description="Messages whose effects were committed.",
            ),
            graph(
                "Failed",
                target(
                    rate("messages_retried_total", "queue", "type", where=job), "again: {{queue}} {{type}}"
                ),
                target(
                    rate("messages_dead_lettered_total", "queue", "reason", where=job),
                    "given up: {{queue}} {{reason}}",
                ),
                unit="ops",
                description="Attempts that will be made again, and messages that have become dead letters.",
            ),
            graph(
                "Time of an attempt",
                target(quantile(0.5, "handler_seconds", "type", where=job), "50 % {{type}}"),
                target(quantile(0.95, "handler_seconds", "type", where=job), "95 % {{type}}"),
                unit="s",
                description="Of one message, or of a batch where the handler takes batches.",
            ),
            graph(
                "Time from making to commit",
                target(quantile(0.5, "end_to_end_seconds", "type", where=job), "50 % {{type}}"),
                target(quantile(0.95, "end_to_end_seconds", "type", where=job), "95 % {{type}}"),
                unit="s",
                description="Waiting in queues, wanted delays and retries included.",
            ),
            graph(
                "Waiting in its queues",
                target(f"max by (queue) (rabbitmq_detailed_queue_messages_ready{{{queues}}})", "{{queue}}"),
                description="If it only grows, look at the time of an attempt; if that is as ever, start replicas.",
            ),
            graph(
                "In hand",
                target(
                    f"sum by (instance, queue) (brand_engine_deliveries_in_hand{{{job}}})",
                    "{{instance}} {{queue}}",
                ),
                description="Deliveries that a replica has taken and not settled yet.",
            ),
            graph(
                "Messages per transaction",
                target(quantile(0.5, "batch_size", "queue", where=job), "50 % {{queue}}"),
                target(quantile(0.95, "batch_size", "queue", where=job), "95 % {{queue}}"),
                description="Grows with the load: a batch is what arrived while the last one ran.",
            ),
            graph(
                "Duplicates",
                target(rate("messages_duplicate_total", "queue", where=job), "{{queue}}"),
                unit="ops",
                description="Recognised and acknowledged without effect; some follow every restart.",
            ),
            graph(
                "What it needs",
                target(f"min by (dependency) (brand_engine_dependency_up{{{job}}})", "{{dependency}}"),
                description="1 while it can be reached, 0 while messages wait for it; empty where nothing is needed.",
            ),
            graph(
                "Set aside",
                target(rate("messages_set_aside_total", "queue", "type", where=job), "{{queue}} {{type}}"),
                unit="ops",
                description="Messages that wait for what they need, at their same attempt.",
            ),
            *(CORPUS if name == "research" else ()),
            *((*WRITING, *SCHEDULES) if name == "orchestrator" else ()),
            *requests(job),
            row("Outbox"),
            graph(
                "Published",
                target(rate("published_total", "exchange", where=job), "{{exchange}}"),
                unit="ops",
                description="Messages that the broker has confirmed.",
            ),
            graph(
                "Rows in the outbox",
                target(f"max(brand_engine_outbox_depth{{{job}}})", "rows"),
                description="What is due and what waits for its time, retries included; counted up to 100,000.",
            ),
            *processes(job),
        ],
    )


def main(folder: Path) -> None:
    for made in (pipeline(), backbone(), *map(service, QUEUES), gateway()):
        name = made["uid"].removeprefix("brand-engine-")
        (folder / f"{name}.json").write_text(json.dumps(made, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("dashboards"))
