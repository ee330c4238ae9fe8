"""The only place that wires the service together."""

from chassis import ServiceKey
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ResearchRequested
from messaging import QueuePolicy, Service, on_each
from research import index_store
from research.clients.local_corpus import LocalCorpus
from research.clients.provider import ProviderUnavailableError
from research.handlers import Handlers
from research.http_api import create_api
from research.reading.pool import Readers
from research.settings import Settings


def build(settings: Settings) -> Service:
    service = Service("research", settings, CATALOGUE)
    readers = Readers()
    corpus = LocalCorpus(
        service.database, settings.corpus, rescan_seconds=settings.corpus_rescan_seconds, readers=readers
    )
    searching = service.dependency(corpus.name, outages=(ProviderUnavailableError,))
    handlers = Handlers(service.database, corpus, searching)
    service.consume(
        "research-commands",
        on_each(handlers.research_requested, ResearchRequested),
        # The deadline leaves room for the first indexing of a large corpus, which a request waits for.
        policy=QueuePolicy(max_concurrency=8, handler_timeout=120.0),
    )
    service.serve(
        create_api(service.database, ServiceKey(settings.service_key), look_again=corpus.look_again)
    )
    service.gauge("documents", "Files of the corpus.", "state", index_store.counts)
    service.background("corpus-index", corpus.run)
    return service
