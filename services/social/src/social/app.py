"""The composition root."""

from typing import Final

from chassis import ServiceKey
from chassis.http.callers import Authorise
from chassis.http.client import Peer, ServiceClient
from chassis.http.introspection import KeysKeptElsewhere
from envelope.brand import CATALOGUE
from envelope.brand.payloads import SocialCreate, SocialErase
from messaging import QueuePolicy, Service, on_batch
from social.api import create_api
from social.erasure import erase
from social.handlers import Handlers
from social.http_api import create_app
from social.review import Appointments, count_pending
from social.settings import Settings
from social.urls import FeedUrls

_ASKING_SECONDS: Final = 5.0
"""For whose an API key is: somebody waits for the answer."""
_MOST_ANSWERED: Final = 64_000


def build(settings: Settings) -> Service:
    service = Service("social", settings, CATALOGUE)
    urls = FeedUrls.under(settings.public_url)
    # Composing takes a few milliseconds a command; small batches keep the pages answering meanwhile.
    service.consume(
        "social-commands",
        on_batch(Handlers(urls).social_create, SocialCreate),
        on_batch(erase, SocialErase),
        policy=QueuePolicy(max_batch_size=25),
    )
    feeds = create_app(service.database, urls, posts_per_page=settings.posts_per_page)
    service.serve(create_api(service.database, _callers(settings), urls, feeds=feeds))
    service.background("appointments", Appointments(service.database, urls).run)
    service.gauge("posts", "Posts that a person has to decide about, by state.", "state", count_pending)
    return service


def _callers(settings: Settings) -> Authorise:
    """Who has the service key, and who has an API key, if there is an orchestrator to ask."""
    with_service_key = ServiceKey(settings.service_key)
    if settings.orchestrator_url is None:
        return with_service_key
    orchestrator = Peer(
        "the orchestrator", settings.orchestrator_url, "ORCHESTRATOR_URL", settings.key_for_orchestrator
    )
    keeper = ServiceClient(orchestrator, timeout_seconds=_ASKING_SECONDS, max_bytes=_MOST_ANSWERED)
    return KeysKeptElsewhere(keeper, with_service_key)
