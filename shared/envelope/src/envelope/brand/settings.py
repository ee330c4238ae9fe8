"""The settings of a brand, each defined once.

From the fields of `BrandSettings` come the bodies and answers of the orchestrator's API, the columns that it stores, and the
options of `brandctl brands set`. A new setting is a field here and a column of the table `brands` in a migration.
"""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from envelope.brand.payloads import PostsApproval
from envelope.brand.texts import not_blank, prose

MIN_SOURCES: Final = 3
"""The least number of independent sources of any article: research and writers refuse fewer."""
NAME_PATTERN: Final = "^[a-z0-9]+([._-][a-z0-9]+)*$"
"""Of channels and targets."""
_CLOCK_PATTERN: Final = "^([01][0-9]|2[0-3]):[0-5][0-9]$"
_LANGUAGE_PATTERN: Final = "^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$"


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


class QuietHoursRequest(BaseModel):
    """From one time of day to another, in a time zone; across midnight if `end` is not later than `begin`."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")

    begin: Annotated[str, Field(pattern=_CLOCK_PATTERN, examples=["22:00"])]
    end: Annotated[str, Field(pattern=_CLOCK_PATTERN, examples=["07:00"])]
    time_zone: Annotated[str, Field(max_length=60, examples=["Europe/Berlin"])] = "UTC"


_Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=40)]
_Word = Annotated[str, Field(min_length=1, max_length=60), AfterValidator(not_blank)]


class BrandSettings(BaseModel):
    """The settings of a brand. Fields left out take their defaults, also when the brand exists."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

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
    language: Annotated[str, Field(pattern=_LANGUAGE_PATTERN, max_length=35, examples=["en"])] = "en"
    """Language tag (BCP 47) of the brand's articles and posts."""
    channels: Annotated[
        tuple[_Name, ...], Field(max_length=20, examples=[["feed"]]), AfterValidator(_each_once)
    ] = ("feed",)
    """Where articles are promoted. `feed` is the built-in public feed; an empty list means no promotion."""
    target: Annotated[_Name, Field(examples=["site"])] = "site"
    """The target where articles are published first and have their canonical address. `site` is the built-in site."""
    targets: Annotated[
        tuple[_Name, ...],
        Field(max_length=10, examples=[["site", "company-blog"]]),
        AfterValidator(_each_once),
    ] = ()
    """All targets, the home first. The others follow once the home has published an article, and name its address as the canonical
    one. Left out: the home alone."""
    writer: Annotated[Literal["extractive", "model"], Field(examples=["extractive"])] = "extractive"
    """The writer: `extractive` quotes its sources; `model` is a language model that writes in English what they support."""
    forbidden_words: Annotated[tuple[_Word, ...], Field(max_length=200, examples=[["game-changer"]])] = ()
    """Words and phrases that a model must not use; an article that contains one waits for a person."""
    tone: Annotated[
        str,
        Field(max_length=300, examples=["Plain and friendly; explain what a beginner may not know."]),
        AfterValidator(prose),
    ] = ""
    """The tone in which a model should write. It changes the wording, not the checks against sources."""
    audience: Annotated[
        str,
        Field(max_length=300, examples=["People who brew at home and own one kettle."]),
        AfterValidator(prose),
    ] = ""
    """The readers for whom a model writes. Like the tone, it changes the wording, not the checks."""
    words: Annotated[int | None, Field(ge=250, le=2000, examples=[800])] = None
    """Length of a model's articles in words; an article that is far from it waits for a person."""
    min_sources: Annotated[int, Field(ge=MIN_SOURCES, le=8, examples=[4])] = MIN_SOURCES
    """How many independent sources an article cites at least; one that cites fewer waits for a person."""
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

    articles_per_day: Annotated[int | None, Field(ge=1, le=10_000, examples=[10])] = None
    """Keywords begun per day, evenly spread: 10 is one every 144 minutes. Left out: no such limit."""
    stale_after_days: Annotated[int | None, Field(ge=1, le=3650, examples=[180])] = None
    """Age of a source in days after which an audit reports its article as stale; left out: 180."""
    refresh_stale: Annotated[int | None, Field(ge=1, le=100, examples=[5])] = None
    """How many stale articles audits refresh per week, the oldest first. Left out: none; audits only report them."""
    deadline_hours: Annotated[int | None, Field(ge=1, le=8760, examples=[48])] = None
    """Hours after which the work on a request for articles ends, unless the request says otherwise. Left out: no deadline."""
    max_cost: Annotated[float | None, Field(ge=0.01, le=1_000_000, examples=[5.0])] = None
    """US dollars that the paid calls for one request may cost together, unless the request says otherwise. Left out: no such limit."""
    max_unreviewed_drafts: Annotated[int, Field(ge=1, le=100, examples=[5])] = 5
    """How many unreviewed drafts pause the brand. If every article waits for review, no more drafts than this are written."""

    quiet_hours: QuietHoursRequest | None = None
    """Times of day without automatic work. Running work finishes, due work is caught up afterwards, and people's requests are
    carried out."""
