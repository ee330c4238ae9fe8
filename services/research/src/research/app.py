"""The only place that wires the service together."""

from typing import Final

from chassis import Connection
from chassis.http.client import Peer, UnavailableError
from chassis.http.introspection import callers_by_key
from chassis.http.service_key import Pair, PairKeys
from envelope.brand import CATALOGUE
from envelope.brand.payloads import DatabaseFellBack, ResearchErase, ResearchRequested
from messaging import CommitLoss, QueuePolicy, Service, Transaction, on_batch, on_each
from research import uploads
from research.clients.local_corpus import LocalCorpus
from research.clients.provider import ProviderUnavailableError
from research.erasure import erase
from research.handlers import Handlers
from research.http_api import create_api
from research.index import listing
from research.reading.pool import Readers
from research.settings import Settings
from research.web.gateway import Gateway
from research.web.looking import BrandSources, Web
from research.web.pages import Pages
from research.web.proposals import Proposals

POLICY: Final = QueuePolicy(
    # No brand's slow pages take more than a fourth of them.
    max_concurrency=12,
    # Leaves room for the first indexing of a large corpus, which a request waits for, and for searches and pages that have
    # to wait for their turns.
    handler_timeout=300.0,
)


READ_BY_ORCHESTRATOR: Final = frozenset({"GET /v1/research", "GET /v1/research/{research_id}"})
"""What the orchestrator's key opens."""


def build(settings: Settings) -> Service:
    service = Service("research", settings, CATALOGUE)
    readers = Readers()
    corpus = LocalCorpus(
        service.database,
        settings.corpus,
        rescan_seconds=settings.corpus_rescan_seconds,
        readers=readers,
        unread=uploads.unread,
    )
    upload_reading = uploads.UploadReading(service.database, readers)
    searching = service.dependency("local_corpus", outages=(ProviderUnavailableError,))
    handlers = Handlers(service.database, BrandSources(corpus, searching, _web(service, settings, readers)))
    service.consume(
        "research-commands",
        on_each(handlers.research_requested, ResearchRequested),
        on_batch(erase, ResearchErase),
        policy=POLICY,
    )
    keeper = settings.orchestrator_url and Peer(
        "the orchestrator", settings.orchestrator_url, "ORCHESTRATOR_URL", settings.key_for_orchestrator
    )
    callers = callers_by_key(keeper or None, settings.service_key, service.closes)
    pairs = [Pair("orchestrator", settings.orchestrator_to_research_key, READ_BY_ORCHESTRATOR)]
    service.serve(
        create_api(
            service.database,
            PairKeys(callers, pairs),
            look_again=corpus.look_again,
            look_for_uploads=upload_reading.look,
            has_gateway=settings.gateway_url is not None,
        )
    )
    service.gauge("documents", "Files of the corpus, and documents of brands.", "state", _documents)
    service.on_commit_loss(_tell_of_loss)
    service.background("corpus-index", corpus.run)
    service.background("uploads-index", upload_reading.run)
    return service


def _web(service: Service, settings: Settings, readers: Readers) -> Web | None:
    """Without a gateway's address there is no dependency on one either."""
    if settings.gateway_url is None:
        return None
    gateway = Gateway(
        settings.gateway_url,
        settings.key_for_gateway,
        dependency=service.dependency("gateway", outages=(UnavailableError,)),
    )
    service.closes(gateway)
    return Web(gateway, Pages(gateway, readers), Proposals(service.database, gateway, settings.model_name))


async def _documents(connection: Connection) -> dict[str, int]:
    """How many there are in each state."""
    folder, uploaded = await listing.counts(connection), await uploads.counts(connection)
    return {state: count + uploaded[state] for state, count in folder.items()}


async def _tell_of_loss(loss: CommitLoss, tx: Transaction) -> None:
    tx.send(DatabaseFellBack(service="research", kept_until=loss.kept_until))
