"""Links on a real database, asked about over real HTTP: gathered weekly, looked at once, and told by the audit."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from urllib.parse import urlsplit
from uuid import UUID

import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from chassis.http import server
from envelope import new_event_id
from messaging import Database
from orchestrator.article_workflow.store import insert_content
from orchestrator.links import LinkChecker, LinkProbe
from orchestrator.links.domain import LinkKind
from orchestrator.links.store import LOOKED_AT
from writing import Article, ArticleSource

PAGE = "https://acme.example/sites/acme/{}"
SOURCE = "https://source.example/{}"


@dataclass
class Outside:
    """The stand-in for the gateway (`/v1/pages/answer`) and for the publisher (`/sites/…`)."""

    statuses: dict[str, int] = field(default_factory=dict)
    """By the last part of the address; 200 where nothing is said."""
    refusal: tuple[int, str] | None = None
    """Status and type with which every question about the outside is refused."""
    asked: Counter[str] = field(default_factory=Counter)
    url: str = ""

    async def answer(self, request: Request) -> Response:
        address = request.query_params["url"]
        self.asked[address] += 1
        if self.refusal is not None:
            status, kind = self.refusal
            return JSONResponse({"type": kind, "detail": "not now"}, status, {"Retry-After": "600"})
        status = self.statuses.get(urlsplit(address).path.rpartition("/")[2], 200)
        return JSONResponse({"address": address, "final": address, "status": status})

    async def page(self, request: Request) -> Response:
        self.asked[request.url.path] += 1
        return Response(status_code=self.statuses.get(f"inside-{request.path_params['slug']}", 200))


@pytest.fixture
async def outside() -> AsyncIterator[Outside]:
    stand_in = Outside()
    app = Starlette(
        routes=[Route("/v1/pages/answer", stand_in.answer), Route("/sites/{brand}/{slug}", stand_in.page)]
    )
    serving = server.server(app, "127.0.0.1", 0)
    task = asyncio.create_task(serving.serve())
    async with asyncio.timeout(60):
        while not serving.started:  # noqa: ASYNC110  (the server has no event for it)
            await asyncio.sleep(0.01)
    stand_in.url = f"http://127.0.0.1:{serving.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield stand_in
    finally:
        serving.should_exit = True
        await task


@pytest.fixture
async def acme(orchestrator_database: Database, api: httpx.AsyncClient) -> Database:
    (await api.put("/v1/brands/acme", json={"name": "Acme"})).raise_for_status()
    return orchestrator_database


@pytest.fixture
async def checking(acme: Database, outside: Outside) -> AsyncIterator[LinkChecker]:
    async with aclosing(
        LinkProbe(outside.url, outside.url, SecretStr("test-service-key-0123456789"))
    ) as asking:
        yield LinkChecker(acme, asking)


async def put_article(database: Database, slug: str, *sources: str) -> UUID:
    content_id = new_event_id()
    async with database.transaction() as tx:
        await insert_content(
            tx.connection,
            content_id=content_id,
            brand_slug="acme",
            keyword=slug,
            research_id=new_event_id(),
            article=Article(slug, slug, "", "## A\n\nIt is.\n", 2, (), ()),
            sources=[
                ArticleSource(n, name, (), url=SOURCE.format(name)) for n, name in enumerate(sources, start=1)
            ],
        )
        await tx.connection.execute(
            "update content set published_url = $2 where content_id = $1", content_id, PAGE.format(slug)
        )
    return content_id


async def run_sql(database: Database, statement: str) -> None:
    async with database.connection() as connection:
        await connection.execute(statement)


async def a_week_later(database: Database) -> None:
    await run_sql(database, "update link_rounds set next_at = next_at - interval '7 days'")
    await run_sql(
        database,
        "update links set looked_at = looked_at - interval '7 days', since = since - interval '7 days',"
        " due_at = due_at - interval '7 days'",
    )
    await run_sql(database, "update audits set made_at = made_at - interval '7 days'")


async def look(checking: LinkChecker) -> None:
    while await checking.begin_round():
        pass
    while await checking.look_at_next():
        pass


async def found(api: httpx.AsyncClient) -> list[tuple[str, str]]:
    audit = (await api.post("/v1/brands/acme/audits")).json()
    return [(each["kind"], each["address"]) for each in audit["findings"]]


async def test_what_is_gone_two_weeks_in_a_row_is_told_and_once_it_is_back_no_more(
    acme: Database, api: httpx.AsyncClient, outside: Outside, checking: LinkChecker
) -> None:
    await put_article(acme, "tea", "leaf", "slow", "fine")
    outside.statuses |= {"leaf": 404, "slow": 503}

    await look(checking)
    assert await found(api) == []
    await a_week_later(acme)
    await look(checking)
    assert await found(api) == [("dead_link", SOURCE.format("leaf"))]
    assert outside.asked[SOURCE.format("leaf")] == 2

    outside.statuses.clear()
    await a_week_later(acme)
    await look(checking)
    assert await found(api) == []


async def test_a_page_is_told_at_once_if_the_publisher_or_the_public_address_has_none(
    acme: Database, api: httpx.AsyncClient, outside: Outside, checking: LinkChecker
) -> None:
    for slug in ("well", "lost", "unseen"):
        await put_article(acme, slug)
    down = await put_article(acme, "down")
    outside.statuses |= {"inside-lost": 404, "unseen": 410, "inside-down": 410}
    await run_sql(
        acme, f"update content set taken_down_at = now(), held_for = '{{x}}' where content_id = '{down}'"
    )
    await look(checking)

    assert sorted(await found(api)) == [
        ("page_unanswered", PAGE.format("lost")),
        ("page_unanswered", PAGE.format("unseen")),
    ]
    assert outside.asked["/sites/acme/down"] == 0


async def test_a_page_that_is_not_public_is_there_if_the_publisher_says_so(
    acme: Database, api: httpx.AsyncClient, outside: Outside, checking: LinkChecker
) -> None:
    await put_article(acme, "tea")
    outside.refusal = (422, "page.private_address")
    await look(checking)
    await a_week_later(acme)
    await look(checking)
    assert await found(api) == []


@pytest.mark.extended
@pytest.mark.parametrize("refusal", [(422, "page.not_configured"), (503, "about:blank")])
async def test_nobody_to_ask_is_said_and_looked_at_later(
    acme: Database,
    api: httpx.AsyncClient,
    outside: Outside,
    checking: LinkChecker,
    refusal: tuple[int, str],
) -> None:
    await put_article(acme, "tea", "leaf")
    outside.statuses["leaf"], outside.refusal = 404, refusal
    await look(checking)

    audit = (await api.post("/v1/brands/acme/audits")).json()
    (note,) = audit["notes"]
    assert note.startswith("1 of its pages and sources could not be checked yet: the gateway")
    read = (await api.get(f"/v1/brands/acme/audits/{audit['audit_id']}")).json()
    assert read["notes"] == audit["notes"]

    outside.refusal = None
    await run_sql(acme, "update links set due_at = now() where due_at is not null")
    await look(checking)
    await run_sql(acme, "update audits set made_at = made_at - interval '1 hour'")
    assert (await api.post("/v1/brands/acme/audits")).json()["notes"] == []


async def test_a_site_that_is_asked_often_has_its_turn_later(
    acme: Database, outside: Outside, checking: LinkChecker
) -> None:
    await put_article(acme, "tea", "leaf")
    outside.refusal = (424, "page.busy")
    await look(checking)
    assert outside.asked[SOURCE.format("leaf")] == 1
    async with acme.connection() as connection:
        due = await connection.fetchval(
            "select due_at > now() + interval '9 minutes' and looked_at is null from links where kind = 'source'"
        )
    assert due is True


async def test_a_link_is_looked_at_once_in_a_round_on_several_replicas_and_no_more_than_so_many(
    acme: Database, outside: Outside, checking: LinkChecker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LOOKED_AT, LinkKind.SOURCE, 5)
    for slug in ("one", "two"):
        await put_article(acme, slug, *(f"{slug}-{number}" for number in range(4)), "shared")

    await asyncio.gather(*(look(checking) for _ in range(4)))
    sources = {address: count for address, count in outside.asked.items() if "source.example" in address}
    assert (len(sources), set(sources.values())) == (5, {1})

    await a_week_later(acme)
    await look(checking)
    sources = {address: count for address, count in outside.asked.items() if "source.example" in address}
    assert (len(sources), sum(sources.values())) == (9, 10)


async def test_what_a_replica_died_over_comes_back(
    acme: Database, outside: Outside, checking: LinkChecker
) -> None:
    await put_article(acme, "tea", "leaf")
    await checking.begin_round()
    await run_sql(acme, "update links set in_hand_until = now() + interval '1 minute'")
    assert not await checking.look_at_next()
    await run_sql(acme, "update links set in_hand_until = now() - interval '1 second'")
    await look(checking)
    assert outside.asked[SOURCE.format("leaf")] == 1


async def test_what_no_article_names_any_more_is_forgotten(
    acme: Database, outside: Outside, checking: LinkChecker
) -> None:
    await put_article(acme, "tea", "leaf", "cup")
    await look(checking)
    await run_sql(acme, "update content set sources = jsonb_build_array(sources -> 0)")
    await a_week_later(acme)
    await look(checking)
    async with acme.connection() as connection:
        left = await connection.fetch("select address from links where kind = 'source'")
    assert [row["address"] for row in left] == [SOURCE.format("leaf")]
