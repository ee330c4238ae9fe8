"""Settings of a brand: changed in part by several people, listed, and obeyed in quiet hours."""

import asyncio
import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import httpx
import pytest

from chassis.polling import Poller
from chassis.testing import eventually
from messaging import Database
from orchestrator.brands import end_quiet_periods, routes, until_a_quiet_period_ends
from orchestrator.cycles import BrandLimits
from orchestrator.cycles.dispatch import dispatch_overlooked
from orchestrator.schedule import Scheduler, count_states

ACME = "/v1/brands/acme"


@pytest.fixture
async def acme(api: httpx.AsyncClient) -> httpx.Response:
    return (await api.put(ACME, json={"name": "Acme", "writer": "extractive"})).raise_for_status()


async def read(api: httpx.AsyncClient) -> httpx.Response:
    return (await api.get(ACME)).raise_for_status()


async def change(api: httpx.AsyncClient, before: httpx.Response, **changes: Any) -> httpx.Response:
    """As a person does who has read the brand `before`."""
    changed = before.json()["policy"] | changes
    return await api.put(ACME, json=changed, headers={"If-Match": before.headers["etag"]})


@pytest.mark.extended
async def test_two_who_change_a_part_do_not_overwrite_each_other(
    api: httpx.AsyncClient, acme: httpx.Response
) -> None:
    first, second = await read(api), await read(api)
    changed = await change(api, first, tone="Plain.")
    late = await change(api, second, words=800)
    again = await change(api, changed, words=800)

    assert (changed.status_code, late.status_code, again.status_code) == (200, 412, 200)
    assert "read it again, and send your change" in late.json()["detail"]
    assert (await read(api)).json()["policy"] == acme.json()["policy"] | {"tone": "Plain.", "words": 800}
    # Both at once: the row's lock lets one of them see what the other did.
    now = await read(api)
    both = await asyncio.gather(*(change(api, now, words=words) for words in (700, 900)))
    assert sorted(each.status_code for each in both) == [200, 412]


async def test_no_brand_takes_the_name_that_exams_of_judges_count_for(api: httpx.AsyncClient) -> None:
    refused = await api.put("/v1/brands/judge-exams", json={"name": "Exams"})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_slug")
    assert "choose another slug" in refused.json()["detail"]
    assert (await api.get("/v1/brands/judge-exams")).status_code == 404


@pytest.mark.extended
async def test_what_the_brand_does_meanwhile_is_no_change_of_its_policy(
    api: httpx.AsyncClient, acme: httpx.Response
) -> None:
    before = await read(api)
    await api.post(f"{ACME}/research", json={"keywords": ["tea"]})
    after = await read(api)

    assert after.headers["etag"] != before.headers["etag"]
    assert (await change(api, before, tone="Plain.")).status_code == 200
    for etag in ("*", f'"other", W/{(await read(api)).headers["etag"].removeprefix("W/")}'):
        body = after.json()["policy"]
        assert (await api.put(ACME, json=body, headers={"If-Match": etag})).status_code == 200
        await api.put(ACME, json=body | {"tone": "Plain."})  # as before: without, nothing is asked


async def test_a_brand_asks_for_as_many_sources_as_research_can_give(
    api: httpx.AsyncClient, acme: httpx.Response
) -> None:
    assert acme.json()["min_sources"] == 3
    assert (await change(api, acme, min_sources=4)).json()["policy"]["min_sources"] == 4
    for refused in (2, 9, None):
        assert (await change(api, await read(api), min_sources=refused)).status_code == 422
    assert (await read(api)).json()["min_sources"] == 4


async def test_a_default_is_not_set_by_changing_something_else(
    api: httpx.AsyncClient, acme: httpx.Response
) -> None:
    """Review before publication follows from writer and target, unless the brand sets it."""
    changed = await change(api, acme, target="elsewhere")

    assert (acme.json()["approval"], acme.json()["policy"]["approval"]) == ("nothing", None)
    assert (changed.json()["approval"], changed.json()["policy"]["approval"]) == ("everything", None)


async def test_one_of_two_makes_a_brand(api: httpx.AsyncClient) -> None:
    new = {"If-None-Match": "*"}
    both = await asyncio.gather(*(api.put(ACME, json={"name": name}, headers=new) for name in "AB"))
    gone = await api.put(
        "/v1/brands/rival", json={"name": "R"}, headers={"If-Match": both[0].headers["etag"]}
    )

    assert sorted(each.status_code for each in both) == [201, 412]
    assert (gone.status_code, (await api.get("/v1/brands/rival")).status_code) == (412, 404)


async def test_brands_are_listed_in_pages_with_what_holds_them_up(api: httpx.AsyncClient) -> None:
    for slug in ("acme", "rival", "third"):
        await api.put(f"/v1/brands/{slug}", json={"name": slug})
    await api.post("/v1/brands/rival/pause")

    first = (await api.get("/v1/brands", params={"limit": 2})).json()
    rest = (await api.get("/v1/brands", params={"limit": 2, "after": first["next"]})).json()

    assert [(each["slug"], each["waits"]) for each in first["items"]] == [
        ("acme", None),
        ("rival", "its brand is paused"),
    ]
    assert ([each["slug"] for each in rest["items"]], rest["next"]) == (["third"], None)


def hours(begin: int, end: int) -> dict[str, str]:
    """Quiet hours from so many hours after now to so many."""
    now = datetime.now(UTC)
    return {
        name: f"{now + timedelta(hours=away):%H:%M}" for name, away in (("begin", begin), ("end", end))
    } | {"time_zone": "UTC"}


async def outbox(database: Database) -> int:
    async with database.connection() as connection:
        count: int = await connection.fetchval("select count(*) from outbox")
        return count


@pytest.mark.extended
async def test_nothing_is_begun_in_quiet_hours_and_nothing_is_lost(
    api: httpx.AsyncClient, acme: httpx.Response, orchestrator_database: Database
) -> None:
    quiet = await change(api, acme, quiet_hours=hours(-1, 2))
    cycle = (await api.post(f"{ACME}/research", json={"keywords": ["tea"]})).json()["cycle_id"]
    await dispatch_overlooked(orchestrator_database, BrandLimits())
    brand = (await read(api)).json()
    (keyword,) = (await api.get(f"/v1/cycles/{cycle}")).json()["keywords"]

    assert await outbox(orchestrator_database) == 0
    assert brand["agent"]["waits"].startswith("its brand keeps quiet hours until 20")
    assert (keyword["state"], keyword["waits"]) == ("queued", brand["agent"]["waits"])

    async with orchestrator_database.connection() as connection:
        # An hour ago they were over.
        await connection.execute(
            "update brands set quiet_hours = $1::text::jsonb, quiet_until = now() - interval '1 hour'",
            json.dumps(hours(-3, -1)),
        )
    await dispatch_overlooked(orchestrator_database, BrandLimits())
    assert await outbox(orchestrator_database) == 0  # nobody has ended them yet
    both = [end_quiet_periods(orchestrator_database) for _ in range(2)]
    await asyncio.gather(*both)
    await dispatch_overlooked(orchestrator_database, BrandLimits())
    assert await outbox(orchestrator_database) == 1
    brand = (await read(api)).json()
    assert brand["agent"]["waits"] is None
    assert brand["updated_at"] == quiet.json()["updated_at"]  # nobody has changed anything


@pytest.mark.extended
async def test_quiet_hours_are_ended_when_they_are_over(
    api: httpx.AsyncClient,
    acme: httpx.Response,
    orchestrator_database: Database,
) -> None:
    # It sleeps for as long as the period lasts, and not for as long as it may.
    await change(api, acme, quiet_hours=hours(-1, 2))
    async with orchestrator_database.connection() as connection:
        await connection.execute(
            "update brands set quiet_hours = $1::text::jsonb, quiet_until = now() + interval '0.5 seconds'",
            json.dumps(hours(-3, -1)),
        )
    poller = Poller(
        "quiet_hours",
        partial(end_quiet_periods, orchestrator_database),
        orchestrator_database,
        every=timedelta(hours=1),
        next_due=until_a_quiet_period_ends,
    )
    running = asyncio.create_task(poller.run())

    async def ended() -> bool:
        return (await read(api)).json()["agent"]["waits"] is None

    try:
        await eventually(ended)
    finally:
        running.cancel()
    with suppress(asyncio.CancelledError):
        await running


@pytest.mark.extended
async def test_what_is_due_in_quiet_hours_is_caught_up_once(
    api: httpx.AsyncClient, acme: httpx.Response, orchestrator_database: Database
) -> None:
    await api.put(f"{ACME}/schedules/hourly", json={"keywords": ["tea"], "cron": "0 * * * *"})
    quiet = await change(api, acme, quiet_hours=hours(-1, 2))
    scheduler = Scheduler(orchestrator_database, keep_firings=timedelta(days=90))
    async with orchestrator_database.connection() as connection:
        await connection.execute(
            "update schedules set due_at = now() - interval '3 hours', try_at = now() - interval '3 hours'"
            " where kind = 'research'"
        )
        assert await scheduler.tick() == 0
        assert (await count_states(connection)).get("overdue", 0) == 0
        await change(api, quiet, quiet_hours=None)
        assert await scheduler.tick() == 1
        assert await connection.fetchval("select missed from firings") >= 2


@pytest.mark.extended
@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"begin": "22:00", "end": "22:00"}, "pause the brand instead"),
        ({"begin": "24:00", "end": "06:00"}, "quiet_hours.begin"),
        ({"begin": "22:00", "end": "06:00", "time_zone": "Mars/Base"}, "there is no time zone 'Mars/Base'"),
    ],
)
async def test_hours_that_nobody_can_keep_are_refused(
    api: httpx.AsyncClient, asked: dict[str, str], complaint: str
) -> None:
    refused = await api.put(ACME, json={"name": "Acme", "quiet_hours": asked})

    assert (refused.status_code, complaint in refused.json()["detail"]) == (422, True)


@pytest.mark.extended
async def test_names_alone_are_listed_for_whoever_may_see_the_brands(
    api: httpx.AsyncClient, acme: httpx.Response, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "MAX_NAMES", 2)
    for slug in ("bean", "cocoa"):
        (await api.put(f"/v1/brands/{slug}", json={"name": slug.title()})).raise_for_status()
    first = (await api.get("/v1/brand-names")).json()
    assert first == {
        "items": [{"slug": "acme", "name": "Acme"}, {"slug": "bean", "name": "Bean"}],
        "next": "bean",
    }
    rest = (await api.get("/v1/brand-names", params={"after": first["next"]})).json()
    assert rest == {"items": [{"slug": "cocoa", "name": "Cocoa"}], "next": None}
    wishes = {"name": "bound", "scopes": ["read"], "brands": ["cocoa"]}
    made = (await api.post("/v1/keys", json=wishes)).raise_for_status().json()
    async with httpx.AsyncClient(
        base_url=api.base_url, headers={"Authorization": f"Bearer {made['key']}"}, timeout=60, trust_env=False
    ) as bound:
        seen = await bound.get("/v1/brand-names")
        assert seen.json() == rest
        again = await bound.get("/v1/brand-names", headers={"If-None-Match": seen.headers["etag"]})
        assert again.status_code == 304
        await change(api, await read(api), tone="Plain.")
        again = await bound.get("/v1/brand-names", headers={"If-None-Match": seen.headers["etag"]})
        assert again.status_code == 304
