"""Everything that screens can show, from a real installation in which every word comes from an attacker."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import httpx
import pytest
from cryptography.fernet import Fernet

from brandctl.local import services
from chassis.database.pool import Connections
from chassis.testing import eventually
from client import Address
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
from orchestrator.article_workflow.store import insert_content
from writing import Article, ArticleSource
from writing.article import ArticleEvidence, CitedPassage, CutPlace, CutSentence, KeptSentence
from writing.quality.measures import Measure

ROOT: Final = Path(__file__).parents[4]
CORPUS: Final = ROOT / "deploy" / "demo" / "corpus"
KEY: Final = "test-service-key-0123456789"
PASSWORD: Final = "correct horse battery staple"
ASKED: Final = (*services.NAMES, "gateway")
BRAND: Final = "acme"
TEMPLATE: Final = "x{{7*7}}x"
"""Shown as it is; `x49x` where it was computed."""


def hostile(what: str) -> str:
    """A name that would run if it were not escaped, and turns what stands behind it around; it fits where 60 characters do."""
    return f'{what} "><img src=x onerror=__hit=1>{TEMPLATE}\u202e'


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
    console: Any
    words: Mapping[str, str]
    """What somebody named each kind of thing; some page must show each of them."""
    addresses: tuple[str, ...]
    """Where its words are, and what no link leads to: the address of a form after a refusal."""


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
    broker_urls: dict[str, str], database_urls: dict[str, str], corpus: Path, tmp_path: Path
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
            )
            children.append(services.start(name, environment, tmp_path))
        await asyncio.to_thread(services.wait_until_ready, children, addresses)
        yield addresses
    finally:
        await asyncio.to_thread(services.stop, children)


@pytest.fixture
def service_urls(stack: services.ServiceAddresses) -> dict[str, str]:
    return {f"{name}_url": stack.url(name) for name in ASKED} | {"installation_name": hostile("Ours")}


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


async def _ended(orchestrator: AsyncOrchestrator, count: int) -> None:
    async def ended() -> bool:
        found = (await orchestrator.search_for_keywords(brand=BRAND))["items"]
        states = {each["state"] for each in found}
        return len(found) == count and states <= {"completed", "refused", "failed", "needs_review"}

    await eventually(ended, within=180)


@pytest.fixture
async def hostile_brand(
    console: Any, stack: services.ServiceAddresses, database_urls: dict[str, str]
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
        await orchestrator.set_brand(BRAND, **brand)
        await orchestrator.set_brand("other", name="Other")
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

        text = _article(0).body_markdown
        await orchestrator.edit_draft(
            drafts[0],
            version=1,
            body_markdown=f"{text}\n{hostile_text('An edited sentence')}\n",
            comment=hostile_text("Why"),
        )

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
        await orchestrator.create_key(name="a-robot", scopes=["read"], brands=[BRAND])
        await orchestrator.set_schedule(BRAND, "weekly", keywords=[words["keyword"]], cron="0 9 * * 1")
        await orchestrator.audit_brand(BRAND)
        await gateway.connect_account(
            "acme-hook",
            kind="webhook",
            brands=[BRAND],
            settings={"url": "https://hooks.acme.example/posts"},
            credentials={},
        )
        await publisher.set_target(
            BRAND,
            "wordpress",
            kind="wordpress",
            account="blog",
            author=hostile("Author"),
            tags=[hostile("tag")],
        )

        owner = await enter(_browser(console.url))
        await _sign_in(console, owner, "Owner", words["person"])
        await _sign_in(console, await enter(_browser(console.url)), "Second", words["other person"], "editor")
        noted = await owner.post(
            f"/b/{BRAND}/drafts/{drafts[0]}/notes", data={"words": words["note"], "once": "a-note"}
        )
        assert noted.status_code == 303, noted.text
        post = f"/b/{BRAND}/posts/{posts[0]['post_id']}"
        moved = f"/b/{BRAND}/calendar/posts/{posts[0]['post_id']}/move"
        logged_in = f"/b/{BRAND}/accounts/login/x/complete"
        sentences = (f"/b/{BRAND}/drafts/{each}?sentence=2" for each in drafts)
        yield HostileBrand(owner, console, words, (post, moved, logged_in, *sentences))


def _browser(url: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, headers={"Origin": url}, timeout=60, trust_env=False)


async def _sign_in(console: Any, person: httpx.AsyncClient, key: str, name: str, role: str = "owner") -> None:
    link = await console.invite(key, role)
    answer = await person.post(link, data={"name": name, "password": PASSWORD})
    assert answer.status_code == 303, answer.text
