"""API bodies and views of brands."""

from datetime import datetime
from typing import Annotated, Any, Final, Self, cast, get_type_hints

from pydantic import Field, create_model, field_validator, model_validator

from chassis.http.api import View
from envelope.brand.settings import BrandSettings, QuietHoursRequest
from orchestrator.brands.store import BrandRow, quiet_hours_of
from orchestrator.requests import RequestBody


class BrandRequest(RequestBody, BrandSettings):
    """The settings of a brand. Fields left out take their defaults, also when the brand exists."""

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

    @field_validator("quiet_hours")
    @classmethod
    def _can_be_kept(cls, hours: QuietHoursRequest | None) -> QuietHoursRequest | None:
        quiet_hours_of(hours)
        return hours

    @classmethod
    def of(cls, brand: BrandRow) -> "BrandRequest":
        """The request that would leave the brand unchanged. Its fields were checked when they were stored."""
        stored = {name: getattr(brand, name) for name in cls.model_fields}
        stored["targets"] = brand.targets if len(brand.targets) > 1 else ()
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


class KeywordWait(View):
    """What keywords under way wait for."""

    reason: Annotated[str, Field(examples=["the model's budget: 0.01 of the 2.00 dollars of today are left"])]
    keywords: int
    """How many of the brand's wait for it."""
    until: datetime
    """When the first of them is tried again."""


class BrandAgentView(View):
    """The brand's counters, and whether it waits for a person."""

    counters: BrandCounters | None
    """Null if the request asks for none."""
    waits: str | None
    """Why the brand begins nothing more; null if it works normally."""
    keyword_waits: tuple[KeywordWait, ...] = ()
    """What its keywords under way wait for, such as money; the three that most wait for."""
    looked_at: datetime | None
    """When a person last decided about a draft, or marked drafts as reviewed."""


class BrandSlugView(View):
    slug: Annotated[str, Field(examples=["daily-grind"])]


_PLAIN: Final = get_type_hints(BrandSettings)
"""The types of the settings without their limits: a brand may be older than a limit."""
_SHOWN: Final[dict[str, Any]] = {
    name: (_PLAIN[name], Field(description=field.description, examples=field.examples))
    for name, field in BrandSettings.model_fields.items()
}


class BrandView(create_model("BrandSettingsView", __base__=BrandSlugView, **_SHOWN)):  # type: ignore[misc]
    targets: Annotated[tuple[str, ...], Field(examples=[["site"]])]
    """All targets, the home first."""
    approval: str
    """Which articles wait for a person's approval: the brand's setting, or its default."""
    paused_at: datetime | None
    """When the brand was paused; null if it is not."""
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, brand: BrandRow, **more: Any) -> Self:
        """Shows a brand; `more` are the fields of a subclass."""
        stored = {name: value for name, value in brand if name in cls.model_fields}
        return cast("Self", cls.model_construct(**{**stored, "approval": brand.approves, **more}))


class BrandDetails(BrandView):
    policy: BrandRequest
    """The body of the PUT that would leave the brand unchanged. Change a part and send it with the ETag in `If-Match`."""
    agent: BrandAgentView


class BrandListItem(BrandView):
    """A brand in a list."""

    waits: str | None
    """Why the brand begins nothing more; null if it works normally."""


class BrandNameView(View):
    slug: str
    name: str


class BrandNameList(View):
    items: tuple[BrandNameView, ...]
    next: str | None
    """Send it as `after` to get the next page."""


class BrandList(View):
    items: tuple[BrandListItem, ...]
    next: str | None
    """Send it as `after` to get the next page."""
