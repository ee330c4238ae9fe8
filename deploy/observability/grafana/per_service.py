"""The dashboards of the services that consume queues, from one pattern."""

from collections.abc import Sequence

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
from queues import QUEUES

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

HOOKS: Sequence[Json] = (
    row("Incoming webhooks"),
    graph(
        "Requests that wait",
        target("max(brand_engine_hook_requests_waiting)", "waiting"),
        description="Stored, and not yet taken by the orchestrator. Each is sent again until it answers.",
    ),
    graph(
        "Longest wait",
        target("max(brand_engine_hook_requests_oldest_waiting_seconds)", "oldest"),
        unit="s",
        description="Some seconds at most, unless the orchestrator is away: brandctl hooks arrivals says why.",
    ),
    graph(
        "Refused",
        target(rate("hook_requests_refused_total", "reason", where='job="events"'), "{{reason}}"),
        unit="ops",
        description="By code. signature_invalid: a wrong secret, or somebody tries; body_not_mapped: the sender or the definition has changed.",
    ),
)

RECEIPTS: Sequence[Json] = (
    row("On other people's servers"),
    graph(
        "Posts and publications that are not confirmed",
        target("max by (job, state) (brand_engine_receipts)", "{{job}} {{state}}"),
        description="In doubt: may have arrived, and wait for a decision (brandctl receipts list). Abandoned: nobody looks what became of them.",
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
            *(_notifications() if name == "monitor" else ()),
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
            *(RECEIPTS if name in {"publisher", "social"} else ()),
            *(HOOKS if name == "events" else ()),
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


def _notifications() -> list[Json]:
    return [
        row("Notifications"),
        graph(
            "What wants somebody's eye",
            target("max by (kind) (brand_engine_notifications_open) > 0", "{{kind}}"),
            description="What was noticed and stands: brandctl notifications list.",
        ),
        graph(
            "Routes",
            target("max by (state) (brand_engine_notification_routes)", "{{state}}"),
            description="Failing: nothing arrives there. brandctl notifications routes says why.",
        ),
    ]
