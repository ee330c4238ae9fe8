"""The weekly summary: what became of a week, of a brand or of all of them. What cannot be asked is said to be missing."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from chassis import Connection
from chassis.http.client import PassingError, UnusableAnswerError
from messaging import Database
from monitor.notifications.domain import Route
from monitor.notifications.gateway import Gateway
from monitor.notifications.orchestrator import Orchestrator
from monitor.notifications.sources import dollars

WEEK: Final = timedelta(days=7)
_MOST_BRANDS: Final = 20
"""Told of one by one."""
_COUNTS: Final = ("published", "posts", "refused", "failed")


class Summaries:
    """`orchestrator`, `gateway`: None where they are not set up."""

    def __init__(
        self, database: Database, orchestrator: Orchestrator | None, gateway: Gateway | None
    ) -> None:
        self._database = database
        self._orchestrator = orchestrator
        self._gateway = gateway

    async def content(self, route: Route, until: datetime) -> dict[str, Any]:
        """The message of the week before `until`."""
        since = until - WEEK
        whose = "all brands" if route.brand is None else route.brand
        zone = route.summary.zone if route.summary else None
        days = f"{since.astimezone(zone):%-d %b} to {until.astimezone(zone):%-d %b %Y}"
        return {
            "title": f"The week of {whose}: {days}",
            "paragraphs": [
                *await self._of_brands(route.brand, since),
                await self._money(route.brand),
                await self._dead_letters(route.brand, since),
            ],
            "items": [],
            "more": 0,
            "told": [],
        }

    async def _of_brands(self, wanted: str | None, since: datetime) -> list[str]:
        if self._orchestrator is None:
            return ["What was published is not known here: ORCHESTRATOR_URL is not set."]
        try:
            found = [
                each
                async for each in self._orchestrator.activity(since)
                if wanted in {None, each["brand_slug"]}
            ]
        except (PassingError, UnusableAnswerError):
            return ["What was published is missing: the orchestrator did not answer."]
        if not found:
            return ["There is no such brand." if wanted else "There is no brand yet."]
        if len(found) == 1:
            return [f"{_week(found[0]['recently'])} {_waiting(found[0])}"]
        total = {name: sum(each["recently"][name] for each in found) for name in _COUNTS}
        waiting = {name: sum(each[name] for each in found) for name in ("drafts_waiting", "posts_waiting")}
        busy = sorted(found, key=lambda each: (-each["recently"]["published"], each["brand_slug"]))
        lines = [
            f"{each['brand_slug']}: {_week(each['recently'])} {_waiting(each)}"
            for each in busy[:_MOST_BRANDS]
        ]
        rest = [f"And {len(busy) - _MOST_BRANDS} more brands."] if len(busy) > _MOST_BRANDS else []
        return [f"{len(found)} brands. {_week(total)} {_waiting(waiting)}", *lines, *rest]

    async def _money(self, brand: str | None) -> str:
        if self._gateway is None:
            return "Nothing was spent: no gateway is set up."
        try:
            spend = await self._gateway.spend()
        except (PassingError, UnusableAnswerError):
            return "What was spent is missing: the gateway did not answer."
        scope = next((each for each in spend["scopes"] if each["scope"] == (brand or "*")), None)
        if scope is None:
            return "Nothing was spent this month."
        month = scope["month"]
        cap = "" if month["cap"] is None else f" of {dollars(month['cap'])}"
        return f"Spent this month, so far: {dollars(month['spent'])}{cap}."

    async def _dead_letters(self, brand: str | None, since: datetime) -> str:
        async with self._database.connection() as connection:
            died, waiting = await _deaths(connection, brand, since)
        if not died and not waiting:
            return "No message has died."
        return f"{_many(died, 'message')} died, {waiting} of all that ever did wait for a decision."


async def _deaths(connection: Connection, brand: str | None, since: datetime) -> tuple[int, int]:
    row = await connection.fetchrow(
        """
        select count(*) filter (where recorded_at >= $2) as died, count(*) filter (where state = 'open') as waiting
        from dead_messages where (recorded_at >= $2 or state = 'open') and ($1::text is null or brand_slug = $1)
        """,
        brand,
        since,
    )
    assert row is not None
    return row["died"], row["waiting"]


def _week(recently: Mapping[str, int]) -> str:
    told = f"{_many(recently['published'], 'article')} published, {_many(recently['posts'], 'post')}"
    if recently["refused"]:
        told += f", {_many(recently['refused'], 'keyword')} without an article"
    return f"{told}, {recently['failed'] or 'none'} failed."


def _waiting(brand: Mapping[str, int]) -> str:
    drafts, posts = brand["drafts_waiting"], brand["posts_waiting"]
    parts = [_many(drafts, "draft")] * (drafts > 0) + [f"the posts of {_many(posts, 'article')}"] * (
        posts > 0
    )
    return f"Waiting for a person: {' and '.join(parts)}." if parts else "Nothing waits for a person."


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
