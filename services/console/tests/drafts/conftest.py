"""Drafts of the brand `acme` at a real orchestrator, a real publisher, and what research would answer about their sources."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from chassis.database.pool import Connections
from chassis.testing import running, serving
from envelope import new_event_id
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from orchestrator.app import build as build_orchestrator
from orchestrator.article_workflow.store import insert_content
from orchestrator.settings import Settings as OrchestratorSettings
from publisher.app import build as build_publisher
from publisher.settings import Settings as PublisherSettings
from writing import Article, ArticleSource
from writing.article import ArticleEvidence, CitedPassage, CutPlace, CutSentence, KeptSentence
from writing.quality.measures import Measure

KEY = "test-service-key-0123456789"
HOSTILE = '<script>window.hacked=1</script><img src=x onerror="window.hacked=1">'
COUNT = 20
"""Drafts that wait; the second one is hostile."""
RESEARCH = {
    "research_id": "x",
    "sources": [
        {
            "n": 1,
            "title": "Steeping",
            "url": None,
            "path": None,
            "titles_above": ["Coffee"],
            "passages": [],
            "section": {
                "title": "Storage",
                "level": 2,
                "children": [],
                "blocks": [
                    {"p": f"Coffee is kept cold. {HOSTILE}"},
                    {"p": "Steep it for twelve hours. It keeps for two weeks in the refrigerator."},
                    {"ul": [[{"p": "Use a bottle."}]]},
                ],
            },
        }
    ],
}


def _article(number: int) -> Article:
    def kept(text: str, passage: str = "s1p1", verdict: str = "held", by: str = "rules") -> KeptSentence:
        return KeptSentence(text, "", (1,), (passage,), verdict, by)

    cut = CutSentence(
        "It keeps for a month.",
        "",
        ("s1p1",),
        "not_said",
        "a second reader found that its passages do not say it",
        "It keeps for two weeks.",
        "Cold brew steeps for twelve hours.",
        CutPlace.BEHIND,
    )
    passages = {
        "s1p1": CitedPassage(
            1,
            ("Coffee", "Storage"),
            "Steep it for twelve hours. It keeps for two weeks in the refrigerator.",
        ),
        "s1p2": CitedPassage(1, ("Coffee",), "Gone from the source."),
    }
    return Article(
        title=f"Cold brew {number} {HOSTILE}" if number == 2 else f"Cold brew {number}",
        slug=f"cold-brew-{number}",
        meta_description="How to steep it.",
        body_markdown=(
            "Cold brew steeps for twelve hours. [1] It tastes mild. [1]\n\n## Storage\n\n"
            "It keeps for two weeks in the refrigerator. [1]\n\n- Use glass. [1]\n- Label the bottle. [1]\n"
        ),
        word_count=30,
        key_points=("It tastes mild.",),
        cited=(1,),
        label="Written by a model. No person has reviewed it.",
        evidence=ArticleEvidence(
            (
                kept("Cold brew steeps for twelve hours."),
                kept("It tastes mild.", verdict="confirmed", by="judge-1"),
                kept("It keeps for two weeks in the refrigerator."),
                kept("Use glass.", "s1p2"),
                kept("Label the bottle."),
            ),
            (cut,),
            passages,
        ),
    )


@pytest.fixture
async def orchestrator_database_url(make_database: Callable[[str], Awaitable[str]]) -> str:
    return await make_database("orchestrator")


@pytest.fixture
async def service_urls(
    orchestrator_database_url: str,
    make_database: Callable[[str], Awaitable[str]],
    broker_urls: dict[str, str],
) -> AsyncIterator[dict[str, str]]:
    settings = {
        "database_url": orchestrator_database_url,
        "rabbitmq_url": broker_urls["orchestrator"],
        "service_key": KEY,
        "http_port": 0,
    }

    async def research(_: Request) -> Response:
        return JSONResponse(RESEARCH)

    stand_in = Starlette(routes=[Route("/v1/research/{research_id}", research)])
    async with (
        running(build_orchestrator(OrchestratorSettings.model_validate(settings))) as orchestrator,
        serving(stand_in) as research_url,
    ):
        orchestrator_url = f"http://127.0.0.1:{orchestrator.port}"
        of_publisher = {
            "database_url": await make_database("publisher"),
            "rabbitmq_url": broker_urls["publisher"],
            "service_key": KEY,
            "http_port": 0,
            "orchestrator_url": orchestrator_url,
        }
        async with running(build_publisher(PublisherSettings.model_validate(of_publisher))) as publisher:
            yield {
                "orchestrator_url": orchestrator_url,
                "research_url": research_url,
                "publisher_url": f"http://127.0.0.1:{publisher.port}",
            }


@pytest.fixture
async def drafts(console: Any, orchestrator_database_url: str) -> list[str]:
    """Ids of drafts that wait, the oldest first."""
    await console.orchestrator.set_brand("acme", name="Acme", approval="everything")
    connections = Connections(orchestrator_database_url, name="test", size=2)
    await connections.open()
    made = [new_event_id() for _ in range(COUNT)]
    missed = Measure("words", 231, "231", least=250, most=None, problem="231 words, fewer than 250")
    try:
        relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
        database = Database(connections, relay, "orchestrator", CATALOGUE)
        async with database.transaction() as tx:
            for number, content_id in enumerate(made, 1):
                await insert_content(
                    tx.connection,
                    content_id=content_id,
                    brand_slug="acme",
                    keyword=f"cold brew {number}",
                    research_id=UUID(int=5),
                    article=_article(number),
                    sources=[
                        ArticleSource(
                            n=1, title=f"Steeping {HOSTILE}", passages=(), url="javascript:alert(1)"
                        )
                    ],
                    measures=[missed],
                    held_for=("its brand wants to see every article before it is published",),
                )
    finally:
        await connections.close()
    return list(map(str, made))
