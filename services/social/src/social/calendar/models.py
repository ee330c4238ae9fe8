"""Requests and answers of the HTTP API for calendars."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from chassis.http.api import View, in_utc
from social.calendar.entries import PostCalendarEntry
from social.calendar.repeats import RepeatRule
from social.calendar.slots import DAYS, LAST, ORDINALS, AccountSlots, PostingRules
from social.calendar.store import MOST_QUEUED, StoredPostingRules, StoredRepeatRule

CLOCK_PATTERN: Final = "^([01][0-9]|2[0-3]):[0-5][0-9]$"
DAY_OF_MONTH_PATTERN: Final = (
    f"^([1-9]|[12][0-9]|3[01]|{LAST}|({'|'.join((*ORDINALS, LAST))})-({'|'.join(DAYS)}))$"
)
NAME_PATTERN: Final = "^[a-z0-9]+([._-][a-z0-9]+)*$"
MOST_LINES: Final = 50
SHOWN_SLOTS: Final = 5
_LAST_YEAR: Final = 9990

Clock = Annotated[str, Field(pattern=CLOCK_PATTERN, examples=["09:00"])]
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DayOfMonth = Annotated[str, Field(pattern=DAY_OF_MONTH_PATTERN)]


class _CalendarBody(BaseModel):
    """Refuses unknown fields, so that a misspelt one causes an error."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")


class WeeklyTimes(_CalendarBody):
    """Times of the day on days of the week."""

    days: Annotated[tuple[Day, ...], Field(min_length=1, max_length=7)] = DAYS
    """Omitted: all days."""
    times: Annotated[tuple[Clock, ...], Field(min_length=1, max_length=48, examples=[["09:00", "17:30"]])]
    """Local times of the zone. A time that its clocks skip or repeat counts once."""


class MonthlyTimes(_CalendarBody):
    """Times of the day on days of the month. A month without such a day, such as a 31st or a fifth Monday, has no substitute."""

    days: Annotated[
        tuple[DayOfMonth, ...], Field(min_length=1, max_length=31, examples=[["15", "last", "second-tue"]])
    ]
    """Such as `15`, `last`, `second-tue` or `last-fri`."""
    times: Annotated[tuple[Clock, ...], Field(min_length=1, max_length=48, examples=[["09:00"]])]
    """Local times of the zone. A time that its clocks skip or repeat counts once."""


class AccountQuietHours(_CalendarBody):
    """A daily period, over midnight if `end` is not later than `begin`."""

    begin: Annotated[str, Field(pattern=CLOCK_PATTERN, examples=["22:00"])]
    end: Annotated[str, Field(pattern=CLOCK_PATTERN, examples=["07:00"])]


class SlotsRequest(_CalendarBody):
    """When an account posts for a brand. Omitted fields take their defaults, also on existing slots."""

    time_zone: Annotated[str, Field(max_length=60, examples=["Europe/Berlin"])] = "UTC"
    slots: Annotated[tuple[WeeklyTimes, ...], Field(max_length=MOST_LINES)] = ()
    """A new post takes the next free slot. Without slots it goes out at once, outside quiet hours and apart from other posts."""
    spacing_minutes: Annotated[int, Field(ge=1, le=7 * 24 * 60)] = 10
    """Least minutes between two posts, also for posts that go out late after an outage."""
    quiet_hours: AccountQuietHours | None = None
    """Local times without automatic posts; slots within them do not exist."""
    duplicates_days: Annotated[int, Field(ge=0, le=365)] = 30
    """Days within which a post with the text or link of another article's post is refused; 0: none."""

    @model_validator(mode="after")
    def _checked(self) -> Self:
        self.rules()
        return self

    def rules(self) -> PostingRules:
        return PostingRules.read(self.model_dump())


class SlotsView(SlotsRequest):
    """The slots of an account, with the next free ones."""

    model_config = ConfigDict(extra="ignore")

    brand_slug: str
    account: Annotated[str, Field(examples=["mastodon-eu"])]
    free: tuple[datetime, ...]
    """The next five free slots, in the time zone."""
    queued: int
    """Number of posts with a slot."""
    updated_at: datetime

    @classmethod
    def of(cls, stored: StoredPostingRules, taken: Sequence[datetime], queued: int, now: datetime) -> Self:
        rules, account = stored.rules, AccountSlots(stored.rules, taken)
        free = (slot for slot in rules.slots(now, timedelta(days=60)) if account.too_close(slot) is None)
        return cls(
            **stored.written,
            brand_slug=stored.brand_slug,
            account=stored.account,
            free=tuple(slot.astimezone(rules.zone) for slot in islice(free, SHOWN_SLOTS)),
            queued=queued,
            updated_at=stored.updated_at,
        )


class SlotsList(View):
    items: tuple[SlotsView, ...]
    """By the account's name; at most a hundred for a brand."""


def _showable(moment: datetime) -> datetime:
    found = in_utc(moment)
    if found.year > _LAST_YEAR:
        raise ValueError(f"is beyond the year {_LAST_YEAR}; take an earlier one")
    return found


class MovePostRequest(_CalendarBody):
    """The new time of a post."""

    at: Annotated[
        Annotated[AwareDatetime, AfterValidator(_showable)] | None,
        Field(examples=["2027-03-01T09:00:00+01:00"]),
    ] = None
    """This time, which needs an offset; omitted: the account's next free slot."""
    now: bool = False
    """At once, but with the account's distance to the post before."""

    @model_validator(mode="after")
    def _one_time(self) -> Self:
        if self.now and self.at is not None:
            raise ValueError("either now or at; leave one of them out")
        return self


class ReorderQueueRequest(_CalendarBody):
    post_ids: Annotated[tuple[UUID, ...], Field(max_length=MOST_QUEUED)]
    """The new order; other posts of the queue follow. All get new slots, from the next free one on."""

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if len(set(self.post_ids)) < len(self.post_ids):
            raise ValueError("names a post twice; name each once")
        return self


class PostCalendarEntryView(View):
    """A post with its time."""

    post_id: UUID
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    content_id: UUID
    channel: Annotated[str, Field(examples=["mastodon"])]
    account: Annotated[str | None, Field(examples=["mastodon-eu"])]
    """The account at the gateway; null for the built-in feed and while unknown."""
    state: Annotated[str, Field(examples=["planned"])]
    """`expected`: a recurring post follows then. It is composed, and can be moved, once the one before is out."""
    at: datetime
    """When it went out or will, in the requested time zone, else in UTC."""
    in_queue: bool
    """Whether the time is a slot of the account, which another post may take; false for a time set by a person."""
    repetition: int
    """0 for the first post about its article on the account."""
    repeats: Literal["evergreen", "recurring"] | None
    """Kind of the rule, for a repetition."""
    title: str
    """Of the article."""
    text: str | None
    link: str | None
    post_url: str | None
    """Its address, once it is posted."""
    reason: str
    """Code of why it is not out as planned."""
    detail: str
    """The same for people."""

    @classmethod
    def of(cls, entry: PostCalendarEntry, zone: ZoneInfo) -> Self:
        fields: dict[str, Any] = {name: getattr(entry, name) for name in cls.model_fields}
        return cls(**{**fields, "at": entry.at.astimezone(zone)})


class CalendarPage(View):
    items: tuple[PostCalendarEntryView, ...]
    """The earliest first."""
    next: str | None
    """`after` of the next page; null on the last."""


class PostCalendarDay(View):
    day: date
    """In the requested time zone."""
    entries: tuple[PostCalendarEntryView, ...]
    """The first ones, the earliest first."""
    count: int
    """All entries of the day."""
    is_exact: bool
    """False if there are more than are counted."""


class PostCalendarDays(View):
    items: tuple[PostCalendarDay, ...]
    """Day after day; one without entries, too."""


class RepeatsRequest(_CalendarBody):
    """How often a post is repeated, each time with another text of its article if there is one."""

    kind: Annotated[Literal["evergreen", "recurring"], Field(examples=["evergreen"])]
    """`evergreen`: after a cool-down, in slots that no new post needs. `recurring`: at times of the week or the month."""
    at_most: Annotated[int, Field(ge=1, le=100, examples=[3])]
    """Most repetitions."""
    cool_down_days: Annotated[int | None, Field(ge=1, le=3650, examples=[60])] = None
    """For `evergreen`: days after the post and after each repetition."""
    times: Annotated[tuple[WeeklyTimes, ...], Field(max_length=MOST_LINES)] = ()
    """For `recurring`: times of the week."""
    monthly: Annotated[tuple[MonthlyTimes, ...], Field(max_length=MOST_LINES)] = ()
    """For `recurring`: times of the month."""
    time_zone: Annotated[str, Field(max_length=60, examples=["Europe/Berlin"])] = "UTC"
    """Time zone of these times."""

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        has_times = bool(self.times or self.monthly)
        if self.kind == "evergreen" and (self.cool_down_days is None or has_times):
            raise ValueError("evergreen needs cool_down_days, and neither times nor monthly")
        if self.kind == "recurring" and (self.cool_down_days is not None or not has_times):
            raise ValueError("recurring needs times or monthly, and no cool_down_days")
        RepeatRule.read(self.model_dump())
        return self


class RepeatsView(RepeatsRequest):
    model_config = ConfigDict(extra="ignore")

    brand_slug: str
    content_id: UUID
    account: str | None
    """The account; null: all accounts with a post about the article and no rule of their own."""
    made: int
    """Number of repetitions, planned ones included."""
    made_by: str
    """Name of the person who set the rule."""
    made_at: datetime

    @classmethod
    def of(cls, stored: StoredRepeatRule) -> Self:
        return cls(
            **stored.rule,
            brand_slug=stored.brand_slug,
            content_id=stored.content_id,
            account=stored.account or None,
            made=stored.made,
            made_by=stored.made_by,
            made_at=stored.made_at,
        )


class PostQueue(View):
    items: tuple[PostCalendarEntryView, ...]
    """Planned posts with a slot, in order; at most a thousand."""
