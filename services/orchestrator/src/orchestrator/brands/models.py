"""API bodies and views of brands."""

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
    """From one time of day to another, in a time zone; across midnight if `end` is not later than `begin`."""

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
    """The settings of a brand. Fields left out take their defaults, also when the brand exists."""

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
    """Language tag (BCP 47) of the brand's articles and posts."""
    channels: Annotated[
        tuple[Name, ...], Field(max_length=MAX_CHANNELS, examples=[["feed"]]), AfterValidator(_each_once)
    ] = ("feed",)
    """Where articles are promoted. `feed` is the built-in public feed; an empty list means no promotion."""
    target: Annotated[Name, Field(examples=["site"])] = "site"
    """The target where articles are published first and have their canonical address. `site` is the built-in site."""
    targets: Annotated[
        tuple[Name, ...],
        Field(max_length=MAX_TARGETS, examples=[["site", "company-blog"]]),
        AfterValidator(_each_once),
    ] = ()
    """All targets, the home first. The others follow once the home has published an article, and name its address as the canonical
    one. Left out: the home alone."""
    writer: Annotated[Literal["extractive", "model"], Field(examples=["extractive"])] = "extractive"
    """The writer: `extractive` quotes its sources; `model` is a language model that writes in English what they support."""
    forbidden_words: Annotated[
        tuple[Word, ...], Field(max_length=MAX_FORBIDDEN, examples=[["game-changer"]])
    ] = ()
    """Words and phrases that a model must not use; an article that contains one waits for a person."""
    tone: Annotated[
        str,
        Field(max_length=MAX_TONE, examples=["Plain and friendly; explain what a beginner may not know."]),
        AfterValidator(prose),
    ] = ""
    """The tone in which a model should write. It changes the wording, not the checks against sources."""
    audience: Annotated[
        str,
        Field(max_length=MAX_AUDIENCE, examples=["People who brew at home and own one kettle."]),
        AfterValidator(prose),
    ] = ""
    """The readers for whom a model writes. Like the tone, it changes the wording, not the checks."""
    words: Annotated[int | None, Field(ge=LEAST_WORDS, le=MOST_WORDS, examples=[800])] = None
    """Length of a model's articles in words; an article that is far from it waits for a person."""
    approval: Annotated[Literal["everything", "first", "nothing"] | None, Field(examples=["everything"])] = (
        None
    )
    """Which articles wait for a person's approval: `everything`; `first`, articles on keywords without a published article; `nothing` but
    articles that miss a bound. Left out: `everything` if a model writes or the target is not the built-in site, else `nothing`."""

    posts_approval: Annotated[PostsApproval, Field(examples=["everything"])] = "nothing"
    """Which posts wait for a person's approval: `everything`, or `nothing`. Decide about posts at social, under `/v1/posts`."""

    short_links: bool = False
    """Whether posts on networks link to articles by short links of the brand's site, which count visits per post without cookies
    or IP addresses. The site needs a public address."""

    articles_per_day: Annotated[int | None, Field(ge=1, le=MOST_A_DAY, examples=[10])] = None
    """Keywords begun per day, evenly spread: 10 is one every 144 minutes. Left out: no such limit."""
    stale_after_days: Annotated[int | None, Field(ge=1, le=MOST_DAYS, examples=[180])] = None
    """Age of a source in days after which an audit reports its article as stale; left out: 180."""
    refresh_stale: Annotated[int | None, Field(ge=1, le=MOST_REFRESHED, examples=[5])] = None
    """How many stale articles audits refresh per week, the oldest first. Left out: none; audits only report them."""
    max_unreviewed_drafts: Annotated[int, Field(ge=1, le=MOST_UNREVIEWED, examples=[5])] = DEFAULT_UNREVIEWED
    """How many unreviewed drafts pause the brand. If every article waits for review, no more drafts than this are written."""

    quiet_hours: QuietHoursRequest | None = None
    """Times of day without automatic work. Running work finishes, due work is caught up afterwards, and people's requests are
    carried out."""

    @model_validator(mode="before")
    @classmethod
    def _home_first(cls, given: object) -> object:
        """Makes the first target the home; a request that names only the home has no other targets."""
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
        """The request that would leave the brand unchanged. Its fields were checked when they were stored."""
        stored = {name: getattr(brand, name) for name in cls.model_fields}
        stored["quiet_hours"] = QuietHoursRequest.of(brand.quiet_hours)
        stored["targets"] = brand.targets if brand.further_targets else ()
        return cls.model_construct(**stored)


class BrandCounters(View):
    """Counts of the brand's keywords and articles, taken from their rows. Old cycles are deleted after a time."""

    pending_research: int
    """Keywords that research has not answered yet, unsent ones included."""
    drafts_waiting: int
    """Drafts that wait for a decision."""
    generated: int
    """Written articles, drafts included."""
    published: int
    """Published articles."""
    posted: int
    """Posts on all channels, of the cycles that are still stored."""
    failed: int
    """Failed keywords of the cycles that are still stored."""


class BrandAgentView(View):
    """The brand's counters, and whether it waits for a person."""

    counters: BrandCounters
    waits: str | None
    """Why the brand begins nothing more; null if it works normally."""
    looked_at: datetime | None
    """When a person last decided about a draft, or marked drafts as reviewed."""


class BrandView(View):
    slug: Annotated[str, Field(examples=["daily-grind"])]
    name: Annotated[str, Field(examples=["The Daily Grind"])]
    description: str
    language: Annotated[str, Field(examples=["en"])]
    channels: Annotated[tuple[str, ...], Field(examples=[["feed"]])]
    target: Annotated[str, Field(examples=["site"])]
    targets: Annotated[tuple[str, ...], Field(examples=[["site"]])]
    """All targets, the home first."""
    writer: Annotated[str, Field(examples=["extractive"])]
    forbidden_words: tuple[str, ...]
    tone: str
    audience: str
    words: int | None
    approval: str
    """Which articles wait for a person's approval: the brand's setting, or its default."""
    posts_approval: PostsApproval
    short_links: bool
    articles_per_day: int | None
    stale_after_days: int | None
    refresh_stale: int | None
    max_unreviewed_drafts: int
    quiet_hours: QuietHoursRequest | None
    paused_at: datetime | None
    """When the brand was paused; null if it is not."""
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
    """The body of the PUT that would leave the brand unchanged. Change a part and send it with the ETag in `If-Match`."""
    agent: BrandAgentView

    @classmethod
    def of_agent(cls, brand: BrandRow, agent: BrandAgentView) -> Self:
        return cls(**dict(BrandView.of(brand)), policy=BrandRequest.of(brand), agent=agent)


class BrandListItem(BrandView):
    """A brand in a list."""

    waits: str | None
    """Why the brand begins nothing more; null if it works normally."""

    @classmethod
    def of_waiting(cls, brand: BrandRow, waits: str | None) -> Self:
        return cls(**dict(BrandView.of(brand)), waits=waits)


class BrandList(View):
    items: tuple[BrandListItem, ...]
    next: str | None
    """Send it as `after` to get the next page."""
