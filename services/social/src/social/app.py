"""The composition root."""

from datetime import timedelta
from typing import Final

from chassis import ServiceKey
from chassis.http.callers import Authorise
from chassis.http.client import Peer, ServiceClient, UnavailableError
from chassis.http.introspection import IntrospectedKeys
from chassis.http.service_key import OPERATORS_READING, PairAccess, PairKeys
from envelope.brand import CATALOGUE
from envelope.brand.payloads import DatabaseFellBack, PostSend, SocialCreate, SocialErase
from messaging import CommitLoss, QueuePolicy, Service, Transaction, on_batch, on_each
from messaging.ledger_routes import READ_BY_RECORDER
from receipts import EffectsGateway
from social.api import create_api
from social.calendar import RepeatPlanner, SlotScheduler
from social.channels import CHANNELS
from social.erasure import erase
from social.handlers import Handlers
from social.http_api import create_app
from social.post_metrics import PostMetricsPoller
from social.review import ScheduledPostPublisher, count_pending, until_next_publication
from social.sending import (
    DuePosts,
    PostSender,
    PublishedPictures,
    SendingGate,
    SendRetryPolicy,
    count_posts,
    note_loss,
    until_next_post,
)
from social.settings import Settings
from social.urls import FeedUrls

_ASKING_SECONDS: Final = 5.0
"""Timeout for the orchestrator's check of an API key; a caller waits meanwhile."""
_MOST_ANSWERED: Final = 2_000_000
_READING_SECONDS: Final = 10.0
_CHECKING_SECONDS: Final = 3.0
"""Timeout for the check that the publisher serves a picture; the calling step has little time."""
_MOST_BYTES_OF_A_PICTURE: Final = 10_000_000
_MORE_SECONDS: Final = 30.0
"""Time for a post beyond that of its channel: to find its account and check that it may go out."""

READ_BY_MONITOR: Final = frozenset({"GET /v1/receipts", "GET /v1/activity", *READ_BY_RECORDER})
"""Routes that the monitor's key allows."""


def build(settings: Settings) -> Service:
    service = Service("social", settings, CATALOGUE)
    urls = FeedUrls.under(settings.public_url)
    due = DuePosts(service.database, SlotScheduler(), at_once=settings.posts_at_once)
    # Composing a long text takes milliseconds; small batches let the pages answer meanwhile.
    policy = QueuePolicy(
        max_batch_size=50,
        max_concurrency=16,
        handler_timeout=max(each.sending.seconds for each in CHANNELS.values() if each.sending)
        + _MORE_SECONDS,
    )
    orchestrator = _orchestrator(service, settings)
    standing = SendingGate(orchestrator, service.dependency("orchestrator", outages=(UnavailableError,)))
    most_attempts = settings.max_attempts or policy.max_attempts or 1
    door = _door(service, settings)
    sender = _sender(service, settings, door, due, standing, most_attempts)
    service.consume(
        "social-commands",
        on_batch(Handlers(urls, has_gateway=settings.gateway_url is not None).social_create, SocialCreate),
        on_each(sender.post_send, PostSend),
        on_batch(erase, SocialErase),
        policy=policy,
    )
    service.on_commit_loss(_tell_of_loss)
    feeds = create_app(service.database, urls, posts_per_page=settings.posts_per_page)
    pairs = [PairAccess("monitor", settings.monitor_to_social_key, READ_BY_MONITOR, scopes=OPERATORS_READING)]
    callers = PairKeys(_callers(orchestrator, settings), pairs)
    service.serve(create_api(service.database, callers, urls, due, feeds=feeds, receipts=sender.receipts))
    sender.receipts.add_metrics(service)
    scheduled = ScheduledPostPublisher(service.database, urls, standing)
    service.poll(
        "appointments",
        scheduled.publish_due,
        every=timedelta(seconds=15),
        next_due=until_next_publication,
        alarm=due.alarm,
    )
    service.poll(
        "due_posts",
        due.tick,
        every=timedelta(seconds=settings.post_tick_seconds),
        next_due=until_next_post,
        shortest=timedelta(milliseconds=100),  # while more posts are due than may be sent at once
        alarm=due.alarm,
    )
    service.poll("repeats", RepeatPlanner(service.database, due).tick, every=timedelta(seconds=30))
    if settings.gateway_url is not None:
        service.poll("reach", PostMetricsPoller(service.database, door).tick, every=timedelta(minutes=1))
    service.gauge("posts", "Posts that wait for a person, by state.", "state", count_pending)
    service.gauge(
        "posts_elsewhere", "Posts on other platforms that are not out yet, by state.", "state", count_posts
    )
    return service


async def _tell_of_loss(loss: CommitLoss, tx: Transaction) -> None:
    await note_loss(tx.connection, loss.kept_until)
    tx.send(DatabaseFellBack(service="social", kept_until=loss.kept_until))


def _callers(orchestrator: ServiceClient | None, settings: Settings) -> Authorise:
    """Authorises the service key, and API keys if an orchestrator is configured."""
    with_service_key = ServiceKey(settings.service_key)
    return with_service_key if orchestrator is None else IntrospectedKeys(orchestrator, with_service_key)


def _orchestrator(service: Service, settings: Settings) -> ServiceClient | None:
    if settings.orchestrator_url is None:
        return None
    peer = Peer(
        "the orchestrator", settings.orchestrator_url, "ORCHESTRATOR_URL", settings.key_for_orchestrator
    )
    client = ServiceClient(peer, timeout_seconds=_ASKING_SECONDS, max_bytes=_MOST_ANSWERED)
    service.closes(client)
    return client


def _pages(service: Service, settings: Settings, seconds: float) -> ServiceClient | None:
    if settings.pages_url is None:
        return None
    peer = Peer("the publisher", settings.pages_url, "PAGES_URL", None)
    client = ServiceClient(peer, timeout_seconds=seconds, max_bytes=_MOST_BYTES_OF_A_PICTURE)
    service.closes(client)
    return client


def _door(service: Service, settings: Settings) -> EffectsGateway:
    connected = settings.gateway_url is not None
    door = EffectsGateway(settings.gateway_url, settings.key_for_gateway if connected else None)
    service.closes(door)
    return door


def _sender(
    service: Service,
    settings: Settings,
    door: EffectsGateway,
    due: DuePosts,
    standing: SendingGate,
    most_attempts: int,
) -> PostSender:
    return PostSender(
        service.database,
        door,
        FeedUrls.under(settings.public_url),
        standing=standing,
        pictures=PublishedPictures(
            _pages(service, settings, _READING_SECONDS), _pages(service, settings, _CHECKING_SECONDS)
        ),
        due=due,
        patience=SendRetryPolicy(settings.post_pauses, most_attempts),
    )
