"""An erased brand leaves no findings or notifications behind, and gets no new ones."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, time
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import DeadLettersErase
from messaging import DeadLetter
from monitor.erasure import erase
from monitor.notifications.domain import SummarySchedule, Weekday

NewDeath = Callable[..., DomainMessage[DeadLetter]]
Record = Callable[..., Awaitable[list[UUID]]]
BRAND = {
    "name": "Brand", "drafts_waiting": 2, "posts_waiting": 0, "waiting_since": None, "held_up": False, "audit": None,
    "recently": {"published": 3, "posts": 6, "refused": 1, "failed": 0},
}  # fmt: skip


async def erased(office: Any, brand: str) -> dict[str, int]:
    command = DomainMessage[DeadLettersErase](
        event_id=new_event_id(),
        type="dead_letters.erase",
        source="orchestrator",
        timestamp=datetime.now(UTC),
        payload=DeadLettersErase(brand_slug=brand, erasure_id=new_event_id()),
    )
    async with office.database.transaction() as tx:
        await erase([command], tx)
        removed: dict[str, int] = json.loads(tx.outgoing[0].body)["payload"]["removed"]
    return removed


async def left_of(office: Any, brand: str) -> list[str]:
    tables = (
        "notifications",
        "notification_messages",
        "notification_routes",
        "notification_tellings",
        "dead_messages",
    )
    found = []
    for table in tables:
        rows = await office.rows(f"select 1 from {table} as t where position($1 in t::text) > 0", brand)
        found += [table] * len(rows)
    return found


async def test_nothing_is_left_of_it_and_what_else_a_message_told_is_told_again(
    office: Any, outside: Any, record: Record, new_death: NewDeath, new_envelope: Callable[..., bytes]
) -> None:
    payload = {"brand_slug": "zenith", "content_id": str(new_event_id()), "target": "site"}
    await record(new_death(new_envelope(payload=payload)), new_death())
    outside.activity = [BRAND | {"brand_slug": "zenith"}, BRAND | {"brand_slug": "daily-grind"}]
    outside.away = False
    mondays = SummarySchedule(Weekday.MONDAY, time(8), ZoneInfo("UTC"))
    await office.set_route("ops", summary=mondays)
    await office.set_route("zeniths", account="ops", brand="zenith")
    await office.turn()
    # Another message is on its way with what is about both.
    await office.set_route("pager")
    await office.notifier.compose_due()
    waiting = await office.rows("select state from notification_messages where route = 'pager'")
    assert waiting == [{"state": "waiting"}]

    removed = await erased(office, "zenith")

    assert removed == {
        "dead_letters": 1,
        "notifications": 2,
        "notification_messages": 4,
        "notification_routes": 1,
    }
    assert await left_of(office, "zenith") == []
    outside.activity = outside.activity[1:]
    await office.turn()
    (told,) = outside.sent["pager"]
    assert {each["brand"] for each in told["json"]["data"]["items"]} == {"daily-grind"}


async def test_what_was_seen_of_it_before_and_noted_afterwards_is_dropped(office: Any, outside: Any) -> None:
    await office.set_route("ops")
    (brands,) = [each for each in office.sources if each.name == "brands"]
    look = brands.fetch_conditions

    async def slow() -> Any:
        seen = await look()
        await erased(office, "zenith")
        return seen

    outside.activity = [BRAND | {"brand_slug": "zenith"}, BRAND | {"brand_slug": "daily-grind"}]
    object.__setattr__(brands, "fetch_conditions", slow)
    await office.look()
    noticed = await office.rows("select brand_slug from notifications")
    assert noticed == [{"brand_slug": "daily-grind"}]
