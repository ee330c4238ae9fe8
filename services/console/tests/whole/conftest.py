"""Everything that screens can show, from a real installation in which every word comes from an attacker."""

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import asyncpg
import httpx
import pytest
from cryptography.fernet import Fernet
from yarl import URL

from brandctl.local import services
from chassis.database.pool import Connections
from chassis.testing import eventually
from client import Address
from client.services.events import AsyncEvents
from client.services.gateway import AsyncGateway
from client.services.monitor import AsyncMonitor
from client.services.orchestrator import AsyncOrchestrator
from client.services.publisher import AsyncPublisher
from client.services.research import AsyncResearch
from client.services.social import AsyncSocial
from envelope import new_event_id
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from messaging.testing import Broker
from orchestrator.article_workflow.store import insert_content
from orchestrator.received_commands.store import insert_refusal
from writing import Article, ArticleSource
from writing.article import ArticleEvidence, CitedPassage, CutPlace, CutSentence, KeptSentence
from writing.quality.measures import Measure

ROOT: Final = Path(__file__).parents[4]
CORPUS: Final = ROOT / "deploy" / "demo" / "corpus"
KEY: Final = "test-service-key-0123456789"
PASSWORD: Final = "correct horse battery staple"
ASKED: Final = (*services.NAMES, "gateway")
BRAND: Final = "acme"
ACCOUNT: Final = "mastodon-eu"
TEMPLATE: Final = "x{{7*7}}x"
"""Shown as it is; `x49x` where it was computed."""


def hostile(what: str) -> str:
    """A name that would run if it were not escaped, and turns what stands behind it around; it fits where 60 characters do."""
    return f'{what} "><img src=x onerror=__hit=1>{TEMPLATE}\u202e'


PROVIDER: Final = hostile("I").rstrip("\u202e")
"""What signs people in; its name has at most 40 characters."""


def hostile_text(what: str) -> str:
    return (
        f"{hostile(what)}</textarea></title></script><script>__hit=2</script><svg/onload=__hit=3>"
        f"<a href='javascript:__hit=4'>x</a> [x](javascript:__hit=5) ' onfocus=__hit=6 autofocus x=' ${{7*7}}"
    )


@dataclass(frozen=True)
class HostileBrand:
    """What there is of the brand `acme`."""

    owner: httpx.AsyncClient
    """Signed in, as a browser."""
    german: httpx.AsyncClient
    """Another owner, who reads German."""
    viewer: httpx.AsyncClient
    """Somebody who may only read."""
    console: Any
    words: Mapping[str, str]
    """What somebody named each kind of thing; some page must show each of them."""
    addresses: tuple[str, ...]
    """Where its words are, and what no link leads to: the address of a form after a refusal."""
    guest_link: str
    """Where a guest without an account reads a draft."""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """The sample documents; one of them has a hostile file name and a hostile title."""
    folder = tmp_path / "corpus"
    shutil.copytree(CORPUS, folder)
    text = (folder / "cold-brew.md").read_text().replace("Cold brew coffee", f"'{hostile('Cold brew')}'", 1)
    (folder / "cold-brew.md").unlink()
    # Research reads it again when somebody presses the button.
    (folder / f"{hostile('broken')}.pdf").write_bytes(b"%PDF-1.4 broken")
    (folder / f"{hostile('cold brew')}.md").write_text(text)
    return folder


@pytest.fixture
async def database_urls(make_database: Callable[..., Awaitable[str]]) -> dict[str, str]:
    return {name: await make_database(name) for name in ASKED}


@pytest.fixture
async def stack(
    broker_urls: dict[str, str],
    database_urls: dict[str, str],
    rabbitmq_api_url: str,
    corpus: Path,
    tmp_path: Path,
) -> AsyncIterator[services.ServiceAddresses]:
    """The services as processes, ready."""
    addresses = services.choose_addresses()
    gateway_keys = tmp_path / "gateway-keys"
    gateway_keys.write_bytes(Fernet.generate_key())
    children = []
    try:
        for name in ASKED:
            environment = services.environment(
                name,
                addresses=addresses,
                rabbitmq_url=broker_urls.get(name),
                database_url=database_urls[name],
                service_key=KEY,
                corpus=corpus,
                gateway_keys=gateway_keys,
                broker_api=rabbitmq_api_url,
            )
            children.append(services.start(name, environment, tmp_path))
        await asyncio.to_thread(services.wait_until_ready, children, addresses)
        yield addresses
    finally:
        await asyncio.to_thread(services.stop, children)


@pytest.fixture
def service_urls(stack: services.ServiceAddresses) -> dict[str, str]:
    of_services = {f"{name}_url": stack.url(name) for name in ASKED}
    return of_services | {"installation_name": hostile("Ours"), "oidc_name": PROVIDER}


def _article(long: int) -> Article:
    words = hostile_text("A sentence of a model")
    return Article(
        title=f"{hostile_text('A title of a model')}{'W' * long}",
        slug="cold-brew-by-a-model",
        meta_description=words,
        body_markdown=f"Cold brew steeps for twelve hours. [1] {words} [1]\n\n## {words}\n\nIt keeps for two weeks. [1]\n",
        word_count=30,
        key_points=(words,),
        cited=(1,),
        label=words,
        evidence=ArticleEvidence(
            (
                KeptSentence("Cold brew steeps for twelve hours.", "", (1,), ("s1p1",), "held", "rules"),
                KeptSentence(words, "", (1,), ("s1p1",), "confirmed", hostile("judge")),
                KeptSentence("It keeps for two weeks.", words, (1,), ("s1p2",), "held", "rules"),
            ),
            (
                CutSentence(
                    hostile_text("A cut sentence"),
                    "",
                    ("s1p1",),
                    "not_said",
                    hostile_text("Why it was cut"),
                    words,
                    "Cold brew steeps for twelve hours.",
                    CutPlace.BEHIND,
                ),
            ),
            {
                "s1p1": CitedPassage(1, (words,), f"Steep it for twelve hours. {words}"),
                "s1p2": CitedPassage(1, (words, words), "It keeps for two weeks in the refrigerator."),
            },
        ),
    )


async def _insert_drafts(database_url: str) -> list[str]:
    """Two drafts as a model would write them that does what an attacker wants; the second has a title without end."""
    made = [new_event_id() for _ in range(2)]
    connections = Connections(database_url, name="test", size=2)
    await connections.open()
    try:
        relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
        async with Database(connections, relay, "orchestrator", CATALOGUE).transaction() as tx:
            for long, content_id in zip((0, 10_000), made, strict=True):
                await insert_content(
                    tx.connection,
                    content_id=content_id,
                    brand_slug=BRAND,
                    keyword=f"{hostile('iced coffee')}{long}",
                    research_id=UUID(int=5),
                    article=_article(long),
                    sources=[
                        ArticleSource(
                            n=1,
                            title=hostile_text("A source"),
                            passages=(),
                            url="javascript:__hit=7",
                            path=hostile_text("a/file"),
                        )
                    ],
                    measures=[
                        Measure(
                            "words",
                            231,
                            hostile("231"),
                            least=250,
                            most=None,
                            problem=hostile_text("Too few"),
                        )
                    ],
                    held_for=(hostile_text("Held because"),),
                )
    finally:
        await connections.close()
    return list(map(str, made))


async def _fill_queue(social: AsyncSocial, database_url: str, article: str, title: str) -> None:
    """An account with slots, of which two posts have one, and of a third post nobody knows whether it went out."""
    await social.set_account_slots(
        BRAND,
        ACCOUNT,
        time_zone="Europe/Berlin",
        slots=[{"days": ["mon", "wed"], "times": ["09:00", "17:30"]}],
        spacing_minutes=30,
        quiet_hours={"begin": "22:00", "end": "07:00"},
    )
    material = {
        "title": title,
        "keyword": "coffee",
        "description": "",
        "points": [],
        "tags": [],
        "link": "https://acme.example/tea",
        "pictures": [],
        "language": None,
    }
    soon = datetime.now(UTC) + timedelta(days=2)
    states = (("planned", soon), ("planned", soon + timedelta(hours=3)), ("in_doubt", None))
    connection = await asyncpg.connect(database_url)
    try:
        await connection.executemany(
            """
            insert into channel_posts
                (post_id, brand_slug, content_id, asked_as, entry, material, channel, account, text, state, due_at, occurrence)
            values ($1, $2, $3, $4, $4, $5, 'mastodon', $4, $6, $7, $8, $9)
            """,
            [
                (new_event_id(), BRAND, UUID(article), ACCOUNT, json.dumps(material), title, state, at, n)
                for n, (state, at) in enumerate(states, 1)
            ],
        )
    finally:
        await connection.close()


async def _add_doubtful_article(database_url: str, title: str) -> None:
    """An article of which nobody knows whether it is at another place."""
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(
            """
            insert into receipts (receipt_id, kind, account, brand_slug, subject, prepared, steps, step, state, detail)
            values ($1, 'wordpress', 'blog', $2, $3, '{}', '{post}', 'post', 'in_doubt', $3)
            """,
            uuid4(),
            BRAND,
            title,
        )
    finally:
        await connection.close()


async def _begin_newsletter(
    gateway: AsyncGateway, publisher: AsyncPublisher, database_url: str, *addresses: str
) -> None:
    """The first address is confirmed; each published page was a letter, which may have reached nobody."""
    await gateway.connect_account(
        "post",
        kind="smtp",
        brands=[BRAND],
        settings={
            "host": "mail.acme.example",
            "port": 25,
            "security": "plain",
            "sender": "Acme <news@acme.example>",
        },
        credentials={},
    )
    await publisher.enable_newsletter(BRAND, account="post")
    connection = await asyncpg.connect(database_url)
    try:
        await connection.executemany(
            "insert into newsletter_subscribers (brand_slug, address_digest, address, state) values ($1, $2, $3, $4)",
            [
                (BRAND, bytes([n]), address, "pending" if n else "confirmed")
                for n, address in enumerate(addresses)
            ],
        )
        await connection.execute(
            "insert into newsletter_letters (content_id, brand_slug, addressed_at)"
            " select content_id, brand_slug, clock_timestamp() from pages where brand_slug = $1",
            BRAND,
        )
        await connection.execute(
            """
            insert into newsletter_deliveries (letter_id, subscriber_id, brand_slug, kind, state)
            select content_id, id, l.brand_slug, 'letter', 'in_doubt'
            from newsletter_letters as l join newsletter_subscribers as s using (brand_slug)
            """
        )
    finally:
        await connection.close()


async def _ended(orchestrator: AsyncOrchestrator, count: int) -> None:
    async def ended() -> bool:
        found = (await orchestrator.search_for_keywords(brand=BRAND))["items"]
        states = {each["state"] for each in found}
        return len(found) == count and states <= {"completed", "refused", "failed", "needs_review"}

    await eventually(ended, within=180)


async def _edit_and_propose(orchestrator: AsyncOrchestrator, content_id: str, words: str) -> None:
    """A second version of a draft, with two open proposals, and one that was dismissed."""
    text = _article(0).body_markdown
    await orchestrator.edit_draft(
        content_id,
        version=1,
        body_markdown=f"{text}\n{hostile_text('An edited sentence')}\n",
        comment=hostile_text("Why"),
    )
    for title in (words, f"{words} again"):
        await orchestrator.propose_edit(content_id, version=2, comment=words, title=title)
    dismissed = await orchestrator.propose_publication(content_id, version=2, comment=words)
    await orchestrator.dismiss_proposal(content_id, dismissed["id"], reason=hostile_text("Why not"))


@pytest.fixture
async def hostile_brand(
    console: Any,
    stack: services.ServiceAddresses,
    database_urls: dict[str, str],
    broker_urls: dict[str, str],
) -> AsyncIterator[HostileBrand]:
    words = {
        "brand": hostile("Acme"),
        "keyword": hostile("roast levels"),
        "person": hostile("Ada").rstrip("\u202e"),
        "other person": hostile("Bob").rstrip("\u202e"),
        "note": hostile_text("A note"),
        # Social takes such characters out of posts.
        "post": hostile_text("A post").replace("\u202e", ""),
        "title": hostile_text("A title of a model"),
        "source": hostile_text("A source"),
        "queued post": hostile("Queued"),
        "saved view": hostile("View"),
        "calendar address": PROVIDER,
        "subscriber": f"{hostile('reader')}@acme.example",
        # Shown as JSON, in which a quotation mark has a backslash.
        "message": hostile("A message").replace('"', "'"),
        "doubtful article": hostile_text("An article in doubt"),
        "guest": hostile("Guest"),
        "note of a guest": hostile_text("A guest's note"),
        "proposal": hostile_text("A proposal"),
        "archive": hostile("acme.zip"),
        "refused command": hostile("A command"),
    }
    async with AsyncExitStack() as open_until_the_end:
        enter = open_until_the_end.enter_async_context
        orchestrator: AsyncOrchestrator = console.orchestrator
        social = await enter(AsyncSocial(Address(stack.url("social"), KEY)))
        research = await enter(AsyncResearch(Address(stack.url("research"), KEY)))
        publisher = await enter(AsyncPublisher(Address(stack.url("publisher"), KEY)))
        brand: dict[str, Any] = {
            "name": words["brand"],
            "description": hostile_text("What it is about"),
            "audience": hostile("Who reads it"),
            "channels": ["feed", "mastodon"],
            "posts_approval": "everything",
        }
        await asyncio.gather(
            orchestrator.set_brand(BRAND, **brand), orchestrator.set_brand("other", name="Other")
        )
        await research.add_document(
            BRAND,
            f"# Chemex\n\n{hostile_text('A Chemex')} is made of glass.".encode(),
            name="chemex.md",
            title=hostile("An upload"),
        )
        keywords = ["cold brew coffee", "pour-over coffee", words["keyword"], f"mortgages {hostile('x')}"]
        await orchestrator.submit_keywords(BRAND, "\n".join(keywords).encode(), content_type="text/plain")
        await _ended(orchestrator, len(keywords))
        await orchestrator.set_brand(BRAND, **brand, approval="everything", targets=["site", "wordpress"])
        await orchestrator.submit_keywords(BRAND, b"grind size", content_type="text/plain")
        await _ended(orchestrator, len(keywords) + 1)
        drafts = await _insert_drafts(database_urls["orchestrator"])

        await _edit_and_propose(orchestrator, drafts[0], words["proposal"])

        async def written() -> list[Any]:
            return (await social.list_brand_posts(BRAND, state="waiting"))["items"]

        posts = await eventually(written)
        await social.edit_post(posts[0]["post_id"], version=posts[0]["version"], text=words["post"])
        await social.set_account_slots(
            BRAND,
            "acme-hook",
            time_zone="Europe/Berlin",
            slots=[{"days": ["mon", "wed"], "times": ["09:00", "17:30"]}],
            spacing_minutes=30,
            quiet_hours={"begin": "22:00", "end": "07:00"},
        )
        gateway = await enter(AsyncGateway(Address(stack.url("gateway"), KEY)))
        await gateway.set_account_app("x", client_id="acme-app")
        await gateway.connect_provider(
            "search", kind="searxng", settings={"url": "https://search.acme.example"}
        )
        await gateway.connect_account(
            "everyone", kind="webhook", brands=["*"], settings={"url": "https://hooks.acme.example/all"}
        )
        monitor = await enter(AsyncMonitor(Address(stack.url("monitor"), KEY)))
        await monitor.set_notification_route("team", account="everyone", brand=BRAND)
        await _kill_message(broker_urls["orchestrator"], monitor, words["message"])
        await orchestrator.create_key(name="a-robot", scopes=["read"], brands=[BRAND])
        await enter(_broker_user(orchestrator, monitor, database_urls, words["refused command"]))
        await orchestrator.set_schedule(BRAND, "weekly", keywords=[words["keyword"]], cron="0 9 * * 1")
        await orchestrator.audit_brand(BRAND)
        await gateway.connect_account(
            "acme-hook",
            kind="webhook",
            brands=[BRAND],
            settings={"url": "https://hooks.acme.example/posts"},
            credentials={},
        )
        await _begin_telling(await enter(AsyncEvents(Address(stack.url("events"), KEY))))
        await publisher.set_target(
            BRAND,
            "wordpress",
            kind="wordpress",
            account="blog",
            author=hostile("Author"),
            tags=[hostile("tag")],
        )

        await _begin_newsletter(
            gateway, publisher, database_urls["publisher"], words["subscriber"], "new@acme.example"
        )
        await _add_doubtful_article(database_urls["publisher"], words["doubtful article"])
        await _fill_queue(social, database_urls["social"], posts[0]["content_id"], words["queued post"])

        owner = await enter(_browser(console.url))
        await _sign_in(console, owner, "Owner", words["person"])
        await _sign_in(console, await enter(_browser(console.url)), "Second", words["other person"], "editor")
        await _press(owner, f"/b/{BRAND}/drafts/{drafts[0]}/notes", words=words["note"])
        german, viewer = await enter(_browser(console.url, "de")), await enter(_browser(console.url))
        await _sign_in(console, german, "Third", hostile("Eva").rstrip("\u202e"))
        await _sign_in(console, viewer, "Fourth", hostile("Fay").rstrip("\u202e"), "viewer")
        guest_link = await _invite_guest(owner, await enter(_browser(console.url)), drafts[0], words)
        told = await _press_buttons(owner, words)
        addresses = (
            told,
            await _upload_archive(owner, words["archive"]),
            f"/b/{BRAND}/posts/{posts[0]['post_id']}",
            f"/b/{BRAND}/calendar/posts/{posts[0]['post_id']}/move",
            f"/b/{BRAND}/accounts/login/x/complete",
            *(f"/b/{BRAND}/drafts/{each}?sentence=2" for each in drafts),
        )
        yield HostileBrand(owner, german, viewer, console, words, addresses, guest_link)


async def _begin_telling(events: AsyncEvents) -> None:
    """A webhook whose receiver is away, and a subscription with a dead letter; waits until both have something to show."""
    await events.set_webhook(BRAND, "crm", account="acme-hook", begin="oldest")
    command: Any = {
        "type": "cycle.start",
        "data": {"keywords": [hostile("A keyword of a hook"), {"from": "/title"}]},
        "when": {"/action": hostile("published")},
    }
    await events.set_hook(BRAND, "cms", kind="standard", command=command)
    await events.set_subscription("warehouse", begin="oldest", max_deliveries=1)

    async def told() -> bool:
        await events.pull_events("warehouse", batch_size=1, visibility_timeout_seconds=1)
        tries = (await events.list_webhook_deliveries(BRAND, "crm"))["items"]
        return bool(tries) and (await events.get_subscription("warehouse"))["dead"] > 0

    await eventually(told)


@asynccontextmanager
async def _broker_user(
    orchestrator: AsyncOrchestrator, monitor: AsyncMonitor, database_urls: Mapping[str, str], words: str
) -> AsyncIterator[None]:
    """A user of another system whose command was refused."""
    made = await orchestrator.create_key(name="a-shop", scopes=["submit"], brands=[BRAND])
    key_id = made["about"]["key_id"]
    await monitor.add_broker_user(key_id=key_id)
    connection = await asyncpg.connect(database_urls["orchestrator"])
    try:
        await insert_refusal(connection, key_id, words, words, "unknown_brand", words)
    finally:
        await connection.close()
    yield
    await monitor.remove_broker_user(key_id)


async def _kill_message(broker_url: str, monitor: AsyncMonitor, words: str) -> None:
    """Sends the publisher a message that it cannot read, and one of a known type, which can be edited; waits until both are recorded."""
    payload = {"brand_slug": words}
    known = {
        "event_id": str(new_event_id()),
        "type": "content.publish",
        "source": "orchestrator",
        "timestamp": datetime.now(UTC).isoformat(),
        "payload": payload,
    }
    async with Broker.connected(broker_url) as broker:
        for each in ({"type": words, "payload": payload}, known):
            body = json.dumps(each, ensure_ascii=False).encode()
            await broker.publish("commands", "publisher-commands", body, user_id=URL(broker_url).user)

    async def recorded() -> bool:
        return len((await monitor.list_dead_letters())["items"]) > 1

    await eventually(recorded)


def _browser(url: str, language: str = "en") -> httpx.AsyncClient:
    headers = {"Origin": url, "Accept-Language": language}
    # A connection that rests for long is closed by the console, maybe just when it is wanted.
    limits = httpx.Limits(max_keepalive_connections=0)
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=60, trust_env=False, limits=limits)


async def _sign_in(console: Any, person: httpx.AsyncClient, key: str, name: str, role: str = "owner") -> None:
    link = await console.invite(key, role)
    answer = await person.post(link, data={"name": name, "password": PASSWORD})
    assert answer.status_code == 303, answer.text


async def _press(person: httpx.AsyncClient, path: str, status: int = 303, **form: str) -> str:
    """The address to which a button leads."""
    answer = await person.post(path, data={"once": str(uuid4()), **form})
    assert answer.status_code == status, answer.text
    return answer.headers.get("location", "")


async def _upload_archive(owner: httpx.AsyncClient, name: str) -> str:
    """Uploads an export of the brand, and one of which nothing arrives; returns the address of the first's page."""
    exported = await owner.post(f"/b/{BRAND}/settings/export", data={"once": str(uuid4())})
    assert exported.status_code == 200, exported.text
    content = exported.content
    for size in ("7", str(len(content))):
        begun = await owner.post("/import", data={"once": str(uuid4()), "name": name, "size": size})
        assert begun.status_code == 201, begun.text
    for number, place in enumerate(range(0, len(content), 1_000_000)):
        await owner.post(
            f"{begun.text}/pieces/{number}",
            content=content[place : place + 1_000_000],
            headers={"Content-Type": "application/octet-stream"},
        )
    await _press(owner, f"{begun.text}/look")
    return str(begun.text)


async def _invite_guest(
    owner: httpx.AsyncClient, guest: httpx.AsyncClient, draft: str, words: Mapping[str, str]
) -> str:
    """The path of a link to the draft's first version, under which its guest has written a note."""
    form = {"version": "1", "guest": words["guest"], "once": "a-guest"}
    made = await owner.post(f"/b/{BRAND}/drafts/{draft}/guests", data=form)
    found = re.search(r'value="[^"]*(/p/[\w-]+)"', made.text)
    assert found, made.text
    await _press(guest, f"{found[1]}/notes", name=words["guest"], words=words["note of a guest"])
    return found[1]


async def _press_buttons(owner: httpx.AsyncClient, words: Mapping[str, str]) -> str:
    """Keeps filters and makes an address; returns the address of a page that tells what was not done, and to what."""
    for screen in ("posts", "keywords", "drafts"):
        await _press(
            owner, f"/b/{BRAND}/views", screen=screen, name=words["saved view"], query="?state=in_doubt"
        )
    await _press(owner, f"/b/{BRAND}/calendar/links", 200, name=words["calendar address"])
    return await _press(owner, f"/b/{BRAND}/posts/many", do="retry", which="all", state="in_doubt")
