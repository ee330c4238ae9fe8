"""Composes the weekly summary of one brand or of all. It names data of services that did not answer as missing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from chassis import Connection
from chassis.http.client import NotThereError, PassingError, UnusableAnswerError
from messaging import Database
from monitor.notifications.domain import NotificationRoute
from monitor.notifications.gateway import NotifierGateway
from monitor.notifications.peer_clients import ActivityClient, PeerClient
from monitor.notifications.sources.gateway import dollars
from monitor.notifications.sources.receipts import receipt_conditions

WEEK: Final = timedelta(days=7)
_MOST_BRANDS: Final = 20
"""Brands with a line of their own."""
_MOST_CHANNELS: Final = 12
_AWAY: Final = (PassingError, UnusableAnswerError, NotThereError)


@dataclass
class _Week:
    """Counts of one week, for a brand or a sum of brands."""

    articles: Counter[str] = field(default_factory=Counter)
    """`published`, `refused`, `failed` keywords; `drafts_waiting`."""
    posted: Counter[str] = field(default_factory=Counter)
    """By account, or by channel if the account is unknown."""
    failed: Counter[str] = field(default_factory=Counter)
    posts: Counter[str] = field(default_factory=Counter)
    """`waiting`, `planned`."""
    in_doubt: int = 0

    def add(self, other: "_Week") -> None:
        self.articles.update(other.articles)
        self.posted.update(other.posted)
        self.failed.update(other.failed)
        self.posts.update(other.posts)
        self.in_doubt += other.in_doubt


@dataclass
class _ActivityAnswers:
    """Answers of the other services by brand, and notes on missing ones."""

    brands: dict[str, _Week] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    has_articles: bool = True
    has_posts: bool = True

    def of(self, slug: str) -> _Week:
        return self.brands.setdefault(slug, _Week())


class SummaryComposer:
    """Composes summaries. `orchestrator`, `gateway` and `posts` are None if not configured."""

    def __init__(
        self,
        database: Database,
        orchestrator: ActivityClient | None,
        gateway: NotifierGateway | None,
        posts: ActivityClient | None = None,
        receipts: Sequence[PeerClient] = (),
    ) -> None:
        self._database = database
        self._orchestrator = orchestrator
        self._gateway = gateway
        self._posts = posts
        self._receipts = receipts

    async def content(self, route: NotificationRoute, until: datetime) -> dict[str, Any]:
        """Content of the message about the week before `until`."""
        since = until - WEEK
        whose = "all brands" if route.brand is None else route.brand
        zone = route.summary.zone if route.summary else None
        days = f"{since.astimezone(zone):%-d %b} to {until.astimezone(zone):%-d %b %Y}"
        return {
            "title": f"The week of {whose}: {days}",
            "paragraphs": [
                *await self._of_brands(route.brand, since),
                await self._money(route.brand, since),
                await self._dead_letters(route.brand, since),
            ],
            "items": [],
            "more": 0,
            "told": [],
        }

    async def _of_brands(self, wanted: str | None, since: datetime) -> list[str]:
        asked = _ActivityAnswers()
        await self._ask_articles(asked, since)
        await self._ask_posts(asked, since)
        await self._ask_receipts(asked)
        found = {slug: week for slug, week in asked.brands.items() if wanted in {None, slug}}
        if not found:
            told = ["There is no such brand." if wanted else "There is no brand yet."]
            return asked.missing or told
        if len(found) == 1:
            return [*_lines(next(iter(found.values())), asked), *asked.missing]
        total = _Week()
        for week in found.values():
            total.add(week)
        busy = sorted(found.items(), key=lambda each: (-each[1].articles["published"], each[0]))
        lines = [f"{slug}: {' '.join(_lines(week, asked))}" for slug, week in busy[:_MOST_BRANDS]]
        rest = [f"And {len(busy) - _MOST_BRANDS} more brands."] if len(busy) > _MOST_BRANDS else []
        return [f"{len(found)} brands. {' '.join(_lines(total, asked))}", *lines, *rest, *asked.missing]

    async def _ask_articles(self, asked: _ActivityAnswers, since: datetime) -> None:
        brands = await _activity(self._orchestrator, since, "published", "ORCHESTRATOR_URL", asked)
        asked.has_articles = brands is not None
        for brand in brands or ():
            recently = brand["recently"]
            asked.of(brand["brand_slug"]).articles.update(
                {name: recently[name] for name in ("published", "refused", "failed")}
                | {"drafts_waiting": brand["drafts_waiting"]}
            )

    async def _ask_posts(self, asked: _ActivityAnswers, since: datetime) -> None:
        brands = await _activity(self._posts, since, "posted", "SOCIAL_URL", asked)
        asked.has_posts = brands is not None
        for brand in brands or ():
            week = asked.of(brand["brand_slug"])
            for channel in brand["channels"]:
                name = channel["account"] or channel["channel"]
                week.posted[name] += channel["posted"]
                week.failed[name] += channel["failed"]
                week.posts.update({state: channel[state] for state in ("waiting", "planned")})

    async def _ask_receipts(self, asked: _ActivityAnswers) -> None:
        for receipts in self._receipts:
            try:
                found = await receipt_conditions(receipts)
            except (PassingError, UnusableAnswerError):
                asked.missing.append(f"What is in doubt at {receipts.name} is missing: it did not answer.")
                continue
            for each in found:
                if each.brand is not None:
                    asked.of(each.brand).in_doubt += 1

    async def _money(self, brand: str | None, since: datetime) -> str:
        if self._gateway is None:
            return "Nothing was spent: no gateway is set up."
        day = since.astimezone(UTC).date()
        try:
            spend = await self._gateway.spend(day)
        except (PassingError, UnusableAnswerError):
            return "What was spent is missing: the gateway did not answer."
        scope = next((each for each in spend["scopes"] if each["scope"] == (brand or "*")), None)
        if scope is None:
            return f"Nothing was spent since {day:%-d %b}, nor this month."
        month = scope["month"]
        cap = "" if month["cap"] is None else f" of the {dollars(month['cap'])} that may be spent"
        # A gateway of the previous version reports the month only.
        week = scope.get("since")
        lately = "" if week is None else f"{dollars(week)} since {day:%-d %b}; "
        return f"Spent: {lately}{dollars(month['spent'])}{cap} this month."

    async def _dead_letters(self, brand: str | None, since: datetime) -> str:
        async with self._database.connection() as connection:
            died, waiting = await _deaths(connection, brand, since)
        if not died and not waiting:
            return "No message has died."
        return f"{_many(died, 'message')} died, {waiting} of all that ever did wait for a decision."


async def _activity(
    client: ActivityClient | None, since: datetime, done: str, setting: str, asked: _ActivityAnswers
) -> list[Mapping[str, Any]] | None:
    """The activity of all brands; None and a note if it is not known: a sum over some of them would be wrong."""
    if client is None:
        asked.missing.append(f"What was {done} is not known here: {setting} is not set.")
        return None
    try:
        return [each async for each in client.activity(since)]
    except _AWAY:
        asked.missing.append(f"What was {done} is missing: {client.name} did not answer.")
        return None


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


def _lines(week: _Week, asked: _ActivityAnswers) -> list[str]:
    lines = []
    if asked.has_articles:
        refused = week.articles["refused"]
        without = f", {_many(refused, 'keyword')} without an article" if refused else ""
        lines.append(
            f"{_many(week.articles['published'], 'article')} published{without}, {week.articles['failed'] or 'none'} failed."
        )
    if asked.has_posts:
        lines.append(f"{_many(week.posted.total(), 'post')} out{_by_channel(week.posted)}.")
        if week.failed.total():
            lines.append(f"{_many(week.failed.total(), 'post')} failed{_by_channel(week.failed)}.")
        if planned := week.posts["planned"]:
            lines.append(f"{_many(planned, 'post')} to come.")
    drafts, posts = week.articles["drafts_waiting"], week.posts["waiting"]
    parts = [_many(drafts, "draft")] * (drafts > 0) + [_many(posts, "post")] * (posts > 0)
    lines.append(f"Waiting for a person: {' and '.join(parts)}." if parts else "Nothing waits for a person.")
    if week.in_doubt:
        lines.append(f"In doubt, look whether it is there: {week.in_doubt}.")
    return lines


def _by_channel(counts: Counter[str]) -> str:
    """The counts as text, the largest first."""
    told = [(name, count) for name, count in counts.items() if count]
    ordered = [f"{name} {count}" for name, count in sorted(told, key=lambda each: (-each[1], each[0]))]
    more = [f"{len(ordered) - _MOST_CHANNELS} more channels"] if len(ordered) > _MOST_CHANNELS else []
    return f": {', '.join([*ordered[:_MOST_CHANNELS], *more])}" if ordered else ""


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
