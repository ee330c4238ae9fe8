"""Fixtures of the publisher's tests: its database, and a server that keeps to the orchestrator's HTTP contract."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from chassis.database.pool import Connections
from envelope.brand import CATALOGUE
from messaging import Context, Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from publisher.domain import Article
from publisher.markup import to_html
from publisher.store import RenderedArticle

SERVICE_KEY = "test-service-key-0123456789"


@pytest.fixture
async def database(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Database]:
    """The publisher's migrated database. No broker is connected, so what is sent stays in the outbox to be seen."""
    connections = Connections(await make_database("publisher"), name="publisher test", size=6)
    await connections.open()
    try:
        yield Database(
            connections,
            Relay(connections, Publisher("amqp://127.0.0.1:1/", name="none")),
            "publisher",
            CATALOGUE,
        )
    finally:
        await connections.close()


class OrchestratorStandIn:
    """`GET /v1/content/{id}` over HTTP, with the orchestrator's key check, entity tags and error shapes."""

    def __init__(self) -> None:
        self.documents: dict[UUID, dict[str, Any]] = {}
        self.versions: dict[tuple[UUID, int], dict[str, Any]] = {}
        self.answer: Callable[[Request], Response] | None = None
        """Set to answer every request otherwise."""
        self.statuses: list[int] = []
        self.asked = threading.Event()
        self.url = ""
        self.has_lists = True
        self.lists: list[int] = []
        """How many articles were asked for in each request for several."""

    def add(self, **changes: Any) -> UUID:
        """Puts an article in place and returns its content_id."""
        document = article_document(**changes)
        content_id = UUID(document["content_id"])
        self.documents[content_id] = document
        return content_id

    async def content(self, request: Request) -> Response:
        response = self._respond(request)
        self.statuses.append(response.status_code)
        self.asked.set()
        return response

    def _respond(self, request: Request) -> Response:
        if self.answer is not None:
            return self.answer(request)
        if request.headers.get("x-service-key") != SERVICE_KEY:
            return JSONResponse({"detail": "send the service key in the header X-Service-Key"}, 401)
        document = self.documents.get(UUID(request.path_params["content_id"]))
        if document is None:
            return JSONResponse({"detail": "there is no such content"}, 404)
        response = JSONResponse(document)
        etag = self._etag(document)
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers={"ETag": etag})
        response.headers["ETag"] = etag
        return response

    async def several(self, request: Request) -> Response:
        """`GET /v1/content?id=…&id=…`: those of them that are there."""
        self.statuses.append(200 if self.has_lists else 404)
        if not self.has_lists:
            return JSONResponse({"detail": "Not Found"}, 404)
        asked = [UUID(each) for each in request.query_params.getlist("id")]
        self.lists.append(len(asked))
        found = [self.documents[each] for each in asked if each in self.documents]
        return JSONResponse({"items": [{"etag": self._etag(each), "content": each} for each in found]})

    async def version(self, request: Request) -> Response:
        """`GET /v1/content/{id}/versions/{version}`."""
        found = self.versions.get((UUID(request.path_params["content_id"]), request.path_params["version"]))
        return (
            JSONResponse({"detail": "there is no such version"}, 404)
            if found is None
            else JSONResponse(found)
        )

    @staticmethod
    def _etag(document: dict[str, Any]) -> str:
        return f'"{hash(JSONResponse(document).body) & 0xFFFFFFFF:x}"'


def article_document(**changes: Any) -> dict[str, Any]:
    """The body of a complete answer, as JSON types."""
    return {
        "content_id": str(uuid4()),
        "brand": {
            "slug": "daily-grind",
            "name": "The Daily Grind",
            "description": "Better coffee at home.",
            "language": "en",
        },
        "keyword": "cold brew",
        "slug": "cold-brew",
        "title": "Cold brew at home",
        "meta_description": "How to steep, strain and keep it.",
        "body_markdown": (
            "Cold brew is coffee steeped in cold water. [1]\n\n## Ratio\n\nUse one part coffee to eight of water. [2]\n\n"
            "## Time\n\nTwelve hours are enough. [1]\n\n## Storage\n\nIt keeps for a week in the fridge. [2]"
        ),
        "word_count": 460,
        "key_points": ["Twelve hours are enough."],
        "label": "Extractive digest – no AI model configured",  # noqa: RUF001 - the label's own dash
        "sources": [
            {
                "n": 1,
                "title": "Steeping",
                "url": "https://example.org/steeping",
                "path": None,
                "licence": "CC BY 4.0",
            },
            {"n": 2, "title": "Ratios", "url": None, "path": "ratios.md", "licence": None},
        ],
        "created_at": "2026-01-01T10:00:00Z",
        "updated_at": "2026-01-01T10:00:00Z",
        "published_url": None,
    } | changes


@pytest.fixture
def new_article() -> Callable[..., dict[str, Any]]:
    return article_document


@pytest.fixture
def publication() -> Callable[..., RenderedArticle]:
    """Makes an article that is ready to be stored."""

    def make(**changes: Any) -> RenderedArticle:
        article = Article.model_validate(article_document(**changes))
        numbers = frozenset(source.n for source in article.sources)
        return RenderedArticle(article, to_html(article.body_markdown, numbers), '"1"')

    return make


@pytest.fixture
def orchestrator() -> Iterator[OrchestratorStandIn]:
    stand_in = OrchestratorStandIn()
    app = Starlette(
        routes=[
            Route("/v1/content", stand_in.several),
            Route("/v1/content/{content_id}/versions/{version:int}", stand_in.version),
            Route("/v1/content/{content_id}", stand_in.content),
        ]
    )
    server = uvicorn.Server(
        uvicorn.Config(app, port=0, log_config=None, lifespan="off", timeout_graceful_shutdown=0)
    )
    started = threading.Event()

    async def serve() -> None:
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        await server.startup()
        started.set()
        await server.main_loop()
        await server.shutdown()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert started.wait(60)
    stand_in.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    yield stand_in
    server.should_exit = True
    thread.join(60)
    assert not thread.is_alive()


@pytest.fixture
def context() -> Context:

    return Context(queue="publisher-commands", attempt=1, log=structlog.get_logger())
