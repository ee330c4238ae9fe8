"""Composition root of the monitor."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Final, TypeVar

from chassis.http.client import Peer
from chassis.http.introspection import callers_by_key
from envelope import DeadLetterEdited, DeadLetterResolved
from envelope.brand import CATALOGUE
from envelope.brand.payloads import DatabaseFellBack, DeadLettersErase, WorkFinished
from messaging import CommitLoss, Database, QueuePolicy, Service, Transaction, on_batch
from messaging.topology import work_queues
from monitor import alerts, dead_letters, ledger, notifications
from monitor.backups import BackupAge
from monitor.broker_users import BrokerUsers
from monitor.certificates import ProxyCertificates, https_hosts
from monitor.erasure import erase
from monitor.http_api import create_api
from monitor.notifications import NotificationKind, NotificationSource
from monitor.notifications.sources.brands import brand_conditions
from monitor.notifications.sources.gateway import account_conditions, budget_conditions
from monitor.notifications.sources.ledger import missing_conditions
from monitor.notifications.sources.own_database import dead_letter_conditions, failing_route_conditions
from monitor.notifications.sources.pauses import own_pause_conditions, pause_conditions
from monitor.notifications.sources.receipts import receipt_conditions
from monitor.notifications.sources.webhooks import webhook_conditions
from monitor.settings import Settings

_ClientT = TypeVar("_ClientT", bound=notifications.PeerClient)

OWN: Final = timedelta(seconds=15)
OTHERS: Final = timedelta(minutes=2)
"""Intervals of the notification sources: the own database, and other services."""
DUE_SOURCES: Final = timedelta(seconds=5)
DUE_MESSAGES: Final = timedelta(seconds=2)
CANARIES: Final = timedelta(seconds=5)
"""Intervals of the searches for sources to poll, for messages to send and for canary replays that have begun.

While canary replays run, they say themselves when to look again.
"""


def build(settings: Settings) -> Service:
    service = Service("monitor", settings, CATALOGUE)
    service.consume_dead_letters(dead_letters.record)
    service.consume(
        "monitor-commands",
        on_batch(dead_letters.resolve, DeadLetterResolved),
        on_batch(dead_letters.record_edits, DeadLetterEdited),
        on_batch(dead_letters.close_finished, WorkFinished),
        on_batch(erase, DeadLettersErase),
        # No caller waits for these, and a bulk replay causes one report for each dead letter: large batches save time.
        policy=QueuePolicy(max_batch_size=300, max_batch_timeout=0.2),
    )
    operations = dead_letters.DeadLetterOperations(service.database)
    gateway = _client(settings, "gateway", notifications.NotifierGateway)
    orchestrator = _client(settings, "orchestrator", notifications.ActivityClient)
    social = _client(settings, "social", notifications.ActivityClient)
    publisher = _client(settings, "publisher", notifications.PeerClient)
    research = _client(settings, "research", notifications.PeerClient)
    events = _client(settings, "events", notifications.PeerClient)
    receipts = [each for each in (social, publisher) if each is not None]
    summaries = notifications.SummaryComposer(service.database, orchestrator, gateway, social, receipts)
    notifier = None if gateway is None else notifications.Notifier(service.database, gateway, summaries)
    prometheus = alertmanager = None
    if settings.prometheus_url is not None:
        prometheus = alerts.PrometheusClient(
            Peer("Prometheus", settings.prometheus_url, "PROMETHEUS_URL", None)
        )
    if settings.alertmanager_url is not None:
        alertmanager = alerts.AlertmanagerClient(
            Peer("Alertmanager", settings.alertmanager_url, "ALERTMANAGER_URL", None)
        )
    # The notifier stops sending before its clients are closed.
    for client in (notifier, gateway, orchestrator, research, events, *receipts, prometheus, alertmanager):
        if client is not None:
            service.closes(client)
    callers = callers_by_key(settings.peer("orchestrator"), settings.service_key, service.closes)
    service.serve(
        create_api(
            service.database,
            operations,
            callers,
            gateway,
            notifier,
            invitation_mails_per_hour=settings.invitation_mails_per_hour,
            prometheus=prometheus,
            alertmanager=alertmanager,
            runbooks=settings.runbook_url,
            broker_users=BrokerUsers(
                settings.rabbitmq_api_url, settings.broker_vhost, settings.broker_public_url
            ),
        )
    )
    if gateway is not None and notifier is not None:
        poller = notifications.NotificationPoller(service.database)
        peers = [each for each in (orchestrator, research, events, *receipts) if each is not None]
        sources = _sources(service.database, gateway, orchestrator, receipts, peers)
        if events is not None:
            fetch = partial(webhook_conditions, events)
            sources.append(NotificationSource("webhooks", OTHERS, fetch, events.name))
        for source in sources:
            # Each source has its own loop, so that a slow one does not delay the others.
            service.poll(f"noticing {source.name}", partial(poller.poll, source), every=DUE_SOURCES)
        service.poll("telling", notifier.tick, every=DUE_MESSAGES)
    service.poll("canary_replays", dead_letters.CanaryReplays(service.database).advance, every=CANARIES)
    service.poll(
        "dead_letter_operations", dead_letters.MassOperations(service.database).advance, every=CANARIES
    )
    asked = {
        "orchestrator": orchestrator,
        "social": social,
        "publisher": publisher,
        "research": research,
        "events": events,
    }
    reconciler = ledger.LedgerReconciler(
        service.database,
        {name: ledger.RemotePeer(client) for name, client in asked.items() if client is not None},
        CATALOGUE,
        overdue=timedelta(minutes=settings.ledger_overdue_minutes),
    )
    service.poll("ledger", reconciler.tick, every=ledger.EVERY / 2)
    service.on_commit_loss(_tell_of_loss)
    retention = timedelta(days=settings.retention_days)
    for name, work in (
        ("notification_log", partial(notifications.enforce_retention, service.database)),
        ("retention", partial(dead_letters.delete_old, service.database, retention)),
        ("ledger upkeep", reconciler.forget_old),
        ("alert acknowledgements", partial(alerts.forget_old, service.database)),
        ("masking", partial(dead_letters.mask_bodies, service.database)),
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
        "messages_missing",
        "Sent messages without an outcome, by the queue where they were last.",
        "queue",
        partial(ledger.missing_by_queue, queues=work_queues(CATALOGUE)),
    )
    service.gauge(
        "notifications_open",
        "Open notifications, by kind.",
        "kind",
        partial(notifications.open_by_kind, kinds=[kind.value for kind in NotificationKind]),
    )
    service.gauge(
        "notification_routes",
        "Routes of notifications, by whether they work.",
        "state",
        notifications.routes_by_state,
    )
    return service


def _client(settings: Settings, name: str, kind: type[_ClientT]) -> _ClientT | None:
    """A client of the named service; None without its address."""
    peer = settings.peer(name)
    return None if peer is None else kind(peer)


def _sources(
    database: Database,
    gateway: notifications.NotifierGateway,
    orchestrator: notifications.ActivityClient | None,
    receipts: Sequence[notifications.PeerClient],
    peers: Sequence[notifications.PeerClient],
) -> list[NotificationSource]:
    """The notification sources. Those in the own database are cheap and polled more often than other services."""
    found = [
        NotificationSource("dead_letters", OWN, partial(dead_letter_conditions, database)),
        NotificationSource("ledger", OWN, partial(missing_conditions, database)),
        NotificationSource("pauses", OWN, partial(own_pause_conditions, database)),
        NotificationSource("routes", OWN, partial(failing_route_conditions, database)),
        NotificationSource("accounts", OTHERS, partial(account_conditions, gateway), gateway.name),
        NotificationSource("budgets", OTHERS, partial(budget_conditions, gateway), gateway.name),
    ]
    if orchestrator is not None:
        fetch = partial(brand_conditions, orchestrator)
        found.append(NotificationSource("brands", OTHERS, fetch, orchestrator.name))
    found += [
        NotificationSource(f"receipts of {each.name}", OTHERS, partial(receipt_conditions, each), each.name)
        for each in receipts
    ]
    found += [
        NotificationSource(
            f"pauses of {each.name}", OTHERS, partial(pause_conditions, database, each), each.name
        )
        for each in peers
    ]
    return found


async def _tell_of_loss(loss: CommitLoss, tx: Transaction) -> None:
    tx.send(DatabaseFellBack(service="monitor", kept_until=loss.kept_until))
