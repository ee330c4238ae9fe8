"""The brand `acme` beside a real orchestrator and a real social: drafts, posts with slots, and schedules."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx
import pytest

from chassis.database.pool import Connections
from chassis.testing import running
from client import Address
from client.services.social import AsyncSocial
from envelope import new_event_id
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from orchestrator.app import build as build_orchestrator
from orchestrator.article_workflow.store import insert_content
from orchestrator.settings import Settings as OrchestratorSettings
from social.app import build as build_social
from social.settings import Settings as SocialSettings
from writing import Article

KEY = "test-service-key-0123456789"
HOSTILE = '<script>window.hit = 1</script>"><img src=x onerror="window.hit = 1">'
ACCOUNT = "mastodon-eu"


@pytest.fixture
async def databases(make_database: Callable[[str], Awaitable[str]]) -> dict[str, str]:
    return {name: await make_database(name) for name in ("orchestrator", "social")}


@pytest.fixture
async def service_urls(
    databases: dict[str, str], broker_urls: dict[str, str]
) -> AsyncIterator[dict[str, str]]:
    def settings(name: str, **more: Any) -> dict[str, Any]:
        return {
            "database_url": databases[name],
            "rabbitmq_url": broker_urls[name],
            "service_key": KEY,
            "http_port": 0,
            **more,
        }

    async with running(
        build_orchestrator(OrchestratorSettings.model_validate(settings("orchestrator")))
    ) as orchestrator:
        url = f"http://127.0.0.1:{orchestrator.port}"
        async with running(
            build_social(SocialSettings.model_validate(settings("social", orchestrator_url=url)))
        ) as social:
            yield {"orchestrator_url": url, "social_url": f"http://127.0.0.1:{social.port}"}


@dataclass(frozen=True)
class Planned:
    """The entries of the calendar of `acme`."""

    social: AsyncSocial
    orchestrator: Any
    databases: dict[str, str]
    base: datetime
    """Ten in the morning in Berlin, on a Wednesday to come that is neither first nor last of a month's weeks."""
    draft: str
    post: str
    other: str
    """Another post of the same account, an hour later."""

    async def post_time(self, post_id: str) -> datetime:
        return datetime.fromisoformat((await self.social.get_calendar_entry(post_id))["at"])

    async def sql(self, service: str, statement: str, *arguments: Any) -> None:
        connection = await asyncpg.connect(self.databases[service])
        try:
            await connection.execute(statement, *arguments)
        finally:
            await connection.close()


async def add_draft(database_url: str, title: str) -> str:
    """A draft that waits for a person."""
    connections = Connections(database_url, name="test", size=2)
    await connections.open()
    content_id = new_event_id()
    try:
        relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
        async with Database(connections, relay, "orchestrator", CATALOGUE).transaction() as tx:
            await insert_content(
                tx.connection,
                content_id=content_id,
                brand_slug="acme",
                keyword="cold brew",
                research_id=UUID(int=5),
                article=Article(
                    title=title,
                    slug="cold-brew",
                    meta_description="How to steep it.",
                    body_markdown="Cold brew steeps for twelve hours.",
                    word_count=5,
                    key_points=("It tastes mild.",),
                    cited=(),
                ),
                sources=[],
                measures=[],
                held_for=("its brand wants to see every article before it is published",),
            )
    finally:
        await connections.close()
    return str(content_id)


async def add_post(database_url: str, title: str, at: datetime) -> str:
    """A planned post on another platform."""
    row = {
        "post_id": uuid4(),
        "brand_slug": "acme",
        "content_id": uuid4(),
        "asked_as": ACCOUNT,
        "entry": ACCOUNT,
        "channel": "mastodon",
        "account": ACCOUNT,
        "text": f"About {title}.",
        "material": json.dumps(
            {
                "title": title,
                "keyword": "coffee",
                "description": "",
                "points": [],
                "tags": [],
                "link": "https://acme.example/tea",
                "pictures": [],
                "language": None,
            }
        ),
        "state": "planned",
        "due_at": at,
    }
    connection = await asyncpg.connect(database_url)
    try:
        places = ", ".join(f"${number}" for number in range(1, len(row) + 1))
        await connection.execute(
            f"insert into channel_posts ({', '.join(row)}) values ({places})", *row.values()
        )
    finally:
        await connection.close()
    return str(row["post_id"])


@pytest.fixture
async def planned(
    console: Any, databases: dict[str, str], service_urls: dict[str, str]
) -> AsyncIterator[Planned]:
    orchestrator = console.orchestrator
    await orchestrator.set_brand(
        "acme",
        name="Acme",
        approval="everything",
        quiet_hours={"begin": "23:00", "end": "06:00", "time_zone": "Europe/Berlin"},
    )
    # The third Wednesday of the next month: its neighbours are of the same month.
    first = (datetime.now(UTC).replace(day=1) + timedelta(days=32)).replace(day=1)
    wednesday = first + timedelta(days=(2 - first.weekday()) % 7 + 14)
    base = wednesday.replace(hour=10, minute=0, second=0, microsecond=0)
    draft = await add_draft(databases["orchestrator"], f"Cold brew {HOSTILE}")
    await orchestrator.approve_draft(draft, version=1, publish_at=base)
    await orchestrator.set_schedule(
        "acme",
        "weekly-basics",
        keywords=["cold brew", "moka pot"],
        cron="0 9 * * MON",
        time_zone="Europe/Berlin",
    )
    async with AsyncSocial(Address(service_urls["social_url"], KEY)) as social:
        await social.set_account_slots(
            "acme",
            ACCOUNT,
            time_zone="Europe/Berlin",
            slots=[{"days": ["mon", "wed"], "times": ["09:00", "17:30"]}],
            spacing_minutes=30,
            quiet_hours={"begin": "22:00", "end": "07:00"},
        )
        post = await add_post(databases["social"], f"Tea {HOSTILE}", base + timedelta(hours=1))
        other = await add_post(databases["social"], "Moka", base + timedelta(days=1, hours=2))
        yield Planned(social, orchestrator, databases, base, draft, post, other)


@pytest.fixture
async def viewer(console: Any) -> AsyncIterator[httpx.AsyncClient]:
    """Eve, who may only look."""
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as made:
        link = await console.invite("Eve", "viewer")
        answer = await made.post(link, data={"name": "Eve", "password": "correct horse battery staple"})
        assert answer.status_code == 303
        yield made
