"""What the API takes and gives of calendars. Every refusal is a sentence that says what to do."""

from collections.abc import Sequence
from datetime import datetime, timedelta
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
    """Takes no field that it does not know: a misspelt one would be lost without a word."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")


class WeeklyTimes(_CalendarBody):
    """Times of the day on days of the week."""

    days: Annotated[tuple[Day, ...], Field(min_length=1, max_length=7)] = DAYS
    """All of them, unless it says which."""
    times: Annotated[tuple[Clock, ...], Field(min_length=1, max_length=48, examples=[["09:00", "17:30"]])]
    """By the clocks of the time zone. A time that they skip, or show twice, is there once."""


class MonthlyTimes(_CalendarBody):
    """Times of the day on days of each month that has them: the 31 of June, or a fifth Monday, is not there and nothing stands for it."""

    days: Annotated[
        tuple[DayOfMonth, ...], Field(min_length=1, max_length=31, examples=[["15", "last", "second-tue"]])
    ]
    """Such as `15`, `last`, `second-tue` or `last-fri`."""
    times: Annotated[tuple[Clock, ...], Field(min_length=1, max_length=48, examples=[["09:00"]])]
    """By the clocks of the time zone. A time that they skip, or show twice, is there once."""


class AccountQuietHours(_CalendarBody):
    """From one time of the day to another one; over midnight, if `end` is not later than `begin`."""

    begin: Annotated[str, Field(pattern=CLOCK_PATTERN, examples=["22:00"])]
    end: Annotated[str, Field(pattern=CLOCK_PATTERN, examples=["07:00"])]


class SlotsRequest(_CalendarBody):
    """When an account posts for a brand. What is left out takes its default, also where there were others."""

    time_zone: Annotated[str, Field(max_length=60, examples=["Europe/Berlin"])] = "UTC"
    slots: Annotated[tuple[WeeklyTimes, ...], Field(max_length=MOST_LINES)] = ()
    """A new post goes out in the next free one. Without any, at once, unless that is too close to another one, or quiet."""
    spacing_minutes: Annotated[int, Field(ge=1, le=7 * 24 * 60)] = 10
    """How far apart posts are at least, also those that go out late because nothing ran at their time."""
    quiet_hours: AccountQuietHours | None = None
    """When nothing goes out by itself, by the clocks of the time zone; a slot within them does not exist."""
    duplicates_days: Annotated[int, Field(ge=0, le=365)] = 30
    """For how long a post with the text or the link of another article's is refused; 0: never."""

    @model_validator(mode="after")
    def _checked(self) -> Self:
        self.rules()
        return self

    def rules(self) -> PostingRules:
        return PostingRules.read(self.model_dump())


class SlotsView(SlotsRequest):
    """The slots of an account, and which of them are free."""

    model_config = ConfigDict(extra="ignore")

    brand_slug: str
    account: Annotated[str, Field(examples=["mastodon-eu"])]
    free: tuple[datetime, ...]
    """The next five that are, as the clocks of the time zone show them."""
    queued: int
    """How many posts have a slot."""
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
    """By the account's name; a brand has a hundred at most."""


def _showable(moment: datetime) -> datetime:
    found = in_utc(moment)
    if found.year > _LAST_YEAR:
        raise ValueError(f"is beyond the year {_LAST_YEAR}; take an earlier one")
    return found


class MovePostRequest(_CalendarBody):
    """When a post is to go out."""

    at: Annotated[
        Annotated[AwareDatetime, AfterValidator(_showable)] | None,
        Field(examples=["2027-03-01T09:00:00+01:00"]),
    ] = None
    """This time, which names its offset; left out: the next free slot of its account, behind those that have one."""
    now: bool = False
    """At once; behind the post before it on the account by as much as its posts are apart."""

    @model_validator(mode="after")
    def _one_time(self) -> Self:
        if self.now and self.at is not None:
            raise ValueError("either now or at; leave one of them out")
        return self


class ReorderQueueRequest(_CalendarBody):
    post_ids: Annotated[tuple[UUID, ...], Field(max_length=MOST_QUEUED)]
    """In this order, before those of the queue that are not named. The slots are given anew, the next free one first."""

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
    """The account at the gateway; null: it is the built-in feed, or the account is not known yet."""
    state: Annotated[str, Field(examples=["planned"])]
    """`expected`: a recurring post comes again then. It is written, and can be moved, once the one before it is out."""
    at: datetime
    """When it went out, or is to; as the clocks of the time zone show it that was asked for, else in UTC."""
    in_queue: bool
    """Whether that is a slot of the account, which may become another post's; else a person has set it, or nobody has had to."""
    repetition: int
    """0: the first about its article on the account."""
    repeats: Literal["evergreen", "recurring"] | None
    """Why it is posted once more, if it is a repetition."""
    title: str
    """Of the article."""
    text: str | None
    link: str | None
    post_url: str | None
    """Where it can be seen, once it is posted."""
    reason: str
    """Why it is not out as planned, for programs."""
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
    """The `after` of the page behind this one; null on the last."""


class RepeatsRequest(_CalendarBody):
    """How often a post is made again, each time with another text of its article, as long as there is one."""

    kind: Annotated[Literal["evergreen", "recurring"], Field(examples=["evergreen"])]
    """`evergreen`: after a cool-down, in slots that nothing new waits for. `recurring`: at times of the week or the month."""
    at_most: Annotated[int, Field(ge=1, le=100, examples=[3])]
    """So many repetitions, then no more."""
    cool_down_days: Annotated[int | None, Field(ge=1, le=3650, examples=[60])] = None
    """Of `evergreen`: so long after the post, and after each repetition."""
    times: Annotated[tuple[WeeklyTimes, ...], Field(max_length=MOST_LINES)] = ()
    """Of `recurring`: of the week."""
    monthly: Annotated[tuple[MonthlyTimes, ...], Field(max_length=MOST_LINES)] = ()
    """Of `recurring`: of the month."""
    time_zone: Annotated[str, Field(max_length=60, examples=["Europe/Berlin"])] = "UTC"
    """By whose clocks those are."""

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        has_times = bool(self.times or self.monthly)
        if self.kind == "evergreen" and (self.cool_down_days is None or has_times):
            raise ValueError("what is evergreen has cool_down_days, and neither times nor monthly")
        if self.kind == "recurring" and (self.cool_down_days is not None or not has_times):
            raise ValueError("what is recurring has times or monthly, and no cool_down_days")
        RepeatRule.read(self.model_dump())
        return self


class RepeatsView(RepeatsRequest):
    model_config = ConfigDict(extra="ignore")

    brand_slug: str
    content_id: UUID
    account: str | None
    """The account; null: each on which there is a post about the article, unless it has a rule of its own."""
    made: int
    """How many repetitions there are, planned ones included."""
    made_by: str
    """Who has it so."""
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
    """Planned posts that have a slot, in their order; a thousand at most."""
