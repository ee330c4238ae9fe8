"""The dashboard of the pipeline: from keyword to post."""

from panels import Json, dashboard, failing, figure, graph, quantile, rate, target
from queues import JOBS


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
