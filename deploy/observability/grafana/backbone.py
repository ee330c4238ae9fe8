"""The dashboard of the backbone: queues, outboxes, dead letters and the broker."""

from panels import WINDOW, Json, dashboard, figure, graph, quantile, rate, row, target
from queues import JOBS, QUEUES


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
            row("Backups and certificates, in containers"),
            graph(
                "Age of the last backup",
                target("time() - max(brand_engine_last_backup_timestamp_seconds > 0)", "age"),
                target("max(brand_engine_backup_max_age_seconds)", "limit"),
                unit="s",
                description="Since the last finished backup began; nothing while there is none. The limit is BACKUP_MAX_AGE_HOURS.",
            ),
            graph(
                "Until certificates end",
                target(
                    "min by (host) (brand_engine_certificate_ends_timestamp_seconds > 0) - time()", "{{host}}"
                ),
                unit="s",
                description="Of each address that the proxy has visitors for; it renews them with a third of their time left.",
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
