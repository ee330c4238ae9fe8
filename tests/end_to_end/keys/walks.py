"""Requests to every route of a service: paths, bodies, and a brand `rival` that has something of everything."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from typing import Any
from uuid import UUID

import httpx
from fastapi import FastAPI
from PIL import Image
from starlette.exceptions import HTTPException
from starlette.requests import Request

from chassis.database.pool import Connections
from chassis.http.callers import SERVICE, Caller, Scope
from envelope import DomainMessage, encode, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ArticleContext, ResearchFailed, ResearchRequested, SocialCreate
from events.http_api import create_api as events_api
from events.incoming_hooks import store as incoming_hooks
from events.incoming_hooks.definition import HookDefinition, HookKind
from events.live.follower import EventFollower
from events.log.recording import record as record_events
from events.webhooks import store as webhooks
from messaging import Database, DeadLetter, Reason
from monitor.dead_letters import DeadLetterOperations
from monitor.dead_letters import handlers as dead_letters
from monitor.http_api import create_api as monitor_api
from publisher import store as sites
from publisher.api import create_api as publisher_api
from publisher.domain import Article
from publisher.http_api import create_app as create_sites
from publisher.markup import to_html
from publisher.urls import SiteUrls
from reading.folder import FileStat
from receipts import Receipts
from research.http_api import create_api as research_api
from research.index.files import IndexedFile, save_files
from research.store import NewResearch, ResearchCacheKey, save_researches
from social.api import create_api as social_api
from social.calendar import SlotScheduler
from social.handlers import Handlers as SocialHandlers
from social.http_api import create_app as create_feeds
from social.sending import DuePosts
from social.urls import FeedUrls

BOUND = Caller("acme's", frozenset(Scope), frozenset({"acme"}), key_id="4fX0w8QbVn2L")
NOW = datetime(2026, 11, 1, tzinfo=UTC)
UNKNOWN = str(UUID(int=7))
NO_ROWS = {"import_id": UNKNOWN}
AS = "x-as"
"""A header of these tests alone: who asks."""


@dataclass
class Place:
    """Values of a parameter: another brand's, and an unknown one of the same length."""

    foreign: str
    unknown: str = UNKNOWN


@dataclass
class Walk:
    """The routes of a service in which a brand `rival` has something of everything."""

    http: httpx.AsyncClient
    routes: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    places: dict[str, Place] = field(default_factory=dict)
    """By the name of a parameter, or by path and name where one name means several things."""
    bodies: dict[str, Any] = field(default_factory=dict)
    """By method and path; parameters stand in them as in paths."""

    def filled(
        self, method: str, path: str, operation: dict[str, Any], which: str, **fixed: str
    ) -> tuple[str, dict[str, str], str | None]:
        """Path, query and body of a request about what is `foreign`, or `unknown`."""

        def value(name: str) -> str:
            known = self.places.get(f"{path} {name}") or self.places.get(name)
            assert known is not None, f"say in `places` what {name} stands for, in {path}"
            return fixed.get(name) or str(getattr(known, which))

        asked, query = path, {}
        for parameter in operation.get("parameters", ()):
            name = parameter["name"]
            if parameter["in"] == "path":
                asked = asked.replace(f"{{{name}}}", value(name))
            elif parameter["in"] == "query" and (f"{path} {name}" in self.places or name in self.places):
                query[name] = value(name)
        body = json.dumps(self.bodies[f"{method} {path}"]) if f"{method} {path}" in self.bodies else None
        if body is not None:
            for name in [each.rpartition(" ")[2] for each in self.places]:
                if f"<{name}>" in body:
                    body = body.replace(f"<{name}>", value(name))
        return asked, query, body

    async def ask(
        self, who: str, method: str, asked: str, query: dict[str, str], body: str | None
    ) -> httpx.Response:
        return await self.http.request(method, asked, params=query, content=body, headers={AS: who})


async def authorise(request: Request) -> Caller:
    who = request.headers.get(AS, "")
    if who == "all":
        return SERVICE
    if who == "bound":
        return BOUND
    if who.startswith("without "):
        return Caller("short", frozenset(Scope) - {Scope(who.removeprefix("without "))}, key_id="7" * 12)
    raise HTTPException(401, "this API key was revoked")


async def done(walk: Walk, method: str, path: str, **sent: Any) -> Any:
    answer = await walk.http.request(method, path, headers={AS: "all"}, **sent)
    assert answer.is_success, (path, answer.text)
    return answer.json() if answer.content else None


async def insert_receipt(walk: Walk, database: Database) -> None:
    walk.places["receipt_id"] = Place(str(new_event_id()))
    async with database.connection() as connection:
        await connection.execute(
            """
            insert into receipts (receipt_id, kind, account, brand_slug, subject, prepared, steps, step, state)
            values ($1::text::uuid, 'mastodon', 'blog', 'rival', 'a post', '{}', array['post'], 'post', 'in_doubt')
            """,
            walk.places["receipt_id"].foreign,
        )
    walk.bodies["POST /v1/receipts/{receipt_id}/confirm"] = {"remote": {"id": "1"}}


async def fill_research(walk: Walk, database: Database) -> None:
    async with database.transaction() as tx:
        file = IndexedFile(FileStat("rivals.md", 3, 1), None, "it is broken", set_aside=True)
        await save_files(tx.connection, "/corpus", [file])
        key = ResearchCacheKey("rival", "tea", provider="corpus", looked_in="folder")
        (research,) = await save_researches(tx.connection, [NewResearch(key, priority="high", sources=[])])
    (document,) = (await done(walk, "GET", "/v1/documents"))["items"]
    path = "/v1/brands/rival/documents"
    uploads = [
        await done(walk, "POST", path, params={"name": f"{n}.md"}, content=f"# {n}") for n in range(12)
    ]
    await done(walk, "PUT", "/v1/brands/rival/sources", json={"folder": False})
    walk.places |= {
        "research_id": Place(str(research)),
        "id": Place(str(research)),
        "document_id": Place(str(document["id"]), "9"),
        "upload_id": Place(str(uploads[-1]["id"]), "98"),
        "part": Place("research", "research"),
        "/v1/brands/{slug}/documents name": Place("tea.md", "tea.md"),
    }
    walk.bodies["PUT /v1/brands/{slug}/sources"] = {"folder": True}
    walk.bodies["POST /v1/brands/{slug}/documents"] = "# Tea"
    walk.bodies["POST /v1/brands/{slug}/parts/{part}"] = NO_ROWS


async def fill_publisher(walk: Walk, database: Database) -> None:
    article = Article.model_validate(
        {
            "content_id": str(new_event_id()),
            "brand": {"slug": "rival", "name": "rival"},
            "keyword": "tea",
            "slug": "steeping",
            "title": "Tea",
            "meta_description": "About tea.",
            "body_markdown": "Steep it.",
            "word_count": 2,
            "key_points": [],
            "label": None,
            "sources": [],
            "updated_at": NOW.isoformat(),
        }
    )
    html = to_html(article.body_markdown, frozenset())
    async with database.transaction() as tx:
        await sites.publish(tx.connection, sites.RenderedArticle(article, html, None))
        await tx.connection.execute(
            "insert into publications (content_id, target, brand_slug, kind) values ($1, 'blog', 'rival', 'wordpress')",
            article.content_id,
        )
        await tx.connection.execute(
            "insert into newsletters (brand_slug, account) values ('rival', 'rivals-mail')"
        )
        subscriber = await tx.connection.fetchval(
            """
            insert into newsletter_subscribers (brand_slug, address_digest, address, state)
            values ('rival', 'x', 'ada@rival.example', 'confirmed') returning id
            """
        )
        await tx.connection.execute(
            "insert into newsletter_letters (content_id, brand_slug, due_at) values ($1, 'rival', now())",
            article.content_id,
        )
    logo = BytesIO()
    Image.new("RGB", (60, 20), (200, 0, 0)).save(logo, "PNG")
    await done(walk, "PUT", "/v1/brands/rival/logo", content=logo.getvalue())
    await done(walk, "PATCH", "/v1/brands/rival/site", json={"tags": ["tea"]})
    await done(walk, "PUT", "/v1/brands/rival/targets/blog", json={})
    await insert_receipt(walk, database)
    walk.places |= {
        "article": Place("steeping", "brewings"),
        "part": Place("pages", "pages"),
        "target": Place("blog", "none"),
        "content_id": Place(str(article.content_id)),
        "subscriber_id": Place(str(subscriber)),
    }
    walk.bodies |= {
        "POST /v1/brands/{slug}/parts/{part}": NO_ROWS,
        "PUT /v1/brands/{slug}/departure": {"move_id": NO_ROWS["import_id"]},
        "PUT /v1/brands/{slug}/newsletter": {},
        "PUT /v1/brands/{slug}/logo": "no picture",
        "PATCH /v1/brands/{slug}/site": {"tags": ["coffee"]},
        "POST /v1/brands/{slug}/previews": {"content_id": "<content_id>"},
        "PUT /v1/brands/{slug}/targets/{target}": {},
    }


async def fill_social(walk: Walk, database: Database) -> None:
    content_id, post_id = str(new_event_id()), str(new_event_id())
    command = SocialCreate(
        brand_slug="rival",
        content_id=new_event_id(),
        article_context=ArticleContext(title="Tea", keyword="tea", meta_description="How long it takes."),
        approval="everything",
    )
    async with database.transaction() as tx:
        await SocialHandlers(FEEDS).social_create([message_of(command)], tx)
        await tx.connection.execute(
            """
            insert into channel_posts (post_id, brand_slug, content_id, asked_as, entry, material, channel, account, text, state,
                                       due_at, in_queue)
            values ($1::text::uuid, 'rival', $2::text::uuid, 'mastodon', 'mastodon',
                    '{"title": "Tea", "keyword": "tea", "description": "", "points": [], "tags": [], "link": null, "pictures": [],
                      "language": null}', 'mastodon', 'mastodon-eu', 'Tea.', 'planned', now() + interval '1 day', true)
            """,
            post_id,
            content_id,
        )
    today = datetime.now(UTC).date().isoformat()
    (pending,) = (await done(walk, "GET", "/v1/posts", params={"state": "waiting"}))["items"]
    again = {"kind": "evergreen", "cool_down_days": 30, "at_most": 3}
    slots = {"slots": [{"times": ["09:00"]}]}
    await done(walk, "PUT", "/v1/brands/rival/accounts/mastodon-eu/slots", json=slots)
    await done(walk, "PUT", "/v1/brands/rival/channels/mastodon", json={})
    await done(walk, "PUT", f"/v1/brands/rival/articles/{content_id}/repeats", json=again)
    await done(walk, "PUT", f"/v1/calendar/{post_id}/repeats", json=again)
    await insert_receipt(walk, database)
    walk.places |= {
        "post_id": Place(post_id),
        "part": Place("channel-posts", "channel-posts"),
        **{
            f"{path} post_id": Place(str(pending["post_id"]))
            for _, path, _ in walk.routes
            if path.startswith("/v1/posts/")
        },
        "content_id": Place(content_id),
        "account": Place("mastodon-eu", "nobodys-own"),
        "/v1/activity since": Place("2026-11-01T00:00:00Z", "2026-11-01T00:00:00Z"),
        # The post of tomorrow is among its days.
        "/v1/calendar/days first": Place(today, today),
        "channel": Place("mastodon", "mastodon"),
    }
    walk.bodies |= {
        "POST /v1/brands/{slug}/parts/{part}": NO_ROWS,
        "PUT /v1/brands/{slug}/departure": {"move_id": NO_ROWS["import_id"]},
        "POST /v1/posts/{post_id}/approve": {"version": 1},
        "POST /v1/posts/{post_id}/edit": {"version": 1, "text": "Taken over."},
        "POST /v1/posts/{post_id}/reject": {"version": 1, "reason": "not theirs"},
        "PUT /v1/brands/{slug}/channels/{channel}": {},
        "PUT /v1/calendar/{post_id}": {"at": "2030-01-01T09:00:00Z"},
        "PUT /v1/brands/{slug}/accounts/{account}/slots": slots,
        "PUT /v1/brands/{slug}/accounts/{account}/queue": {"post_ids": ["<post_id>"]},
        "PUT /v1/brands/{slug}/articles/{content_id}/repeats": again,
        "PUT /v1/calendar/{post_id}/repeats": again,
    }


async def fill_monitor(walk: Walk, database: Database) -> None:
    deaths = [death_of(message_of(ResearchRequested(brand_slug="rival", keyword="tea"))) for _ in range(2)]
    noticed, messages = ([str(new_event_id()) for _ in range(2)] for _ in range(2))
    async with database.transaction() as tx:
        await dead_letters.record(deaths, tx)
        await tx.connection.execute(
            "insert into notification_routes (name, account, brand_slug, group_seconds) values ('rivals', 'ops', 'rival', 60)"
        )
        await tx.connection.execute(
            """
            insert into notifications (id, source, kind, brand_slug, key, severity, title, detail, command, is_event)
            select id::uuid, 'x', 'waiting', 'rival', id, 'info', 'Drafts of rival wait', '', '', false from unnest($1::text[]) as id
            """,
            noticed,
        )
        await tx.connection.execute(
            """
            insert into notification_messages (id, route, brand_slug, purpose, state, ended_at)
            select id::uuid, 'rivals', 'rival', 'news', 'sent', now() from unnest($1::text[]) as id
            """,
            messages,
        )
    (group,) = (await done(walk, "GET", "/v1/dead-letters/summary"))["groups"]
    await done(walk, "POST", f"/v1/notifications/{noticed[1]}/acknowledge")
    newest = str(max(each.event_id for each in deaths))
    canaries = []
    for _ in range(2):
        canaries.append(
            (await done(walk, "POST", "/v1/canary-replays", json={"group": group["group"]}))["id"]
        )
        await done(walk, "POST", f"/v1/canary-replays/{canaries[-1]}/stop")
    nothing = {"verb": "discard", "type": "nothing", "reason": "none is meant"}
    operation = (await done(walk, "POST", "/v1/dead-letter-operations", json=nothing))["id"]
    await done(walk, "POST", "/v1/dead-letter-operations", json=nothing)
    # In the log of changes nothing says whose a dead letter is.
    del walk.places["brand"]
    walk.places |= {
        "/v1/notifications brand": Place("rival", "noone"),
        # The same for everybody.
        "alert_id": Place("0123456789abcdef", "0123456789abcdef"),
        "silence_id": Place(newest, newest),
        "key_id": Place("0123456789AB", "0123456789AB"),
        "dead_letter_id": Place(newest),
        "/v1/dead-letters group": Place(group["group"], "0123456789abcdef"),
        "/v1/dead-letters before": Place(newest),
        "/v1/dead-letters message_id": Place(newest),
        "/v1/notifications before": Place(max(noticed)),
        "/v1/notifications/messages before": Place(max(messages)),
        "notification_id": Place(noticed[0]),
        "canary_id": Place(canaries[-1]),
        "/v1/canary-replays group": Place(group["group"], "0123456789abcdef"),
        "/v1/canary-replays after": Place(canaries[-1]),
        "operation_id": Place(operation),
        "/v1/dead-letter-operations after": Place(operation),
        "name": Place("rivals", "nobody"),
        "route": Place("rivals", "nobody"),
    }
    many = {"ids": ["<dead_letter_id>"]}
    walk.bodies |= {
        "POST /v1/alerts/{alert_id}/acknowledge": {"note": "not theirs"},
        "POST /v1/alerts/{alert_id}/silence": {"reason": "not theirs", "ends_at": "2030-01-01T00:00:00Z"},
        "POST /v1/dead-letters/{dead_letter_id}/discard": {"reason": "not theirs"},
        "POST /v1/dead-letters/replay": many | {"after": "<dead_letter_id>"},
        "POST /v1/dead-letters/discard": many | {"reason": "not theirs"},
        "POST /v1/dead-letters/{dead_letter_id}/restore": {"reason": "not theirs"},
        "POST /v1/dead-letters/restore": many | {"reason": "not theirs"},
        "POST /v1/ledger/messages/close": {"ids": [str(UUID(int=7))], "reason": "not theirs"},
        "POST /v1/dead-letters/outcomes": many,
        "POST /v1/canary-replays": {"group": group["group"]},
        "POST /v1/dead-letter-operations": {
            "verb": "discard",
            "group": group["group"],
            "reason": "not theirs",
        },
        "PUT /v1/notifications/routes/{name}": {"account": "ops"},
        "POST /v1/broker-users": {"key_id": "0123456789AB"},
    }


def death_of(message: DomainMessage[Any]) -> DomainMessage[DeadLetter]:
    letter = DeadLetter(
        dead_event_id=message.event_id,
        queue="research-commands",
        message_type=message.type,
        source="orchestrator",
        correlation_id="rivals",
        body=encode(message),
        headers={},
        reason=Reason.EXHAUSTED,
        exception_type="X",
        detail="about rival",
        stack=None,
        attempts=5,
        service="research",
        first_failed_at=None,
        failed_at=NOW,
        replay_of=None,
    )
    return DomainMessage[DeadLetter](
        event_id=new_event_id(),
        type="dead_letter.received",
        source="research",
        timestamp=NOW,
        correlation_id="rivals",
        payload=letter,
    )


def message_of(payload: Any) -> Any:
    entry = CATALOGUE.type_of(payload)
    return entry.envelope(
        event_id=new_event_id(),
        type=entry.name,
        source=entry.producers[0],
        timestamp=NOW,
        correlation_id="rivals",
        payload=payload,
    )


FEEDS = FeedUrls.under("http://posts.example")
SITES = SiteUrls.under("http://pages.example")


def publisher(database: Database, receipts: Receipts) -> FastAPI:
    pages = create_sites(database, SITES, articles_per_page=10)
    return publisher_api(database, authorise, SITES, sites=pages, receipts=receipts)


def social(database: Database, receipts: Receipts) -> FastAPI:
    due, feeds = (
        DuePosts(database, SlotScheduler(), at_once=1),
        create_feeds(database, FEEDS, posts_per_page=20),
    )
    return social_api(database, authorise, FEEDS, due, feeds=feeds, receipts=receipts)


async def fill_events(walk: Walk, database: Database) -> None:
    payload = ResearchFailed(brand_slug="rival", keyword="tea", reason="no_sources")
    async with database.transaction() as tx:
        await record_events([message_of(payload)], tx)
    await done(walk, "PUT", "/v1/subscriptions/rivals", json={"brands": ["rival"], "begin": "oldest"})
    (pulled,) = (await done(walk, "POST", "/v1/subscriptions/rivals/pull"))["messages"]
    async with database.transaction() as tx:
        await tx.connection.execute("update deliveries set died_at = now()")
        await record_events([message_of(payload)], tx)
    delivery_id = new_event_id()
    async with database.transaction() as tx:
        await tx.connection.execute(
            "insert into subscriptions (name, brands, max_deliveries, position, created_by)"
            " values ('rival/rivals', '{rival}', 10, 0, 'them')"
        )
        await incoming_hooks.insert(
            tx.connection,
            "rival",
            "rivals",
            HookKind.GITHUB,
            "secret",
            HookDefinition(type="brand.audit"),
            by="them",
        )
        await webhooks.insert(tx.connection, "rival", "rivals", "their-account", strict=False)
        await tx.connection.execute(
            "insert into webhook_tries (try_id, subscription, position, event_id, type, number, outcome, duration_ms)"
            " values ($1, 'rival/rivals', 1, $1, 'content.published', 1, 'failed', 1)",
            delivery_id,
        )
    walk.places |= {"name": Place("rivals", "nobody"), "delivery_id": Place(str(delivery_id))}
    walk.bodies |= {
        "PUT /v1/subscriptions/{name}": {"types": ["content.published"]},
        "POST /v1/subscriptions/{name}/ack": {"acks": [pulled["lease_id"]]},
        "PUT /v1/brands/{slug}/hooks/{name}": {"kind": "github", "command": {"type": "brand.audit"}},
        "PUT /v1/brands/{slug}/webhooks/{name}": {"account": "crm"},
        "POST /v1/brands/{slug}/webhooks/{name}/resend": {"dead": True},
    }


def events(database: Database, _: Receipts) -> FastAPI:
    # No stream is taken: one without an end is no answer to compare.
    nowhere = Connections("postgresql://nobody@127.0.0.1:1/none", name="none", size=1)
    return events_api(database, authorise, EventFollower(nowhere, most=0))


APPLICATIONS: dict[str, Callable[[Database, Receipts], FastAPI]] = {
    "research": lambda database, _: research_api(database, authorise, look_again=lambda: None),
    "publisher": publisher,
    "social": social,
    "events": events,
    "monitor": lambda database, _: monitor_api(database, DeadLetterOperations(database), authorise),
}
FILLED: dict[str, Callable[[Walk, Database], Awaitable[None]]] = {
    "research": fill_research,
    "publisher": fill_publisher,
    "social": fill_social,
    "events": fill_events,
    "monitor": fill_monitor,
}
