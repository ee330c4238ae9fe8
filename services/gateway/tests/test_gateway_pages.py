"""Reading pages: over the API of two replicas on one database, from sites of this test's own."""

import asyncio
import gzip
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import asyncpg
import httpx
import pytest

from chassis import Connections
from chassis.testing.apps import running
from chassis.testing.waiting import eventually
from gateway.app import build
from gateway.egress import EgressClient, FetchLimits
from gateway.pages import CrawlPolicy, PageReader
from gateway.settings import Settings
from tests.fixtures.sites import PUBLIC, Names, Request, Site, answer, redirect

KEY = "test-service-key-0123456789"
ABOUT = "https://brand.example/robot"
Replica = httpx.AsyncClient


@pytest.fixture
async def database(make_database: Callable[[str], Awaitable[str]]) -> str:
    return await make_database("gateway")


@asynccontextmanager
async def replica(database: str, names: Names, **settings: Any) -> AsyncIterator[Replica]:
    chosen = {
        "database_url": database,
        "service_key": KEY,
        "http_port": 0,
        "robot_about": ABOUT,
        "egress_reachable_networks": f"{PUBLIC}/32",
        "page_pause_seconds": 0,
    }
    app = build(Settings.model_validate(chosen | settings), resolve=names.resolve)
    async with (
        running(app),
        httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{app.port}",
            headers={"X-Service-Key": KEY},
            trust_env=False,
            timeout=60,
        ) as client,
    ):
        yield client


@pytest.fixture
async def one(database: str, names: Names, public: Site) -> AsyncIterator[Replica]:
    names.mean("site.example", public)
    async with replica(database, names) as client:
        yield client


async def read(client: Replica, url: str, **headers: str) -> httpx.Response:
    return await client.get("/v1/pages", params={"url": url}, headers=headers)


async def execute(database: str, statement: str) -> None:
    connection = await asyncpg.connect(database)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def pages_asked(site: Site) -> list[str]:
    return [path for path in site.paths if path != "/robots.txt"]


async def test_a_canonical_address_that_names_a_user_or_no_host_is_not_told(
    one: Replica, public: Site
) -> None:
    told = {}
    for number, link in enumerate(
        ("http://ann@site.example/a", "http://site.example:x/a", "http://[site.example/a")
    ):
        public.pages[f"/{number}"] = answer(b"<p>x</p>", link=f'<{link}>; rel="canonical"')
        told[link] = (await read(one, f"http://site.example/{number}")).json()["canonical"]
    assert set(told.values()) == {None}


async def test_a_page_comes_with_what_its_site_says_of_it(one: Replica, public: Site) -> None:
    text = "<title>Café</title>".encode("latin-1")
    public.pages["/old"] = redirect("/new")
    public.pages["/new"] = answer(
        gzip.compress(text),
        media_type='Text/HTML; Charset="ISO-8859-1"',
        content_encoding="gzip",
        content_language="fr-CA, en",
        last_modified="Wed, 21 Oct 2026 07:28:00 GMT",
        x_robots_tag="noarchive",
        link='</style.css>; rel=preload, </cafe>; rel="canonical", <https://cc.example/by>; rel=license',
    )
    found = await read(one, "HTTP://Site.Example/old#top")
    assert found.status_code == 200
    told = found.json()
    assert b64decode(told.pop("body")) == text
    assert told.pop("read_at") < told.pop("good_until")
    assert told == {
        "address": "http://site.example/old",
        "final": "http://site.example/new",
        "canonical": "http://site.example/cafe",
        "media_type": "text/html",
        "charset": "iso-8859-1",
        "language": "fr-CA",
        "licence": "https://cc.example/by",
        "robots_tag": "noarchive",
        "last_modified": "2026-10-21T07:28:00Z",
    }
    again = await read(one, "http://site.example/old", **{"If-None-Match": found.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert pages_asked(public) == ["/old", "/new"]
    assert {request.headers["user-agent"] for request in public.asked} == {f"BrandEngine/1.0 (+{ABOUT})"}


@pytest.mark.extended
async def test_whether_a_page_is_there_is_told_without_reading_it(one: Replica, public: Site) -> None:
    async def look(path: str) -> httpx.Response:
        return await one.get("/v1/pages/answer", params={"url": f"http://site.example{path}"})

    public.pages["/film"] = answer(b"x" * 6_000_000, media_type="video/mp4")
    public.pages["/moved"] = redirect("/film")
    public.pages["/gone"] = answer(status="410 Gone")
    public.pages["/busy"] = answer(status="429 Too Many Requests", retry_after="40")
    public.pages["/robots.txt"] = answer(b"User-agent: *\nDisallow: /private", media_type="text/plain")

    assert (await look("/film")).json()["status"] == 200
    moved = (await look("/moved")).json()
    assert (moved["final"], moved["status"]) == ("http://site.example/film", 200)
    assert [(await look(path)).json()["status"] for path in ("/gone", "/nowhere")] == [410, 404]
    refused = await look("/private/page")
    assert (refused.status_code, refused.json()["type"]) == (422, "page.robots")
    assert (await look("/busy")).json()["status"] == 429
    # It asked for a rest, and has it, whatever is asked next.
    later = await look("/film")
    assert (later.status_code, later.json()["type"]) == (424, "page.busy")


async def test_documents_are_given_on_as_they_are(one: Replica, public: Site) -> None:
    document = b"%PDF-1.7\n" + bytes(range(256))
    public.pages["/paper"] = answer(document, media_type="application/pdf")
    public.pages["/film"] = answer(document, media_type="video/mp4")
    assert b64decode((await read(one, "http://site.example/paper")).json()["body"]) == document
    refused = await read(one, "http://site.example/film")
    assert (refused.status_code, refused.json()["type"]) == (422, "page.media_type")


async def test_json_is_read_where_a_feed_is_expected_and_nowhere_else(one: Replica, public: Site) -> None:
    address = "http://site.example/feed"
    public.pages["/feed"] = answer(
        b'{"items": []}', media_type="application/json", cache_control="max-age=900"
    )

    async def as_feed() -> httpx.Response:
        return await one.get("/v1/pages", params={"url": address, "feed": "true"})

    assert (await read(one, address)).json()["type"] == "page.media_type"
    feed = (await as_feed()).json()
    assert (feed["media_type"], b64decode(feed["body"])) == ("application/json", b'{"items": []}')
    assert "application/feed+json" in public.asked[-1].headers["accept"]
    # What is kept for one is no answer to the other.
    assert (await as_feed()).json() == feed
    assert (await read(one, address)).json()["type"] == "page.media_type"
    assert pages_asked(public) == ["/feed"] * 3


async def test_nothing_is_read_before_sites_can_learn_who_reads(
    database: str, names: Names, public: Site
) -> None:
    names.mean("site.example", public)
    async with replica(database, names, robot_about=None) as client:
        refused = await read(client, "http://site.example/")
    assert (refused.status_code, refused.json()["type"]) == (422, "page.not_configured")
    assert "ROBOT_ABOUT" in refused.json()["detail"]
    assert public.asked == []


async def test_a_stranger_learns_nothing(one: Replica, public: Site) -> None:
    refused = await read(one, "http://site.example/", **{"X-Service-Key": "another-key-another-key"})
    assert (refused.status_code, public.asked) == (401, [])


@pytest.mark.extended
@pytest.mark.parametrize(
    ("url", "status", "kind"),
    [
        ("http://127.0.0.1/", 422, "page.private_address"),
        ("http://inside.example/", 422, "page.private_address"),
        ("http://site.example/inside", 422, "page.private_address"),
        ("http://site.example:8080/", 422, "page.port"),
        ("ftp://site.example/", 422, "page.address"),
        ("http://nowhere.example/", 422, "page.unknown_host"),
        ("http://away.example/", 424, "page.robots"),
        ("http://site.example/gone", 422, "page.no_page"),
        ("http://site.example/failing", 424, "page.site_failed"),
        ("http://site.example/large", 422, "page.too_large"),
    ],
)
async def test_why_a_page_cannot_be_had(
    one: Replica, names: Names, public: Site, private: Site, url: str, status: int, kind: str
) -> None:
    names.mean("inside.example", private)
    names.mean("away.example", [(PUBLIC, 1)])
    public.pages["/inside"] = redirect("http://inside.example/")
    public.pages["/failing"] = answer(status="500 Oh")
    public.pages["/large"] = answer(b"x" * 5_000_001)
    refused = await read(one, url)
    assert (refused.status_code, refused.json()["type"]) == (status, kind)
    assert refused.json()["transient"] is (status == 424)
    assert private.asked == []


async def test_what_robots_may_not_read_is_not_read(one: Replica, names: Names, public: Site) -> None:
    rules = b"User-agent: *\nDisallow: /\n\nUser-agent: brandengine\nDisallow: /private\nDisallow: /*.pdf$\n"
    public.pages["/robots.txt"] = answer(rules, media_type="text/plain")
    public.pages["/"] = answer(b"open")
    public.pages["/away"] = redirect("/private/page")
    assert (await read(one, "http://site.example/")).status_code == 200
    for path in ("/private/page", "/a/b.pdf", "/away"):
        refused = await read(one, f"http://site.example{path}")
        assert (refused.status_code, refused.json()["type"]) == (422, "page.robots")
    assert public.paths == ["/robots.txt", "/", "/away"]


@pytest.mark.extended
@pytest.mark.parametrize(
    ("rules", "status"),
    [
        (answer(status="404 Not Found"), 200),
        (answer(status="403 Forbidden"), 200),
        (answer(status="500 Oh"), 424),
        (answer(status="429 Too Many Requests"), 424),
        (b"", 424),
        (redirect("/elsewhere"), 200),
        (answer(b"\xff\x00 <html>no rules", media_type="text/html"), 200),
    ],
)
async def test_a_site_whose_rules_fail_is_left_alone_and_one_without_is_read(
    one: Replica, public: Site, rules: bytes, status: int
) -> None:
    public.pages |= {"/robots.txt": rules, "/": answer(b"text")}
    first = await read(one, "http://site.example/")
    second = await read(one, "http://site.example/")
    assert [first.status_code, second.status_code] == [status, status]
    assert [path for path in pages_asked(public) if path != "/elsewhere"] == (["/"] if status == 200 else [])
    assert public.paths.count("/robots.txt") == 1
    if status == 424:
        assert first.headers["Retry-After"] == "300"


@pytest.mark.extended
async def test_replicas_take_turns_at_a_host_as_far_apart_as_it_wants(
    database: str, names: Names, public: Site
) -> None:
    times: list[float] = []

    def note(request: Request, writer: asyncio.StreamWriter) -> None:
        times.append(asyncio.get_running_loop().time())
        writer.write(answer(request.path.encode()))

    names.mean("site.example", public)
    public.pages["/robots.txt"] = answer(b"User-agent: *\nCrawl-delay: 0.4\n")
    public.pages |= {f"/{number}": note for number in range(6)}
    async with replica(database, names) as first, replica(database, names) as second:
        began = asyncio.get_running_loop().time()
        found = await asyncio.gather(
            *(read((first, second)[number % 2], f"http://site.example/{number}") for number in range(6))
        )
    assert [b64decode(each.json()["body"]) for each in found] == [
        f"/{number}".encode() for number in range(6)
    ]
    assert len(times) == 6
    # One that was late itself comes sooner before the next; but none comes before its turn.
    early = [number for number, time in enumerate(times) if time < began + 0.4 * number - 0.05]
    assert not early, (began, times)


@pytest.mark.extended
async def test_whose_turn_is_too_far_away_is_told_when_to_come_again(one: Replica, public: Site) -> None:
    public.pages["/robots.txt"] = answer(b"User-agent: *\nCrawl-delay: 100\n")
    public.pages |= {"/a": answer(b"a"), "/b": answer(b"b")}
    assert (await read(one, "http://site.example/a")).status_code == 200
    busy = await read(one, "http://site.example/b")
    assert (busy.status_code, busy.json()["type"]) == (424, "page.busy")
    assert 95 <= int(busy.headers["Retry-After"]) <= 100
    assert (await read(one, "http://site.example/a")).status_code == 200  # is here already
    assert pages_asked(public) == ["/a"]


@pytest.mark.extended
async def test_a_site_that_wants_a_rest_gets_it_from_all_replicas(
    database: str, names: Names, public: Site
) -> None:
    names.mean("site.example", public)
    public.pages |= {"/a": answer(status="429 Too Many Requests", retry_after="120"), "/b": answer(b"b")}
    async with replica(database, names) as first, replica(database, names) as second:
        resting = await read(first, "http://site.example/a")
        assert (resting.status_code, resting.headers["Retry-After"]) == (424, "120")
        busy = await read(second, "http://site.example/b")
        assert (busy.status_code, busy.json()["type"]) == (424, "page.busy")
    assert pages_asked(public) == ["/a"]


@pytest.mark.extended
async def test_what_many_ask_for_at_once_is_read_once(database: str, names: Names, public: Site) -> None:
    asked = asyncio.Event()

    async def slow(_: Request, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await asyncio.sleep(0.5)
        writer.write(answer(b"worth waiting for"))

    names.mean("site.example", public)
    public.pages["/"] = slow
    async with replica(database, names) as first, replica(database, names) as second:
        impatient = asyncio.create_task(read(first, "http://site.example/"))
        await asked.wait()
        impatient.cancel()  # whoever began it is gone; the others get it
        found = await asyncio.gather(
            *(read((first, second)[number % 2], "http://site.example/") for number in range(20))
        )
    assert {b64decode(each.json()["body"]) for each in found} == {b"worth waiting for"}
    assert public.paths == ["/robots.txt", "/"]


async def test_the_page_of_a_reader_that_died_is_read_by_another(
    one: Replica, database: str, public: Site
) -> None:
    public.pages["/"] = answer(b"text")
    began = asyncio.get_running_loop().time()
    await execute(
        database,
        "insert into page_reads values (sha256('http://site.example/'), gen_random_uuid(),"
        " clock_timestamp() + interval '0.8 s')",
    )
    assert (await read(one, "http://site.example/")).status_code == 200
    assert asyncio.get_running_loop().time() - began >= 0.8


@pytest.mark.extended
@pytest.mark.parametrize(
    ("headers", "times"),
    [
        ({"cache_control": "max-age=60"}, 1),
        ({}, 1),
        ({"cache_control": "no-store"}, 3),
        ({"vary": "*"}, 3),
        ({"cache_control": "max-age=0"}, 3),
        ({"expires": "0"}, 3),
    ],
)
async def test_a_page_is_kept_as_its_site_allows(
    one: Replica, public: Site, headers: dict[str, str], times: int
) -> None:
    public.pages["/"] = answer(b"text", **headers)
    for _ in range(3):
        assert b64decode((await read(one, "http://site.example/")).json()["body"]) == b"text"
    assert len(pages_asked(public)) == times


async def test_a_page_that_has_not_changed_is_not_sent_again(
    one: Replica, database: str, public: Site
) -> None:
    def page(request: Request, writer: asyncio.StreamWriter) -> None:
        known = request.headers.get("if-none-match") == '"7"'
        unchanged = answer(status="304 Not Modified", etag='"7"', cache_control="max-age=900")
        writer.write(unchanged if known else answer(b"text", etag='"7"', cache_control="max-age=60"))

    public.pages["/"] = page
    before = (await read(one, "http://site.example/")).json()
    await execute(database, "update pages set expires_at = clock_timestamp()")
    after = (await read(one, "http://site.example/")).json()
    assert (after["body"], len(pages_asked(public))) == (before["body"], 2)
    assert after["good_until"] > before["good_until"]
    await read(one, "http://site.example/")
    assert len(pages_asked(public)) == 2


async def test_a_page_that_is_gone_is_not_answered_from_what_was_kept(
    one: Replica, database: str, public: Site
) -> None:
    public.pages["/"] = answer(b"text")
    await read(one, "http://site.example/")
    await execute(database, "update pages set expires_at = clock_timestamp()")
    del public.pages["/"]
    assert (await read(one, "http://site.example/")).json()["type"] == "page.no_page"


async def test_what_is_kept_stays_within_bounds(one: Replica, database: str, public: Site) -> None:
    for number in range(5):
        public.pages[f"/{number}"] = answer(b"x" * 1000)
        await read(one, f"http://site.example/{number}")
    await execute(
        database, "update pages set expires_at = now() - interval '8 days' where address like '%/4'"
    )
    connections = Connections(database, name="test")
    await connections.open()
    try:
        async with EgressClient("test") as egress:
            policy = CrawlPolicy(FetchLimits(1, 1), timedelta(), timedelta())
            await PageReader(connections, egress, policy).clean_cache(2_500)
        async with connections.connection() as connection:
            kept = await connection.fetch("select address from pages order by address")
    finally:
        await connections.close()
    assert [row["address"] for row in kept] == ["http://site.example/2", "http://site.example/3"]


@pytest.mark.extended
async def test_pages_that_are_kept_are_counted(one: Replica, public: Site) -> None:
    public.pages["/"] = answer(b"text")
    await read(one, "http://site.example/")

    async def count() -> bool:
        return 'brand_engine_pages_kept{state="good"}' in (await one.get("/metrics")).text

    # Figures are sampled in rounds, and the first one may not have ended.
    await eventually(count)
