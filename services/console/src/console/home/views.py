"""Contents of the home pages, made from the services' answers. Pure: no I/O; the time is an argument."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class Task:
    """Something that wants a person's eye."""

    key: str
    """Of the text, below `home.todo`."""
    n: int
    path: str
    tone: str = "warn"
    since: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class BrandSummary:
    """A brand on the home page of all brands."""

    slug: str
    name: str
    tasks: tuple[Task, ...]
    planned: int
    """Posts that have a time."""
    published: int
    posted: int
    refused: int
    failed: int

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to tell, as of a new brand: the page then says what to do next."""
        return not (
            self.tasks or self.planned or self.published or self.posted or self.refused or self.failed
        )


def summaries(
    brands: Iterable[Mapping[str, Any]],
    posts: Iterable[Mapping[str, Any]],
    accounts: Iterable[Mapping[str, Any]],
) -> list[BrandSummary]:
    """The brands with what they wait for; those that wait come first.

    Args:
        brands: items of the orchestrator's activity, with results since a time.
        posts: items of social's activity; brands without posts are missing.
        accounts: accounts at the gateway.
    """
    by_slug = {each["brand_slug"]: each["channels"] for each in posts}
    connected = list(accounts)
    found = [_summary(each, by_slug.get(each["brand_slug"], ()), connected) for each in brands]
    return sorted(found, key=lambda each: (not each.tasks, each.name.casefold()))


def _summary(
    brand: Mapping[str, Any], channels: Iterable[Mapping[str, Any]], accounts: Iterable[Mapping[str, Any]]
) -> BrandSummary:
    slug, told = brand["brand_slug"], list(channels)
    recently = brand["recently"] or {}
    in_doubt, waiting, failed = (
        sum(each[name] for each in told) for name in ("in_doubt", "waiting", "failed")
    )
    own = [each for each in accounts if slug in each["brands"]]
    tasks = (
        Task("held_up", brand["drafts_waiting"], f"/b/{slug}/drafts", "bad", brand["waiting_since"])
        if brand["held_up"]
        else Task("drafts", brand["drafts_waiting"], f"/b/{slug}/drafts", since=brand["waiting_since"]),
        Task("in_doubt", in_doubt, f"/b/{slug}/posts?state=in_doubt", "bad"),
        Task("posts", waiting, f"/b/{slug}/posts?state=waiting"),
        Task("failed_posts", failed, f"/b/{slug}/posts?state=failed", "bad"),
        Task(
            "accounts",
            sum(each["state"] in {"expiring", "needs_reconnecting"} for each in own),
            f"/b/{slug}/accounts",
        ),
    )
    return BrandSummary(
        slug,
        brand["name"],
        tuple(each for each in tasks if each.n),
        planned=sum(each["planned"] for each in told),
        published=recently.get("published", 0),
        posted=sum(each["posted"] for each in told),
        refused=recently.get("refused", 0),
        failed=recently.get("failed", 0),
    )


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """Something that goes out today, or went out."""

    at: str
    kind: str
    """`article`, `schedule` or `post`."""
    title: str
    place: str
    """The account of a post."""
    state: str
    path: str | None


def today(
    brand: str, articles: Iterable[Mapping[str, Any]], posts: Iterable[Mapping[str, Any]]
) -> list[PlannedItem]:
    """The entries of both calendars in one order."""
    found = [
        PlannedItem(
            each["at"],
            each["kind"],
            # The title of a firing is a sentence for clients of the API, in English.
            each["schedule"] or each["title"],
            "",
            "planned",
            f"/b/{brand}/schedules/{each['schedule']}"
            if each["schedule"]
            else f"/b/{brand}/drafts/{each['content_id']}",
        )
        for each in articles
    ]
    found += [
        PlannedItem(
            each["at"],
            "post",
            each["title"],
            each["account"] or each["channel"],
            each["state"],
            None if each["state"] == "expected" else f"/b/{brand}/posts/{each['post_id']}",
        )
        for each in posts
    ]
    return sorted(found, key=lambda each: datetime.fromisoformat(each.at))


def day_around(now: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The beginning and the end of the day in a zone, in UTC."""
    day = now.astimezone(zone).date()
    begin = datetime.combine(day, time(), zone)
    end = datetime.combine(day + timedelta(days=1), time(), zone)
    return begin.astimezone(UTC), end.astimezone(UTC)


def ledger_line(ledger: Any) -> dict[str, int] | None:
    """The counts of the ledger's line; None if it is away or has counted nothing yet."""
    if not isinstance(ledger, Mapping) or ledger["reaches_back_to"] is None:
        return None
    counts = ledger["last_24_hours"]
    return {
        "accepted": counts["accepted"],
        "done": counts["done"],
        "under_way": counts["under_way"],
        "missing": ledger["missing"],
    }
