"""Wires the service together: settings, database, handlers, API and background tasks."""

from datetime import timedelta
from functools import partial
from typing import Final

from chassis.http.client import Peer
from chassis.http.introspection import callers_by_key
from chassis.http.service_key import OPERATORS_READING, PairAccess, PairKeys
from envelope.brand import CATALOGUE
from envelope.brand.payloads import DatabaseFellBack, EventsErase
from events.erasure import erase
from events.http_api import create_api
from events.incoming_hooks import forwarding
from events.incoming_hooks import store as incoming_hooks
from events.incoming_hooks.forwarding import HookForwarder
from events.incoming_hooks.metrics import add_hook_metrics
from events.live.follower import EventFollower
from events.log import recording, store
from events.settings import Settings
from events.subscriptions import store as subscriptions
from events.webhooks import store as webhooks
from events.webhooks.gateway import WebhookGateway
from events.webhooks.sender import EVERY, WebhookSender
from messaging import CommitLoss, Database, QueuePolicy, Service, Transaction, on_batch
from messaging.ledger_routes import READ_BY_RECORDER

READ_BY_MONITOR: Final = READ_BY_RECORDER | {"GET /v1/webhooks"}
"""Routes that the monitor's key opens."""
_MOST_STREAMS: Final = 0.4
"""Share of the process's connections that live streams may take."""


class EventsService(Service):
    """The service; its live streams end before its server does, which would wait for them."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("events", settings, CATALOGUE)
        self.follower = EventFollower(self.connections, most=int(settings.http_connections * _MOST_STREAMS))

        self.webhooks: WebhookSender | None = None

    async def _finish_work(self, grace_seconds: float) -> None:
        self.follower.stop()
        if self.webhooks is not None:
            await self.webhooks.finish(grace_seconds)
        await super()._finish_work(grace_seconds)


def build(settings: Settings) -> EventsService:
    service = EventsService(settings)
    assert CATALOGUE.event_log_queue is not None
    service.consume(
        CATALOGUE.event_log_queue,
        on_batch(recording.record, *recording.PAYLOADS),
        # Nobody waits for these: large batches save time.
        policy=QueuePolicy(max_batch_size=300, max_batch_timeout=0.1),
    )
    service.consume("events-commands", on_batch(erase, EventsErase))
    keeper = (
        None
        if settings.orchestrator_url is None
        else Peer(
            "the orchestrator", settings.orchestrator_url, "ORCHESTRATOR_URL", settings.key_for_orchestrator
        )
    )
    pairs = [PairAccess("monitor", settings.monitor_to_events_key, READ_BY_MONITOR, scopes=OPERATORS_READING)]
    callers = PairKeys(callers_by_key(keeper, settings.service_key, service.closes), pairs)
    gateway = _gateway(settings)
    count_refusal = add_hook_metrics(service.metrics)
    service.serve(
        create_api(service.database, callers, service.follower, gateway, count_refused_hook=count_refusal)
    )
    if gateway is not None:
        service.webhooks = WebhookSender(service.database, gateway)
        service.closes(service.webhooks)
        service.poll("webhooks", service.webhooks.tick, every=EVERY)
    if keeper is not None:
        forwarder = HookForwarder(service.database, keeper, count_refusal)
        service.closes(forwarder)
        service.poll("incoming hooks", forwarder.forward_due, every=forwarding.EVERY)
    service.background("live events", service.follower.follow)
    service.poll(
        "days of events",
        partial(_forget_old, service.database, settings.keep_events_days),
        every=timedelta(hours=1),
    )
    service.on_commit_loss(_tell_of_loss)
    return service


def _gateway(settings: Settings) -> WebhookGateway | None:
    if settings.gateway_url is None:
        return None
    return WebhookGateway(Peer("the gateway", settings.gateway_url, "GATEWAY_URL", settings.key_for_gateway))


async def _forget_old(database: Database, kept_days: int) -> None:
    async with database.connection() as connection:
        await store.maintain(connection, kept_days)
        await subscriptions.skip_forgotten(connection)
        await webhooks.prune_tries(connection)
        await incoming_hooks.prune(connection)


async def _tell_of_loss(loss: CommitLoss, tx: Transaction) -> None:
    tx.send(DatabaseFellBack(service="events", kept_until=loss.kept_until))
