"""What the API takes and gives of brands."""

from datetime import datetime
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from chassis.http.api import View
from chassis.quiet_hours import QuietHours
from envelope.brand.payloads import PostsApproval
from orchestrator.brands.domain import DEFAULT_UNREVIEWED
from orchestrator.brands.store import BrandRow
from orchestrator.requests import RequestBody, not_blank, prose

MAX_CHANNELS: Final = 20
MAX_TARGETS: Final = 10
MAX_FORBIDDEN: Final = 200
MAX_TONE: Final = 300
MAX_AUDIENCE: Final = 300
LEAST_WORDS: Final = 250
MOST_WORDS: Final = 2000
MOST_A_DAY: Final = 10_000
MOST_DAYS: Final = 3650
MOST_REFRESHED: Final = 100
MOST_UNREVIEWED: Final = 100
NAME_PATTERN: Final = "^[a-z0-9]+([._-][a-z0-9]+)*$"
CLOCK_PATTERN: Final = "^([01][0-9]|2[0-3]):[0-5][0-9]$"
LANGUAGE_PATTERN: Final = "^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$"

Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=40)]

Word = Annotated[str, Field(min_length=1, max_length=60), AfterValidator(not_blank)]


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


class QuietHoursRequest(RequestBody):
    """From one time of the day to another one, by the clocks of a time zone; over midnight, if `end` is not later than `begin`."""

    begin: Annotated[str, Field(pattern=CLOCK_PATTERN, examples=["22:00"])]
    end: Annotated[str, Field(pattern=CLOCK_PATTERN, examples=["07:00"])]
    time_zone: Annotated[str, Field(max_length=60, examples=["Europe/Berlin"])] = "UTC"

    @model_validator(mode="after")
    def _checked(self) -> Self:
        self.hours()
        return self

    def hours(self) -> QuietHours:
        return QuietHours.read(self.begin, self.end, self.time_zone)

    @classmethod
    def of(cls, hours: QuietHours | None) -> "QuietHoursRequest | None":
        return None if hours is None else cls(**hours.told())


class BrandRequest(RequestBody):
    """What a brand is to be. Fields left out take their defaults, also when the brand exists."""

    name: Annotated[
        str, Field(min_length=1, max_length=200, examples=["The Daily Grind"]), AfterValidator(not_blank)
    ]
    """As readers see it."""
    description: Annotated[
        str,
        Field(max_length=2000, examples=["Home coffee brewing, without the mystique."]),
        AfterValidator(prose),
    ] = ""
    """Shown on the brand's site."""
    language: Annotated[str, Field(pattern=LANGUAGE_PATTERN, max_length=35, examples=["en"])] = "en"
    """Language tag (BCP 47) of what is written."""
    channels: Annotated[
        tuple[Name, ...], Field(max_length=MAX_CHANNELS, examples=[["feed"]]), AfterValidator(_each_once)
    ] = ("feed",)
    """Where articles are promoted. `feed` is the built-in public feed; an empty list means no promotion."""
    target: Annotated[Name, Field(examples=["site"])] = "site"
    """Where articles are published first, and what their canonical address is of. `site` is the built-in site."""
    targets: Annotated[
        tuple[Name, ...],
        Field(max_length=MAX_TARGETS, examples=[["site", "company-blog"]]),
        AfterValidator(_each_once),
    ] = ()
    """All targets, the one above first; the others follow when an article is published there, and name its address as the
    canonical one. Left out: that one alone."""
    writer: Annotated[Literal["extractive", "model"], Field(examples=["extractive"])] = "extractive"
    """Who writes: `extractive` quotes its sources; `model` has a language model write what they support, in English."""
    forbidden_words: Annotated[
        tuple[Word, ...], Field(max_length=MAX_FORBIDDEN, examples=[["game-changer"]])
    ] = ()
    """Words and phrases that the brand does without: a model must not use them, and an article with one waits for a person."""
    tone: Annotated[
        str,
        Field(max_length=MAX_TONE, examples=["Plain and friendly; explain what a beginner may not know."]),
        AfterValidator(prose),
    ] = ""
    """How what a model writes should read. It is asked for; what holds of its sentences does not depend on it."""
    audience: Annotated[
        str,
        Field(max_length=MAX_AUDIENCE, examples=["People who brew at home and own one kettle."]),
        AfterValidator(prose),
    ] = ""
    """Who reads what a model writes: what it asks, explains and takes as known is for them. It is asked for, as the tone is."""
    words: Annotated[int | None, Field(ge=LEAST_WORDS, le=MOST_WORDS, examples=[800])] = None
    """How long an article of a model should be; one that is far from it waits for a person."""
    approval: Annotated[Literal["everything", "first", "nothing"] | None, Field(examples=["everything"])] = (
        None
    )
    """Which articles wait until a person has approved them: `everything`; `first`, those on keywords of which the brand has let
    none out yet; `nothing` but what misses a bound. Left out: `everything` where a model writes or the target is not the
    built-in site, else `nothing`."""

    posts_approval: Annotated[PostsApproval, Field(examples=["everything"])] = "nothing"
    """Which posts wait until a person has approved them: `everything`, or `nothing`. Those of an article are decided about at social, under
    `/v1/posts`."""

    short_links: bool = False
    """Whether posts elsewhere lead to articles by short links of the brand's own site, so that who comes from which post is counted (without
    cookies or addresses). The site has to have an address that everybody reaches."""

    articles_per_day: Annotated[int | None, Field(ge=1, le=MOST_A_DAY, examples=[10])] = None
    """How many keywords are begun in a day, evenly spread: 10 is one every 144 minutes. Without it, as many as there is room for."""
    stale_after_days: Annotated[int | None, Field(ge=1, le=MOST_DAYS, examples=[180])] = None
    """After how many days an audit calls what an article was written from old; without it, 180."""
    refresh_stale: Annotated[int | None, Field(ge=1, le=MOST_REFRESHED, examples=[5])] = None
    """How many such articles audits have written anew in a week, the oldest first; without it, none: they are reported."""
    max_unreviewed_drafts: Annotated[int, Field(ge=1, le=MOST_UNREVIEWED, examples=[5])] = DEFAULT_UNREVIEWED
    """How many drafts may wait that no person has reviewed. With so many, nothing more is begun; where every article waits, no more than
    these are written."""

    quiet_hours: QuietHoursRequest | None = None
    """When nothing is begun for it by itself, day by day: what is under way goes on to its end, what is due is caught up afterwards, and
    what a person does is done."""

    @model_validator(mode="before")
    @classmethod
    def _home_first(cls, given: object) -> object:
        """The first of the targets is the home; who names the home alone has no other."""
        if isinstance(given, dict) and "target" not in given:
            match given.get("targets"):
                case [str() as home, *_]:
                    return {**given, "target": home}
        return given

    @model_validator(mode="after")
    def _one_home(self) -> Self:
        if self.targets and self.targets[0] != self.target:
            raise ValueError(
                f"target is '{self.target}', and the first of targets '{self.targets[0]}': say the same, or only targets"
            )
        return self

    @classmethod
    def of(cls, brand: BrandRow) -> "BrandRequest":
        """What would have to be sent for the brand to stay as it is. It was checked when it was stored."""
        stored = {name: getattr(brand, name) for name in cls.model_fields}
        stored["quiet_hours"] = QuietHoursRequest.of(brand.quiet_hours)
        stored["targets"] = brand.targets if brand.further_targets else ()
        return cls.model_construct(**stored)


class BrandCounters(View):
    """What became of the brand's keywords and articles, as their rows say at this moment; cycles are kept for a limited time."""

    pending_research: int
    """Keywords that research has not answered yet, those included that have not been sent."""
    drafts_waiting: int
    """Drafts that a person has to decide about."""
    generated: int
    """Articles that were written, drafts included."""
    published: int
    """Articles that can be seen at an address."""
    posted: int
    """Posts, on any channel, of the cycles that are kept."""
    failed: int
    """Keywords of the cycles that are kept."""


class BrandAgentView(View):
    """How the brand fares, and whether it goes on by itself."""

    counters: BrandCounters
    waits: str | None
    """Why nothing more is begun for it; null if it goes on by itself."""
    looked_at: datetime | None
    """When a person looked last: decided about a draft, or said to have reviewed it or all that wait."""


class BrandView(View):
    slug: Annotated[str, Field(examples=["daily-grind"])]
    name: Annotated[str, Field(examples=["The Daily Grind"])]
    description: str
    language: Annotated[str, Field(examples=["en"])]
    channels: Annotated[tuple[str, ...], Field(examples=[["feed"]])]
    target: Annotated[str, Field(examples=["site"])]
    targets: Annotated[tuple[str, ...], Field(examples=[["site"]])]
    """All, the one above first."""
    writer: Annotated[str, Field(examples=["extractive"])]
    forbidden_words: tuple[str, ...]
    tone: str
    audience: str
    words: int | None
    approval: str
    """Which articles wait until a person has approved them: what the brand says, or else what is the default for it."""
    posts_approval: PostsApproval
    short_links: bool
    articles_per_day: int | None
    stale_after_days: int | None
    refresh_stale: int | None
    max_unreviewed_drafts: int
    quiet_hours: QuietHoursRequest | None
    paused_at: datetime | None
    """Since when nothing of it is begun, until somebody has it resumed."""
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, brand: BrandRow) -> Self:
        return cls(
            slug=brand.slug,
            name=brand.name,
            description=brand.description,
            language=brand.language,
            channels=brand.channels,
            target=brand.target,
            targets=brand.targets,
            writer=brand.writer,
            forbidden_words=brand.forbidden_words,
            tone=brand.tone,
            audience=brand.audience,
            words=brand.words,
            approval=brand.approves,
            posts_approval=brand.posts_approval,
            short_links=brand.short_links,
            articles_per_day=brand.articles_per_day,
            stale_after_days=brand.stale_after_days,
            refresh_stale=brand.refresh_stale,
            max_unreviewed_drafts=brand.max_unreviewed_drafts,
            quiet_hours=QuietHoursRequest.of(brand.quiet_hours),
            paused_at=brand.paused_at,
            created_at=brand.created_at,
            updated_at=brand.updated_at,
        )


class BrandDetails(BrandView):
    policy: BrandRequest
    """What was asked for, as a PUT would ask for it again: change a part of it and send it with the ETag in `If-Match`."""
    agent: BrandAgentView

    @classmethod
    def of_agent(cls, brand: BrandRow, agent: BrandAgentView) -> Self:
        return cls(**dict(BrandView.of(brand)), policy=BrandRequest.of(brand), agent=agent)


class BrandListItem(BrandView):
    """A brand in a list."""

    waits: str | None
    """Why nothing more is begun for it; null if it goes on by itself."""

    @classmethod
    def of_waiting(cls, brand: BrandRow, waits: str | None) -> Self:
        return cls(**dict(BrandView.of(brand)), waits=waits)


class BrandList(View):
    items: tuple[BrandListItem, ...]
    next: str | None
    """Where the next page begins: send it as `after`."""
