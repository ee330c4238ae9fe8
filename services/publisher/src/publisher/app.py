"""The composition root."""

from datetime import timedelta
from functools import partial
from typing import Final

from starlette.types import ASGIApp

from chassis.http.client import Peer, UnavailableError
from chassis.http.introspection import callers_by_key
from chassis.http.service_key import OPERATORS_READING, PairAccess, PairKeys
from envelope.brand import CATALOGUE
from envelope.brand.payloads import (
    ContentDelete,
    ContentErase,
    ContentPublish,
    DatabaseFellBack,
    LinkRegister,
)
from messaging import CommitLoss, QueuePolicy, Service, Transaction, on_batch, on_each
from messaging.ledger_routes import READ_BY_RECORDER
from publisher.api import create_api
from publisher.covers import Covers
from publisher.erasure import erase
from publisher.handlers import Handlers
from publisher.http_api import create_app
from publisher.indexnow import IndexNowNotifier
from publisher.mailing import LetterSender
from publisher.orchestrator_client import OrchestratorClient
from publisher.replica import Replica, ReplicaFirst, ReplicaMetrics
from publisher.settings import Settings
from publisher.short_links import LinkClickCounter, ShortLinks, register
from publisher.site_settings import GatewayHostProof
from publisher.targets import AT_ONCE, CoverPictures, FilesTarget, TargetPublisher, republish
from publisher.urls import SiteUrls
from publisher.views import WRITTEN_EVERY, PageViewCounter
from receipts import EffectsGateway, Receipts

_WRITING_SECONDS = 120.0
"""Publishing time beyond reading the article: a job sends an account several requests."""
READ_BY_MONITOR: Final = frozenset({"GET /v1/receipts", *READ_BY_RECORDER})
"""Routes that the monitor's service key may call."""


def build(settings: Settings) -> Service:
    service = Service("publisher", settings, CATALOGUE)
    urls = SiteUrls.under(settings.public_url)
    orchestrator = OrchestratorClient(
        settings.orchestrator_url,
        settings.key_for_orchestrator,
        timeout_seconds=settings.content_timeout_seconds,
        max_bytes=settings.content_max_bytes,
        orchestrator=service.dependency("orchestrator", outages=(UnavailableError,)),
    )
    service.closes(orchestrator)
    covers = Covers(service.database, most_bytes=settings.covers_max_megabytes * 1_000_000)
    door = EffectsGateway(settings.gateway_url, settings.key_for_gateway)
    service.closes(door)
    host_proof = GatewayHostProof(settings.gateway_url, settings.key_for_gateway)
    service.closes(host_proof)
    receipts = Receipts(service.database, door, republish)
    bringing = TargetPublisher(
        service.database,
        orchestrator,
        door,
        receipts,
        FilesTarget(settings.publish_folder),
        CoverPictures(service.database, covers, urls).of,
        ShortLinks(urls),
    )
    receipts.add_metrics(service)
    handlers = Handlers(service.database, orchestrator, urls, bringing)
    service.consume(
        "publisher-commands",
        on_each(handlers.content_publish, ContentPublish),
        on_each(handlers.content_delete, ContentDelete),
        on_batch(erase, ContentErase),
        on_batch(register, LinkRegister),
        policy=QueuePolicy(
            max_concurrency=AT_ONCE, handler_timeout=settings.content_timeout_seconds + _WRITING_SECONDS
        ),
    )
    service.on_commit_loss(_tell_of_loss)
    views = PageViewCounter(service.database)
    clicks = LinkClickCounter(service.database)
    service.poll("views", views.write, every=WRITTEN_EVERY, once_more=True)
    service.poll("clicks", clicks.write, every=WRITTEN_EVERY, once_more=True)
    notifier = IndexNowNotifier(service.database, door, urls)
    service.poll("indexnow", notifier.notify_engines, every=timedelta(seconds=30))
    letters = LetterSender(service.database, door, urls)
    service.poll("newsletters", letters.send_due, every=timedelta(seconds=10))
    per_page = settings.articles_per_page
    sites_from = partial(
        create_app,
        service.database,
        urls,
        articles_per_page=per_page,
        covers=covers,
        views=views,
        clicks=clicks,
        drafts=orchestrator,
        sign_ups_per_hour=settings.newsletter_sign_ups_per_hour,
        proxies=settings.trusted_proxies,
    )
    sites: ASGIApp = sites_from()
    if (replica := _replica(settings, service)) is not None:
        sites = ReplicaFirst(sites, sites_from(pages_from=replica), replica)
    api = create_api(
        service.database,
        PairKeys(
            callers_by_key(
                Peer(
                    "the orchestrator",
                    settings.orchestrator_url,
                    "ORCHESTRATOR_URL",
                    settings.key_for_orchestrator,
                ),
                settings.service_key,
                service.closes,
            ),
            [
                PairAccess(
                    "monitor", settings.monitor_to_publisher_key, READ_BY_MONITOR, scopes=OPERATORS_READING
                )
            ],
        ),
        urls,
        sites=sites,
        covers=covers,
        articles_per_page=per_page,
        receipts=receipts,
        host_proof=host_proof,
        drafts=orchestrator,
        door=door,
    )
    service.serve(api)
    return service


def _replica(settings: Settings, service: Service) -> Replica | None:
    if settings.replica_database_url is None:
        return None
    replica = Replica(
        settings.replica_database_url.get_secret_value(),
        service.database,
        most_seconds=settings.replica_lag_seconds,
        size=settings.database_connections,
    )
    service.background("replica", replica.follow)
    service.closes(replica)
    service.metrics.add_collector(ReplicaMetrics(replica, service.metrics.families))
    service.database.doctor.also("replica", replica.probe)
    return replica


async def _tell_of_loss(loss: CommitLoss, tx: Transaction) -> None:
    tx.send(DatabaseFellBack(service="publisher", kept_until=loss.kept_until))
