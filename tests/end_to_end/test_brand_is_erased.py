"""A brand erased from the databases of all services: what each handler leaves behind, with the messages carried by hand.

So every message can come late, twice and in any order. That a broker carries them is what the other tests show.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import httpx
import pytest
from starlette.requests import Request

from chassis.database.pool import Connections
from chassis.http.callers import SERVICE, Caller
from chassis.testing import serving
from envelope import new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.catalogue import SERVICES
from envelope.brand.payloads import (
    ContentGenerate,
    ContentPublish,
    ResearchRequested,
)
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from messaging.testing import write_records
from orchestrator.api import http_api
from orchestrator.article_workflow import ContentWorkflow
from orchestrator.erasure import ErasureRetrier
from orchestrator.erasure.store import _OF_THE_BRAND
from publisher.handlers import Handlers as PublisherHandlers
from publisher.http_api import create_app as create_sites
from publisher.urls import SiteUrls
from research.handlers import Handlers as ResearchHandlers
from tests.fixtures.brands.everything import (
    CONTEXT,
    SECRET,
    FilledBrand,
    create_post,
    die,
    fill,
    message_of,
    ours,
    publication,
)


@pytest.fixture
async def everything(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[FilledBrand]:
    """The databases of all services; each of two brands has something everywhere."""

    async def authorise(_: Request) -> Caller:
        return SERVICE

    async with AsyncExitStack() as stack:
        databases = {}
        for service in SERVICES:
            connections = Connections(await make_database(service), name=f"{service} test", size=4)
            await connections.open()
            stack.push_async_callback(connections.close)
            relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
            databases[service] = Database(connections, relay, service, CATALOGUE)
        origin = await stack.enter_async_context(serving(http_api(databases["orchestrator"], authorise)))
        api = await stack.enter_async_context(httpx.AsyncClient(base_url=origin, trust_env=False))
        made = FilledBrand(databases, api)
        for brand in ("acme", "rival"):
            tone = SECRET if brand == "acme" else "Steep it"
            (await api.put(f"/v1/brands/{brand}", json={"name": brand, "tone": tone})).raise_for_status()
        for brand in ("acme", "rival"):
            await fill(made, brand)
        for service in SERVICES:
            await made.sent_by(service)
        yield made


@pytest.mark.extended
async def test_nothing_is_left_anywhere_but_that_there_was_such_a_brand(everything: FilledBrand) -> None:
    before = await everything.places_of(SECRET)
    assert {place.partition(".")[0] for place in before} == set(SERVICES)
    others = set(await everything.places_of("Steep it"))

    wrong = await everything.api.post("/v1/brands/acme/erase", json={"confirm": "rival"})
    assert (wrong.status_code, "must be 'acme'" in wrong.text) == (422, True)
    carried = await everything.erase()

    # Once the monitor has none of its messages, nobody can send one again: so it comes first.
    commands = [message.type for message in carried if message.type.endswith(".erase")]
    assert (commands[0], sorted(commands[1:])) == (
        "dead_letters.erase",
        ["content.erase", "events.erase", "research.erase", "social.erase"],
    )
    erasure = await everything.erasure()
    assert (erasure["state"], erasure["asked_by"]) == ("erased", "service")
    removed = {receipt["service"]: receipt["removed"] for receipt in erasure["receipts"]}
    assert set(removed) == set(SERVICES)
    assert removed["research"] == {"research": 1, "documents": 1, "sources": 1, "imports": 0}
    assert removed["monitor"] == {
        "dead_letters": 1,
        "notifications": 0,
        "notification_messages": 0,
        "notification_routes": 0,
    }
    assert removed["publisher"].items() >= {"publications": 1, "targets": 1, "receipts": 1}.items()
    assert (
        removed["social"]["posts"] == removed["publisher"]["pages"] == removed["publisher"]["addresses"] == 1
    )
    assert (await everything.api.get("/v1/brands/acme")).status_code == 404
    # Who changed what is kept for as long as the audit log is, which nobody may change.
    assert await everything.places_of(SECRET) == ["orchestrator.audit_log"]
    assert {place.partition(".")[2] for place in await everything.places_of("acme")} <= {
        "erasures",
        "erased_brands",
        "audit_log",
        "kept_answers",
        "api_keys",
    }
    assert set(await everything.places_of("Steep it")) == others
    # A later brand of the same name is another one.
    keys = (await everything.api.get("/v1/keys")).json()["items"]
    assert {key["name"]: (key["brands"], key["revoked_at"] is None) for key in keys} == {
        "acme-1": (["acme"], False),
        "rival-1": (["rival"], True),
        "acme-2": (["rival"], True),
        "rival-2": (["rival"], True),
    }
    sites = create_sites(
        everything.databases["publisher"], SiteUrls.under("https://pages.example"), articles_per_page=10
    )
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=sites), base_url="https://pages.example"
    ) as client:
        paths = ("", "colder-brew", "cold-brew", "feed.xml", "sitemap.xml")
        assert {(await client.get(f"/sites/acme/{path}")).status_code for path in paths} == {410}
        assert (await client.get("/sites/rival/colder-brew")).status_code == 200
        assert (await client.get("/sites/never/x")).status_code == 404


@pytest.mark.extended
async def test_what_is_with_others_is_told_by_whoever_put_it_there_and_forgotten_later(
    everything: FilledBrand,
) -> None:
    async with everything.databases["publisher"].connection() as connection:
        await connection.executemany(
            """
            insert into publications (content_id, target, brand_slug, kind, remote_id, url, is_public)
            values ($1, $2, $3, 'wordpress', '7', $4, $5)
            """,
            [
                (new_event_id(), "company-blog", "acme", "https://blog.example/cold-brew", True),
                (new_event_id(), "files", "acme", None, True),
                (new_event_id(), "company-blog", "acme", "https://blog.example/a-draft", False),
                (new_event_id(), "company-blog", "acme", "https://blog.example/" + "x" * 300, True),
                (new_event_id(), "company-blog", "rival", "https://rival.example/cold-brew", True),
            ],
        )
    async with everything.databases["social"].connection() as connection:
        for brand, state in (("acme", "posted"), ("acme", "failed"), ("rival", "posted")):
            await connection.execute(
                """
                insert into channel_posts (post_id, brand_slug, content_id, asked_as, entry, material, state, post_url)
                values ($1, $2, $1, 'mastodon', 'mastodon', '{}', $3, 'https://toots.example/' || $2 || '/' || $3)
                """,
                new_event_id(),
                brand,
                state,
            )
    (await everything.api.post("/v1/brands/acme/erase", json={"confirm": "acme"})).raise_for_status()
    await everything.deliver(*filter(ours, await everything.sent_by("orchestrator")))
    await everything.deliver(*await everything.sent_by("monitor"))
    commands = await everything.sent_by("orchestrator")
    await everything.deliver(*commands, *commands)
    for service in ("research", "publisher", "social"):
        first, again = await everything.sent_by(service)
        # Only the first knows of it, whichever comes first.
        await everything.deliver(again, first, again)

    told = {each["service"]: each for each in (await everything.erasure())["receipts"]}
    assert told["publisher"]["elsewhere"] == ["files: 7", "https://blog.example/cold-brew"]
    assert told["publisher"]["elsewhere_count"] == 3
    assert (told["social"]["elsewhere"], told["social"]["elsewhere_count"]) == (
        ["https://toots.example/acme/posted"],
        1,
    )
    assert told["monitor"]["elsewhere_count"] == 0

    orchestrator = everything.databases["orchestrator"]
    async with orchestrator.connection() as connection:
        await connection.execute("update erasure_receipts set erased_at = now() - interval '31 days'")
    await ErasureRetrier(orchestrator, after=timedelta(hours=6)).remind()
    told = {each["service"]: each for each in (await everything.erasure())["receipts"]}
    assert (told["publisher"]["elsewhere"], told["publisher"]["elsewhere_count"]) == ([], 3)
    assert await everything.places_of("blog.example/cold-brew") == []


async def test_the_name_is_free_once_all_have_answered_and_what_comes_twice_erases_no_later_brand(
    everything: FilledBrand,
) -> None:
    api = everything.api
    (await api.post("/v1/brands/acme/erase", json={"confirm": "acme"})).raise_for_status()
    (first,) = filter(ours, await everything.sent_by("orchestrator"))
    taken = await api.put("/v1/brands/acme", json={"name": "Acme"})
    assert (taken.status_code, "is being erased" in taken.json()["detail"]) == (409, True)
    again = await api.post("/v1/brands/acme/erase", json={"confirm": "acme"})
    assert again.json()["erasure_id"] == (await everything.erasure())["erasure_id"]
    assert await everything.sent_by("orchestrator") == []

    await everything.deliver(first, first)
    answers = await everything.sent_by("monitor")
    await everything.deliver(*answers)
    commands = await everything.sent_by("orchestrator")
    for _ in range(2):
        await everything.deliver(*reversed(commands))
    assert (await everything.erasure())["state"] == "erasing"
    receipts = [
        each
        for service in ("research", "publisher", "social", "events")
        for each in await everything.sent_by(service)
    ]
    await everything.deliver(*receipts, *answers)
    assert (await everything.erasure())["state"] == "erased"
    assert await everything.sent_by("orchestrator") == []

    assert (await api.put("/v1/brands/acme", json={"name": "Acme"})).status_code == 201
    await create_post(everything, "acme", "New", sent_at=datetime.now(UTC))
    await everything.deliver(first, *commands, *receipts)
    assert await everything.count("social", "select count(*) from posts where brand_slug = 'acme'") == 1
    assert (await api.get("/v1/brands/acme")).status_code == 200
    assert (await api.post("/v1/brands/acme/erase", json={"confirm": "acme"})).json()["state"] == "erasing"


async def test_who_does_not_answer_is_asked_again(everything: FilledBrand) -> None:
    await everything.api.post("/v1/brands/acme/erase", json={"confirm": "acme"})
    lost = await everything.sent_by("orchestrator")
    reminders = ErasureRetrier(everything.databases["orchestrator"], after=timedelta(hours=6))
    assert await reminders.remind() == 0
    async with everything.databases["orchestrator"].connection() as connection:
        await connection.execute("update erasures set sent_at = now() - interval '7 hours'")
    assert [await reminders.remind(), await reminders.remind()] == [1, 0]
    again = await everything.sent_by("orchestrator")
    assert [message.payload for message in again] == [message.payload for message in lost if ours(message)]


@pytest.mark.extended
async def test_what_comes_late_is_dropped_and_makes_nothing_anew(everything: FilledBrand) -> None:
    await everything.erase()
    about = {"brand_slug": "acme", "content_id": new_event_id()}

    await create_post(everything, "acme", SECRET)
    await die(everything, "acme", SECRET)

    async def nobody(*_: Any) -> Any:
        raise AssertionError("nobody is asked about a brand that was erased")

    provider: Any = SimpleNamespace(name=lambda _: "nobody", search=nobody)
    research = ResearchHandlers(everything.databases["research"], provider)
    urls = SiteUrls.under("https://pages.example")
    publisher = PublisherHandlers(everything.databases["publisher"], nobody, urls)  # type: ignore[arg-type]
    workflow = ContentWorkflow(everything.databases["orchestrator"], nobody, {})
    for service, record in (
        (
            "research",
            await research.research_requested(
                message_of(ResearchRequested(brand_slug="acme", keyword=SECRET)), CONTEXT
            ),
        ),
        (
            "publisher",
            await publisher.content_publish(message_of(ContentPublish(**about, target="site")), CONTEXT),
        ),
        (
            "orchestrator",
            await workflow.generate(
                message_of(ContentGenerate(**about, research_id=new_event_id(), keyword=SECRET)), CONTEXT
            ),
        ),
    ):
        async with everything.databases[service].transaction() as tx:
            await write_records(tx, record)
    assert await everything.places_of(SECRET) == ["orchestrator.audit_log"]
    assert [await everything.sent_by(service) for service in SERVICES] == [[]] * len(SERVICES)


async def test_what_is_under_way_when_the_brand_is_erased_is_not_stored(everything: FilledBrand) -> None:
    publish = message_of(ContentPublish(brand_slug="acme", content_id=new_event_id(), target="site"))

    class Reading:
        async def article(self, content_id: UUID, **_: Any) -> Any:
            await everything.erase()
            made = publication("acme", content_id, SECRET, "late")
            return type("Fetched", (), {"article": made.article, "etag": None})()

    urls = SiteUrls.under("https://pages.example")
    handlers = PublisherHandlers(everything.databases["publisher"], Reading(), urls)  # type: ignore[arg-type]
    record = await handlers.content_publish(publish, CONTEXT)
    async with everything.databases["publisher"].transaction() as tx:
        await write_records(tx, record)
        assert tx.outgoing == []
    assert await everything.count("publisher", "select count(*) from sites where brand_slug = 'acme'") == 0


async def test_every_table_that_names_brands_is_thought_of(everything: FilledBrand) -> None:
    known = {
        # The rules of its subjects' keys go with the brand's own row.
        "orchestrator": {*_OF_THE_BRAND, "erasures", "subject_rules"},
        "research": {"research", "uploads", "brand_sources", "brand_imports"},
        "publisher": {
            "pages",
            "sites",
            "logos",
            "site_settings",
            "previews",
            "former_addresses",
            "deleted_articles",
            "publications",
            "short_links",
            "indexnow_keys",
            "changed_addresses",
            "target_settings",
            "target_folders",
            "receipts",
            "newsletters",
            "newsletter_subscribers",
            "newsletter_sign_ups",
            "newsletter_letters",
            "newsletter_deliveries",
            "brand_imports",
        },
        "social": {
            "posts",
            "pending_posts",
            "accounts",
            "channel_posts",
            "channel_rules",
            "posting_rules",
            "reach_looks",
            "receipts",
            "repeats",
            "brand_imports",
        },
        "monitor": {
            "dead_letter_edits",
            # They follow the dead messages.
            "dead_letter_facts",
            "dead_messages",
            "notifications",
            "notification_messages",
            "notification_routes",
        },
        "events": {"events", "brand_heads", "webhooks", "incoming_hooks"},
    }
    for service, database in everything.databases.items():
        async with database.connection() as connection:
            rows = await connection.fetch(
                "select table_name from information_schema.columns"
                " where column_name = 'brand_slug' and table_schema = current_schema()"
                " and not (select relispartition from pg_class where oid = quote_ident(table_name)::regclass)"
            )
        named = {row["table_name"] for row in rows} - {"erased_brands"}
        assert named == known[service], f"say in the erasure of {service} what becomes of its rows"
