"""Fixtures of the calendar's tests: the service's database and API, without a broker, and posts in it."""

import json
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from starlette.requests import Request

from chassis.database.pool import Connections
from chassis.http.callers import SERVICE, Caller, Scope
from chassis.testing import serving
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from social.api import create_api
from social.calendar import SlotScheduler
from social.sending import DuePosts
from social.sending import store as sending
from social.urls import FeedUrls

BRAND, ACCOUNT = "daily-grind", "mastodon-eu"
WEEK = [{"times": ["09:00", "12:00", "18:00"]}]


class Calendar:
    """The service's calendar: its API, and posts that become due."""

    def __init__(
        self, database: Database, due: DuePosts, api: httpx.AsyncClient, others: httpx.AsyncClient
    ) -> None:
        self.database = database
        self.due = due
        self.api = api
        self.others = others
        """As the holder of a key for another brand asks."""

    async def sql(self, statement: str, *arguments: Any) -> Any:
        async with self.database.connection() as connection:
            return await connection.fetch(statement, *arguments)

    async def set_slots(self, account: str = ACCOUNT, brand: str = BRAND, **rules: Any) -> dict[str, Any]:
        answer = await self.api.put(
            f"/v1/brands/{brand}/accounts/{account}/slots", json={"slots": WEEK, **rules}
        )
        assert answer.is_success, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def add(
        self,
        state: str = "new",
        due_at: datetime | None = None,
        *,
        brand: str = BRAND,
        account: str = ACCOUNT,
        **columns: Any,
    ) -> UUID:
        """A post with a known account and text."""
        number = uuid4()
        material = {
            "title": f"Article {number}",
            "keyword": "coffee",
            "description": f"What {number} says.",
            "points": [f"One of {number} is so.", f"Two of {number} are so.", f"Three of {number} are so."],
            "tags": [],
            "link": f"https://daily-grind.example/{number}",
            "pictures": [],
            "language": None,
        } | columns.pop("material", {})
        row = {
            "post_id": uuid4(),
            "brand_slug": brand,
            "content_id": uuid4(),
            "asked_as": account,
            "entry": account,
            "channel": "mastodon",
            "account": account,
            "text": f"What {number} says.",
            "material": json.dumps(material),
            "state": state,
            "due_at": due_at,
            **columns,
        }
        names = ", ".join(row)
        places = ", ".join(f"${place}" for place in range(1, len(row) + 1))
        await self.sql(f"insert into channel_posts ({names}) values ({places})", *row.values())
        post_id: UUID = row["post_id"]
        return post_id

    async def place(self, post_id: UUID) -> Any:
        """As social plans a post whose text has been written: why it is not posted, if it is not."""
        async with self.database.transaction() as tx:
            post = await sending.lock(tx.connection, post_id)
            assert post is not None
            return await self.due.plan(tx.connection, post)

    async def planned(self, **columns: Any) -> UUID:
        """A new post that has got its time."""
        post_id = await self.add(**columns)
        await self.place(post_id)
        return post_id

    async def entry(self, post_id: UUID) -> dict[str, Any]:
        answer = await self.api.get(f"/v1/calendar/{post_id}")
        assert answer.is_success, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def times(self, *post_ids: UUID) -> list[datetime]:
        return [datetime.fromisoformat((await self.entry(each))["at"]) for each in post_ids]


@pytest.fixture
async def calendar_database(database_url: str) -> AsyncIterator[Database]:
    connections = Connections(database_url, name="social test", size=8)
    await connections.open()
    try:
        relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
        yield Database(connections, relay, "social", CATALOGUE)
    finally:
        await connections.close()


@pytest.fixture
async def calendar(calendar_database: Database) -> AsyncIterator[Calendar]:
    async def authorise(request: Request) -> Caller:
        bound = request.headers.get("X-Brand")
        return SERVICE if bound is None else Caller("other's", frozenset(Scope), frozenset({bound}))

    urls = FeedUrls.under("http://127.0.0.1:1")
    due = DuePosts(calendar_database, SlotScheduler(), at_once=100)
    app = create_api(calendar_database, authorise, urls, due, feeds=_nothing)
    async with (
        serving(app) as origin,
        httpx.AsyncClient(base_url=origin, trust_env=False) as api,
        httpx.AsyncClient(base_url=origin, trust_env=False, headers={"X-Brand": "other-brand"}) as others,
    ):
        yield Calendar(calendar_database, due, api, others)


async def _nothing(*_: Any) -> None:
    raise AssertionError("nobody asks for a page")
