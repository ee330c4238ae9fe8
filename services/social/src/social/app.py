"""The composition root."""

from chassis import ServiceKey
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
    service.serve(create_api(service.database, ServiceKey(settings.service_key), urls, feeds=feeds))
    service.background("appointments", Appointments(service.database, urls).run)
    service.gauge("posts", "Posts that a person has to decide about, by state.", "state", count_pending)
    return service
