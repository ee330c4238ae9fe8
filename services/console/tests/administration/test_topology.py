"""The picture of the topology beside real services, of which some are away."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

from console.topology import views

TOPOLOGY = "/backbone/topology"
_CATALOGUE = {
    "services": ["shop", "store"],
    "exchanges": ["commands", "events"],
    "returns": "returns",
    "dead_letters": "dead-letters",
    "recorder": "store",
    "queues": [
        {"queue": "shop-commands", "consumer": "shop", "dead_letter_queue": "shop-commands-dlq"},
        {"queue": "store-commands", "consumer": "store", "dead_letter_queue": "store-commands-dlq"},
        {"queue": "shop-events", "consumer": "shop", "dead_letter_queue": "shop-events-dlq"},
    ],
    "sent": [
        {"producer": "shop", "exchange": "commands", "queue": "store-commands", "types": ["order.pack"]},
        {"producer": "store", "exchange": "events", "queue": "shop-events", "types": ["order.packed"]},
    ],
}


def _queue(name: str, ready: int, **more: Any) -> dict[str, Any]:
    return {"queue": name, "ready": ready, "in_per_minute": 2.0, "out_per_minute": 1.0, "pause": None, **more}


def test_the_picture_has_each_route_with_the_figures_of_who_answered() -> None:
    parts = {
        "store": {
            "queues": [_queue("store-commands", 7, pause={"by": "Ada"}), _queue("store-commands-dlq", 3)],
            "sent": [{"exchange": "events", "per_minute": 4.0}],
        },
        "shop": None,
    }
    picture = views.draw(_CATALOGUE, parts)
    lines = {each.queue: each for each in picture.lines}
    assert (lines["store-commands"].ready, lines["store-commands"].dead) == (7, 3)
    assert lines["store-commands"].is_paused
    assert lines["shop-events"].ready is None
    assert lines["shop-commands"].senders == ()
    nodes = {(each.kind, each.name): each for each in picture.nodes}
    assert not nodes["queue", "shop-events"].is_known
    assert nodes["queue", "*-dlq"].ready == 3
    assert ("store", "events", 4.0) in picture.sent
    assert ("shop", "commands", None) in picture.sent
    # No two boxes lie on each other, and all are in the picture.
    for one in picture.nodes:
        assert one.x + one.width <= picture.width
        assert one.y + picture.node_height <= picture.height
        for other in picture.nodes:
            apart = one is other or one.x != other.x or abs(one.y - other.y) >= picture.node_height
            assert apart, (one, other)


async def test_the_routes_are_shown_and_who_is_away_is_named(person: httpx.AsyncClient) -> None:
    shown = (await person.get(TOPOLOGY)).text
    for away in ("research", "publisher", "social"):
        assert f"The service “{away}” does not answer" in shown
    for told in (
        "publisher-commands",
        "orchestrator-events",
        "*-dlq",
        "content.publish",
        "dead_letter.resolved",
    ):
        assert told in shown, told
    assert "style=" not in shown.partition("<svg")[2].partition("</svg>")[0]
    assert f'href="{TOPOLOGY}"' in (await person.get("/backbone")).text


async def test_the_page_is_for_operators_of_all_brands(signed_in_as: Any, console: Any) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
        assert (await eve.get(TOPOLOGY)).status_code == 403
        shown = (await otto.get(TOPOLOGY)).text
        assert "you may see only some brands" in shown
        assert "publisher-commands" not in shown


@pytest.mark.extended
async def test_a_person_watches_the_picture_in_a_browser(
    signed_in: Page, console: Any, look_at: Callable[[Page, str], Awaitable[None]]
) -> None:
    await look_at(signed_in, TOPOLOGY)
    picture = signed_in.get_by_role("img", name="Message routes")
    # A phone has the table alone.
    await expect(picture).to_be_hidden()
    await expect(signed_in.get_by_role("table").first).to_contain_text("monitor-commands")
    await signed_in.set_viewport_size({"width": 1280, "height": 900})
    await expect(picture).to_be_visible()
    # At this width, each name of a service or queue stands on one line.
    broken = await signed_in.eval_on_selector_all(
        ".routes td:nth-child(4), .routes th[scope=row]",
        "cells => cells.filter(cell => cell.firstChild && (() => { const range = document.createRange();"
        " range.selectNodeContents(cell); return new Set([...range.getClientRects()].map(each => Math.round(each.top))).size > 1 })())"
        ".map(cell => cell.textContent)",
    )
    assert broken == []
    await signed_in.emulate_media(color_scheme="dark")
    await look_at(signed_in, TOPOLOGY)
    await signed_in.set_viewport_size({"width": 1280, "height": 900})
    # The picture follows by itself: a queue is paused elsewhere.
    pause = {"service": "monitor", "queue": "monitor-commands", "do": "pause", "reason": "moves", "once": "1"}
    answer = await signed_in.request.post(
        f"{console.url}/backbone", form=pause, headers={"Origin": console.url}
    )
    assert answer.ok
    await expect(picture).to_contain_text("paused", timeout=60_000)
