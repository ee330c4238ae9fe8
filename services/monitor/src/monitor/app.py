"""Composition root of the monitor."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from chassis.http.client import Peer
from chassis.http.introspection import callers_by_key
from envelope import DeadLetterResolved
from envelope.brand import CATALOGUE
from envelope.brand.payloads import DatabaseFellBack, DeadLettersErase, WorkFinished
from messaging import CommitLoss, QueuePolicy, Service, Transaction, on_batch
from monitor import dead_letters, notifications
from monitor.backups import BackupAge
from monitor.certificates import ProxyCertificates, https_hosts
from monitor.erasure import erase
from monitor.http_api import create_api
from monitor.settings import Settings

OWN: Final = timedelta(seconds=15)
OTHERS: Final = timedelta(minutes=2)
"""Intervals of the notification sources: the own database, and other services."""
DUE_SOURCES: Final = timedelta(seconds=5)
DUE_MESSAGES: Final = timedelta(seconds=2)
"""Intervals of the searches for sources to poll and for messages to send."""


def build(settings: Settings) -> Service:
    service = Service("monitor", settings, CATALOGUE)
    service.consume_dead_letters(dead_letters.record)
    service.consume(
        "monitor-commands",
        on_batch(dead_letters.resolve, DeadLetterResolved),
        on_batch(dead_letters.close_finished, WorkFinished),
        on_batch(erase, DeadLettersErase),
        # No caller waits for these, and a bulk replay causes one report for each dead letter: large batches save time.
        policy=QueuePolicy(max_batch_size=300, max_batch_timeout=0.2),
    )
    operations = dead_letters.DeadLetterOperations(service.database)
    gateway, orchestrator = _asked(settings)
    if orchestrator is not None:
        service.closes(orchestrator)
    posts = settings.social_url and notifications.PostActivityClient(
        settings.social_url, settings.key_for_social
    )
    if posts:
        service.closes(posts)
    receipts = _receipts(service, settings)
    summaries = notifications.SummaryComposer(
        service.database, orchestrator, gateway, posts or None, receipts
    )
    notifier = None
    if gateway is not None:
        notifier = notifications.Notifier(service.database, gateway, summaries)
        service.closes(notifier)
        service.closes(gateway)
    keeper = settings.orchestrator_url and Peer(
        "the orchestrator", settings.orchestrator_url, "ORCHESTRATOR_URL", settings.key_for_orchestrator
    )
    callers = callers_by_key(keeper or None, settings.service_key, service.closes)
    service.serve(create_api(service.database, operations, callers, gateway, notifier))
    if notifier is not None:
        poller = notifications.NotificationPoller(service.database)
        for source in _sources(service, gateway, orchestrator, receipts):
            # Each source has its own loop, so that a slow one does not delay the others.
            service.poll(f"noticing {source.name}", partial(poller.poll, source), every=DUE_SOURCES)
        service.poll("telling", notifier.tick, every=DUE_MESSAGES)
    service.on_commit_loss(_tell_of_loss)
    retention = timedelta(days=settings.retention_days)
    for name, work in (
        ("notification_log", partial(notifications.enforce_retention, service.database)),
        ("retention", partial(dead_letters.delete_old, service.database, retention)),
        ("renaming", partial(dead_letters.rename_queues, service.database)),
    ):
        service.poll(name, work, every=timedelta(hours=1))
    service.metrics.add_collector(
        BackupAge(service.metrics.families, settings.backup_record, settings.backup_max_age_hours)
    )
    if settings.proxy_address is not None:
        certificates = ProxyCertificates(
            service.metrics.families, settings.proxy_address, https_hosts(settings.certificate_urls)
        )
        service.metrics.add_collector(certificates)
        service.poll("certificates", certificates.look, every=timedelta(minutes=5))
    service.gauge(
        "dead_letters_open", "Dead letters that wait for a decision.", "queue", dead_letters.open_by_queue
    )
    service.gauge(
        "notifications_open",
        "Open notifications, by kind.",
        "kind",
        partial(notifications.open_by_kind, kinds=[kind.value for kind in notifications.NotificationKind]),
    )
    service.gauge(
        "notification_routes",
        "Routes of notifications, by whether they work.",
        "state",
        notifications.routes_by_state,
    )
    return service


def _asked(
    settings: Settings,
) -> tuple[notifications.NotifierGateway | None, notifications.BrandActivityClient | None]:
    """Clients of the gateway and the orchestrator; None for each without an address."""
    gateway = settings.gateway_url and notifications.NotifierGateway(
        settings.gateway_url, settings.key_for_gateway
    )
    orchestrator = settings.orchestrator_url and notifications.BrandActivityClient(
        settings.orchestrator_url, settings.key_for_orchestrator
    )
    return gateway or None, orchestrator or None


def _receipts(service: Service, settings: Settings) -> list[notifications.ReceiptsSource]:
    """A source for each configured service that has receipts."""
    found = [
        notifications.ReceiptsSource(name, url, key)
        for name, url, key in (
            ("social", settings.social_url, settings.key_for_social),
            ("publisher", settings.publisher_url, settings.key_for_publisher),
        )
        if url is not None
    ]
    for each in found:
        service.closes(each)
    return found


def _sources(
    service: Service,
    gateway: notifications.NotifierGateway | None,
    orchestrator: notifications.BrandActivityClient | None,
    receipts: Sequence[notifications.ReceiptsSource],
) -> list[notifications.NotificationSource]:
    """The notification sources. Those in the own database are cheap and polled more often than other services."""
    database = service.database
    found = [
        notifications.NotificationSource(
            "dead_letters", OWN, notifications.DeadLettersSource(database).fetch_conditions
        ),
        notifications.NotificationSource(
            "routes", OWN, notifications.RoutesSource(database).fetch_conditions
        ),
    ]
    if gateway is not None:
        found += [
            notifications.NotificationSource(
                "accounts", OTHERS, notifications.AccountsSource(gateway).fetch_conditions, "the gateway"
            ),
            notifications.NotificationSource(
                "budgets", OTHERS, notifications.BudgetsSource(gateway).fetch_conditions, "the gateway"
            ),
        ]
    if orchestrator is not None:
        fetch = notifications.BrandsSource(orchestrator).fetch_conditions
        found.append(notifications.NotificationSource("brands", OTHERS, fetch, "the orchestrator"))
    found += [
        notifications.NotificationSource(
            f"receipts of {each.service}", OTHERS, each.fetch_conditions, each.service
        )
        for each in receipts
    ]
    return found


async def _tell_of_loss(loss: CommitLoss, tx: Transaction) -> None:
    tx.send(DatabaseFellBack(service="monitor", kept_until=loss.kept_until))
