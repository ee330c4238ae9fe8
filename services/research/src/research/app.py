"""Wires the service together: settings, database, handlers, API and background tasks."""

from datetime import timedelta
from typing import Final

from chassis import Connection
from chassis.http.client import Peer, UnavailableError
from chassis.http.introspection import callers_by_key
from chassis.http.service_key import OPERATORS_READING, PairAccess, PairKeys
from envelope.brand import CATALOGUE
from envelope.brand.payloads import DatabaseFellBack, ResearchErase, ResearchRequested
from messaging import CommitLoss, QueuePolicy, Service, Transaction, on_batch, on_each
from messaging.ledger_routes import READ_BY_RECORDER
from reading.pool import ReaderPool
from research import uploads
from research.clients.local_corpus import LocalCorpus
from research.clients.provider import ProviderUnavailableError
from research.erasure import erase
from research.handlers import Handlers
from research.http_api import create_api
from research.index import listing
from research.settings import Settings
from research.web.gateway import ResearchGateway
from research.web.pages import WebPageReader
from research.web.proposals import QueryProposer
from research.web.web_search import SourcesProvider, WebSearcher

POLICY: Final = QueuePolicy(
    # One brand's slow pages occupy a fourth of them at most.
    max_concurrency=12,
    # Requests may wait for the first indexing of a large corpus, and for slots to search and to fetch pages.
    handler_timeout=300.0,
)


READ_BY_ORCHESTRATOR: Final = frozenset({"GET /v1/research", "GET /v1/research/{research_id}"})
"""The routes that the orchestrator's key opens."""


def build(settings: Settings) -> Service:
    service = Service("research", settings, CATALOGUE)
    readers = ReaderPool()
    corpus = LocalCorpus(
        service.database,
        settings.corpus,
        readers=readers,
        unread=uploads.count_unread,
    )
    upload_reading = uploads.UploadIndexer(service.database, readers)
    searching = service.dependency("local_corpus", outages=(ProviderUnavailableError,))
    handlers = Handlers(
        service.database, SourcesProvider(corpus, searching, _web(service, settings, readers))
    )
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
    pairs = [
        PairAccess("orchestrator", settings.orchestrator_to_research_key, READ_BY_ORCHESTRATOR),
        PairAccess("monitor", settings.monitor_to_research_key, READ_BY_RECORDER, scopes=OPERATORS_READING),
    ]
    service.serve(
        create_api(
            service.database,
            PairKeys(callers, pairs),
            look_again=corpus.alarm.ring,
            look_for_uploads=upload_reading.alarm.ring,
            may_quote=corpus.may_quote,
            has_gateway=settings.gateway_url is not None,
        )
    )
    service.gauge("documents", "Files of the corpus, and documents of brands.", "state", _documents)
    service.on_commit_loss(_tell_of_loss)
    rescan = timedelta(seconds=settings.corpus_rescan_seconds)
    service.poll("corpus-index", corpus.refresh, every=rescan, alarm=corpus.alarm)
    for number in range(1, uploads.BRANDS_AT_A_TIME + 1):
        service.poll(
            f"uploads-index {number}",
            upload_reading.index_waiting,
            every=timedelta(seconds=10),  # for uploads that another replica accepted and did not index
            alarm=upload_reading.alarm,
        )
    return service


def _web(service: Service, settings: Settings, readers: ReaderPool) -> WebSearcher | None:
    """Return the web search, or None without `GATEWAY_URL`; then there is no dependency on the gateway either."""
    if settings.gateway_url is None:
        return None
    gateway = ResearchGateway(
        settings.gateway_url,
        settings.key_for_gateway,
        dependency=service.dependency("gateway", outages=(UnavailableError,)),
    )
    service.closes(gateway)
    return WebSearcher(
        gateway,
        WebPageReader(gateway, readers),
        QueryProposer(service.database, gateway, settings.model_name),
    )


async def _documents(connection: Connection) -> dict[str, int]:
    """Count the corpus files and uploads in each state."""
    folder, uploaded = await listing.count_by_state(connection), await uploads.count_by_state(connection)
    return {state: count + uploaded[state] for state, count in folder.items()}


async def _tell_of_loss(loss: CommitLoss, tx: Transaction) -> None:
    tx.send(DatabaseFellBack(service="research", kept_until=loss.kept_until))
