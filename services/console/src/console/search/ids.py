"""What has an id: a dead letter, a message, a chain, a cycle, an article or a post, and the page of each."""

import asyncio
from collections.abc import Awaitable, Mapping
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from chassis.http.callers import Scope
from client import RefusedError
from client.message_services import MESSAGE_SERVICES
from console.pages import PageViewer
from console.search.results import FoundPage
from console.urls import chain_path

_UNKNOWN: Final = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.GONE})


async def find_by_id(
    viewer: PageViewer, wanted: UUID, brand: str | None
) -> tuple[list[FoundPage], list[Any]]:
    """Returns the pages of what has the id, and the services that do not answer.

    Args:
        viewer: who searches; they find what they may see.
        wanted: the id.
        brand: only what belongs to this brand; chains, messages and dead letters belong to none. None: all.
    """
    orchestrator, id_ = viewer.orchestrator, str(wanted)
    calls: dict[str, Awaitable[Any]] = {
        "article": orchestrator.get_article(id_),
        "cycle": orchestrator.get_cycle(id_),
        "keyword": orchestrator.search_for_keywords(content_id=id_, limit=1),
        "post": viewer.social.get_post(id_),
    }
    may_see_messages = viewer.may(Scope.OPERATE) and brand is None
    if may_see_messages:
        calls["letter"] = viewer.monitor.get_dead_letter(id_)
    answers = await asyncio.gather(*(_known(viewer, call) for call in calls.values()))
    parts = dict(zip(calls, answers, strict=True))
    found = _of_brand(viewer, parts, brand)
    away = [each for each in parts.values() if each is not None and not each]
    if may_see_messages:
        if letter := parts["letter"]:
            found.append(_found(viewer, "letter", letter["type"] or id_, f"/dead-letters/{letter['id']}"))
        more, silent = await _messages(viewer, id_)
        found += more
        away += silent
    # The list of dead letters knows their own ids, too.
    return list(dict.fromkeys(found)), away


def _of_brand(viewer: PageViewer, parts: Mapping[str, Any], brand: str | None) -> list[FoundPage]:
    found: list[tuple[str, str, str, str]] = []
    if article := parts["article"]:
        slug, place = article["brand"]["slug"], article["content_id"]
        kind, screen = ("draft", "drafts") if article["held_for"] else ("article", "articles")
        found.append((kind, article["title"], slug, f"/b/{slug}/{screen}/{place}"))
    if cycle := parts["cycle"]:
        slug = cycle["brand_slug"]
        first = f"/b/{slug}/keywords/{cycle['cycle_id']}.1"
        path = first if cycle["total"] == 1 else f"/b/{slug}/keywords"
        found.append(("cycle", cycle["keywords"][0]["keyword"] if cycle["keywords"] else "", slug, path))
    for keyword in parts["keyword"]["items"] if parts["keyword"] else ():
        slug, place = keyword["brand_slug"], f"{keyword['cycle_id']}.{keyword['position']}"
        found.append(("keyword", keyword["keyword"], slug, f"/b/{slug}/keywords/{place}"))
    if post := parts["post"]:
        slug = post["brand_slug"]
        found.append(("post", post["account"] or post["channel"], slug, f"/b/{slug}/posts/{post['post_id']}"))
    return [
        _found(viewer, kind, title, path, slug)
        for kind, title, slug, path in found
        if brand in {None, slug} and viewer.may_see(slug)
    ]


async def _messages(viewer: PageViewer, id_: str) -> tuple[list[FoundPage], list[Any]]:
    """What operators find: dead letters of a message, its chain, and the chain with the id itself."""
    letters = await viewer.ask_one("monitor", viewer.monitor.list_dead_letters(message_id=id_, limit=5))
    found = [
        _found(viewer, "letter", each["type"] or id_, f"/dead-letters/{each['id']}")
        for each in (letters["items"] if isinstance(letters, Mapping) else ())
    ]
    away = [] if isinstance(letters, Mapping) else [letters]
    if viewer.person.brands is not None:
        return found, away
    named = [
        viewer.ask_one(each, getattr(viewer, each).list_messages(**{by: id_}, limit=1))
        for by in ("message_id", "correlation_id")
        for each in MESSAGE_SERVICES
    ]
    # Only the ledger knows a message that was lost on its way.
    named.append(viewer.ask_one("monitor", viewer.monitor.list_ledger_messages(message_id=id_, limit=1)))
    of_keywords = viewer.orchestrator.search_for_keywords(correlation_id=id_, limit=1)
    named.append(viewer.ask_one("orchestrator", of_keywords))
    answers = await asyncio.gather(*named)
    away += [each for each in answers if not isinstance(each, Mapping)]
    items = [item for each in answers if isinstance(each, Mapping) for item in each["items"]]
    chains = dict.fromkeys(each["correlation_id"] for each in items if each["correlation_id"])
    found += [
        _found(viewer, "chain" if each == id_ else "message", each, chain_path(each)) for each in chains
    ]
    return found, away


def _found(viewer: PageViewer, kind: str, title: str, path: str, slug: str = "") -> FoundPage:
    return FoundPage(
        viewer.t(f"search.with_id.{kind}", title=title), path, viewer.brands.by_slug.get(slug, slug)
    )


async def _known(viewer: PageViewer, call: Awaitable[Any]) -> Any:
    """The answer; None if there is no such thing, or the person may not see it."""
    try:
        return (await viewer.gather(found=call))["found"]
    except RefusedError as error:
        if error.status in _UNKNOWN:
            return None
        raise
