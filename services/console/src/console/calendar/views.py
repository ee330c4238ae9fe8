"""Contents of the calendar, made from the services' answers. Pure: no I/O; the time is an argument."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, Self
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from chassis.time_zones import UntimelyError, moment, moments, zone_called

VIEWS: Final = ("list", "week", "month")
KINDS: Final = ("article", "post", "schedule", "slot")
WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
TONES: Final = {"late": "warn", "in_doubt": "bad", "failed": "bad", "posted": "good"}
LISTED_DAYS: Final = 14
SHOWN_IN_A_DAY: Final = {"week": 15, "month": 3}
"""Entries of a day in a view; its list has the rest."""
_SHOWN_FIRINGS: Final = 3
"""Firings of one schedule on one day; the last of them says how many more there are."""
_LATE: Final = timedelta(minutes=1)
"""After so much time what is due is no longer just planned."""
_DAY: Final = timedelta(days=1)
_WEEK: Final = timedelta(days=7)
_FIRST_YEAR: Final = 2000
_LAST_YEAR: Final = 2200
CALLED_OFF: Final = "called_off"


@dataclass(frozen=True, slots=True)
class CalendarQuery:
    """View, days and filters of the calendar, read from the address."""

    view: str
    day: date
    """The first day of the list; else any day of the week or month."""
    kind: str
    """One of KINDS; empty: all."""
    zone: str
    """As named in the address; empty: that of the brand."""
    since: datetime | None = None
    """The time in its days from which a list goes on; None: from their beginning."""

    @classmethod
    def of(cls, query: Mapping[str, str], today: date) -> Self:
        """Reads an address; values that no link of ours has count as left out."""
        view, kind, zone = query.get("view", ""), query.get("kind", ""), query.get("zone", "")
        shown = view if view in VIEWS else VIEWS[0]
        return cls(
            shown,
            told_day(query.get("day", "")) or today,
            kind if kind in KINDS else "",
            zone if is_zone(zone) else "",
            _told_time(query.get("since", "")) if shown == VIEWS[0] else None,
        )

    @property
    def days(self) -> list[date]:
        """The days that are shown; those of a month begin and end with whole weeks."""
        if self.view == "list":
            return [self.day + number * _DAY for number in range(LISTED_DAYS)]
        if self.view == "week":
            first = _monday(self.day)
            return [first + number * _DAY for number in range(7)]
        first, after = self.day.replace(day=1), _next_month(self.day)
        begin, last = _monday(first), _monday(after - _DAY) + 6 * _DAY
        return [begin + number * _DAY for number in range((last - begin).days + 1)]

    @property
    def previous(self) -> date:
        if self.view == "month":
            return (self.day.replace(day=1) - _DAY).replace(day=1)
        return self.day - (_WEEK if self.view == "week" else LISTED_DAYS * _DAY)

    @property
    def next(self) -> date:
        if self.view == "month":
            return _next_month(self.day)
        return self.day + (_WEEK if self.view == "week" else LISTED_DAYS * _DAY)

    def query(self, *, view: str = "", day: date | None = None, since: datetime | None = None) -> str:
        """The query of a link with the same filters."""
        named = {
            "view": view or self.view,
            "day": (day or self.day).isoformat(),
            "kind": self.kind,
            "zone": self.zone,
            "since": "" if since is None else since.astimezone(UTC).isoformat(),
        }
        return f"?{urlencode({name: value for name, value in named.items() if value})}"


@dataclass(frozen=True, slots=True)
class CalendarEntry:
    """Something with a time."""

    kind: str
    """One of KINDS."""
    id: str
    at: datetime
    """In the calendar's zone."""
    title: str
    place: str
    """Account or channel of a post, account of a slot."""
    state: str
    path: str | None = None
    detail: str = ""
    version: int | None = None
    can_move: bool = False
    can_unschedule: bool = False
    in_queue: bool = False
    """Whether its account has slots, of which it can take another."""
    more: int = 0
    """Later firings of the schedule on the same day, which are not shown."""

    @property
    def key(self) -> str:
        """Its id in the page."""
        return f"{self.kind}-{self.id}"

    @property
    def tone(self) -> str:
        return TONES.get(self.state, "quiet")

    @property
    def clock(self) -> str:
        return self.moment[11:16]

    @property
    def moment(self) -> str:
        return self.at.isoformat()

    @property
    def day(self) -> str:
        return self.moment[:10]

    @property
    def verbs(self) -> tuple[str, ...]:
        """What may be done to it besides a move, as its addresses end."""
        takes_slot = self.in_queue and self.can_move
        goes_first = takes_slot and self.state != "called_off"
        offered = {"slot": takes_slot, "first": goes_first, "unschedule": self.can_unschedule}
        return tuple(verb for verb, is_offered in offered.items() if is_offered)


@dataclass(frozen=True, slots=True)
class CalendarDay:
    day: date
    entries: tuple[CalendarEntry, ...]
    hidden: int
    """Entries that its list has besides."""
    has_more: bool
    """Whether there are more of these than were counted."""
    is_today: bool
    is_outside: bool
    """Of another month than the one that is shown."""


def article_entries(
    brand: str, found: Iterable[Mapping[str, Any]], zone: ZoneInfo, now: datetime
) -> list[CalendarEntry]:
    """Articles that have a time, and firings of schedules, of the orchestrator's calendar."""
    entries = []
    for each in found:
        at = datetime.fromisoformat(each["at"]).astimezone(zone)
        if each["kind"] == "article":
            entries.append(
                CalendarEntry(
                    "article",
                    each["content_id"],
                    at,
                    each["title"],
                    "",
                    "late" if now - at > _LATE else "planned",
                    path=f"/b/{brand}/drafts/{each['content_id']}",
                    version=each["version"],
                    can_move=True,
                    can_unschedule=True,
                )
            )
        else:
            name = each["schedule"]
            key = f"{name}-{at.astimezone(ZoneInfo('UTC')):%Y%m%d%H%M}"
            path = f"/b/{brand}/schedules/{name}"
            entries.append(CalendarEntry("schedule", key, at, name, "", "planned", path=path))
    return entries


def post_entries(
    brand: str,
    found: Iterable[Mapping[str, Any]],
    with_slots: Iterable[str],
    zone: ZoneInfo,
    now: datetime,
) -> list[CalendarEntry]:
    """Posts of social's calendar; `with_slots` are the accounts that have slots."""
    accounts, entries = frozenset(with_slots), []
    for each in found:
        at = datetime.fromisoformat(each["at"]).astimezone(zone)
        # One that a rule or a network ended cannot be brought back by a move.
        called_off = each["state"] == CALLED_OFF and each["reason"] == CALLED_OFF
        planned, known = each["state"] == "planned", bool(each["account"]) or each["channel"] == "feed"
        entries.append(
            CalendarEntry(
                "post",
                each["post_id"],
                at,
                each["title"],
                each["account"] or each["channel"],
                "late" if planned and now - at > _LATE else each["state"],
                path=None if each["state"] == "expected" else f"/b/{brand}/posts/{each['post_id']}",
                detail=each["detail"],
                can_move=known and (planned or called_off),
                can_unschedule=planned,
                in_queue=each["account"] in accounts,
            )
        )
    return entries


def slot_entries(accounts: Iterable[Mapping[str, Any]], zone: ZoneInfo) -> list[CalendarEntry]:
    """The next free slots of accounts."""
    return [
        CalendarEntry("slot", f"{each['account']}-{number}", at.astimezone(zone), "", each["account"], "free")
        for each in accounts
        for number, at in enumerate(map(datetime.fromisoformat, each["free"]))
    ]


@dataclass(frozen=True, slots=True)
class UnreadPosts:
    """Posts of a day that the page has not read, as it shows the first ones alone."""

    count: int
    is_exact: bool = True


def calendar_days(
    wanted: CalendarQuery,
    entries: Iterable[CalendarEntry],
    today: date,
    unread: Mapping[date, UnreadPosts] | None = None,
) -> list[CalendarDay]:
    """The days of the view with what they hold, the earliest first."""
    by_day: dict[date, list[CalendarEntry]] = {day: [] for day in wanted.days}
    for each in sorted(entries, key=lambda each: (each.at, each.key)):
        if each.at.date() in by_day and (not wanted.kind or each.kind == wanted.kind):
            by_day[each.at.date()].append(each)
    found = []
    for day, held in by_day.items():
        folded = _folded(held)
        shown = folded[: SHOWN_IN_A_DAY.get(wanted.view)]
        more = (unread or {}).get(day, UnreadPosts(0))
        hidden = len(folded) - len(shown) + more.count
        outside = wanted.view == "month" and day.month != wanted.day.month
        found.append(CalendarDay(day, tuple(shown), hidden, not more.is_exact, day == today, outside))
    return found


def _folded(entries: Sequence[CalendarEntry]) -> list[CalendarEntry]:
    """Without the many firings of a schedule that fires all day long."""
    count: Counter[str] = Counter(each.title for each in entries if each.kind == "schedule")
    shown: Counter[str] = Counter()
    found = []
    for each in entries:
        if each.kind == "schedule":
            shown[each.title] += 1
            if shown[each.title] > _SHOWN_FIRINGS:
                continue
            if shown[each.title] == _SHOWN_FIRINGS:
                found.append(replace(each, more=count[each.title] - _SHOWN_FIRINGS))
                continue
        found.append(each)
    return found


def span_of(days: Sequence[date], zone: ZoneInfo) -> tuple[datetime, datetime]:
    """From the beginning of the first day to the end of the last."""
    return moment(days[0], time(), zone), moment(days[-1] + _DAY, time(), zone)


@dataclass(frozen=True, slots=True)
class PostingTimes:
    """When an account posts."""

    account: str
    zone: str
    lines: tuple[tuple[tuple[str, ...], str], ...]
    """Days of the week, none for all of them, with their times."""
    spacing: int
    """Minutes between two posts."""
    quiet: tuple[str, str] | None
    queued: int
    next_free: str | None


def posting_times(accounts: Iterable[Mapping[str, Any]]) -> list[PostingTimes]:
    return [
        PostingTimes(
            each["account"],
            each.get("time_zone", "UTC"),
            tuple(
                (() if len(line["days"]) == len(WEEKDAYS) else tuple(line["days"]), ", ".join(line["times"]))
                for line in each.get("slots", ())
            ),
            each.get("spacing_minutes", 0),
            (quiet["begin"], quiet["end"]) if (quiet := each.get("quiet_hours")) else None,
            each["queued"],
            next(iter(each["free"]), None),
        )
        for each in accounts
    ]


def brand_zone(
    settings: Mapping[str, Any] | None, accounts: Iterable[Mapping[str, Any]], otherwise: str
) -> str:
    """The zone that a brand lives by: that of its quiet hours, else of its first account with slots."""
    quiet = (settings or {}).get("quiet_hours")
    named = [quiet.get("time_zone", "UTC")] if quiet else [each.get("time_zone", "") for each in accounts]
    return next((each for each in named if is_zone(each)), otherwise)


def is_zone(name: str) -> bool:
    try:
        zone_called(name)
    except UntimelyError:
        return False
    return True


def told_moment(day: str, clock: str, zone: ZoneInfo) -> datetime | None:
    """The moment that the fields of a form name, in UTC; None if it does not exist, such as when the clocks skip it."""
    try:
        on, at = date.fromisoformat(day), time.fromisoformat(clock)
        found, _ = moments(on, at.replace(tzinfo=None), zone)
        exists = found.astimezone(zone).replace(tzinfo=None) == datetime.combine(on, at.replace(tzinfo=None))
    except (ValueError, OverflowError):
        return None
    return found if exists else None


def told_day(text: str) -> date | None:
    """A day as an address names it; None for anything else."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if _FIRST_YEAR <= day.year <= _LAST_YEAR else None


def _told_time(text: str) -> datetime | None:
    """A time as a link of the list names it; None for anything else."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None and _FIRST_YEAR <= found.year <= _LAST_YEAR else None


def _monday(day: date) -> date:
    return day - day.weekday() * _DAY


def _next_month(day: date) -> date:
    return (day.replace(day=1) + 32 * _DAY).replace(day=1)
