"""`brandctl brands`: what is set of a brand, how it fares, and what holds it up."""

import re
from enum import StrEnum
from typing import Annotated, Any, Final
from urllib.parse import quote

import httpx
import typer

from brandctl.asking import AsJson, KeyFile, ServiceClient, ServiceError
from brandctl.errors import UsageError
from brandctl.listing import Limit, Listing
from brandctl.orchestrator.client import OrchestratorClient, OrchestratorUrl
from brandctl.tables import show_table
from brandctl.terminal import note, print_json

app = typer.Typer(
    name="brands",
    no_args_is_help=True,
    help=f"""Brands: who writes and how, what is seen before it is published, how much a day, and when it is quiet.

{OrchestratorClient.help()}

For example:

    brandctl brands set acme --name Acme --approval everything --articles-per-day 10
    brandctl brands set acme --quiet 22:00-07:00 --time-zone Europe/Berlin
    brandctl brands show acme
    brandctl brands pause acme
""",
)

_SETTINGS: Final = (
    "name", "description", "language", "writer", "tone", "audience", "words", "forbidden_words", "approval", "targets", "channels", "posts_approval",
    "short_links", "articles_per_day", "quiet_hours", "stale_after_days", "refresh_stale", "max_unreviewed_drafts",
)  # fmt: skip

Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Its slug.")]


class WriterChoice(StrEnum):
    EXTRACTIVE = "extractive"
    MODEL = "model"


class ApprovalChoice(StrEnum):
    EVERYTHING = "everything"
    FIRST = "first"
    NOTHING = "nothing"


class PostApprovalChoice(StrEnum):
    EVERYTHING = "everything"
    NOTHING = "nothing"


DEFAULT_UNREVIEWED: Final = 5
"""As the orchestrator has it where nothing is said."""


class BrandSetting(StrEnum):
    """What need not be set."""

    DESCRIPTION = "description"
    CHANNELS = "channels"
    FORBIDDEN_WORDS = "forbidden-words"
    TONE = "tone"
    AUDIENCE = "audience"
    WORDS = "words"
    APPROVAL = "approval"
    ARTICLES_PER_DAY = "articles-per-day"
    STALE_AFTER_DAYS = "stale-after-days"
    REFRESH_STALE = "refresh-stale"
    MAX_UNREVIEWED_DRAFTS = "max-unreviewed-drafts"
    QUIET_HOURS = "quiet-hours"

    @property
    def field(self) -> str:
        return self.value.replace("-", "_")

    @property
    def cleared(self) -> Any:
        match self:
            case BrandSetting.DESCRIPTION | BrandSetting.TONE | BrandSetting.AUDIENCE:
                return ""
            case BrandSetting.CHANNELS | BrandSetting.FORBIDDEN_WORDS:
                return []
            case BrandSetting.MAX_UNREVIEWED_DRAFTS:
                return DEFAULT_UNREVIEWED
            case _:
                return None


class BrandsClient(ServiceClient):
    """A client of the orchestrator; use it as a context manager. Every method may raise `ServiceError`."""

    service = "orchestrator"

    def page(self, **query: str | int | None) -> dict[str, Any]:
        return self._ask("GET", "/v1/brands", params=query)

    def brand(self, slug: str) -> dict[str, Any]:
        return self._ask("GET", _of(slug))

    def change(self, slug: str, changes: dict[str, Any]) -> dict[str, Any]:
        """Makes the brand, or sets this much of it, unless somebody else does so at the same time.

        Raises:
            UsageError: there is no such brand, and no name for it.
        """
        try:
            before = self._send("GET", _of(slug))
        except ServiceError as error:
            if error.status != httpx.codes.NOT_FOUND:
                raise
            if "name" not in changes:
                raise UsageError(f"there is no brand '{slug}' yet; say --name to make it") from error
            return self._put(slug, changes, {"If-None-Match": "*"})
        policy = self._object(before)["policy"]
        return self._put(slug, policy | _within(policy, changes), {"If-Match": before.headers["ETag"]})

    def control(self, slug: str, action: str) -> dict[str, Any]:
        """`action` is pause or resume."""
        return self._ask("POST", f"{_of(slug)}/{action}")

    def _put(self, slug: str, policy: dict[str, Any], condition: dict[str, str]) -> dict[str, Any]:
        try:
            return self._ask("PUT", _of(slug), json=policy, headers=condition)
        except ServiceError as error:
            if error.status != httpx.codes.PRECONDITION_FAILED:
                raise
            raise ServiceError(
                f"somebody else has set '{slug}' just now, and nothing of yours was done: look at it with brandctl brands show {slug},"
                " and say it again if it is still what you want",
                error.status,
            ) from error


def _within(policy: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """The changes, with what of quiet hours stays as it is."""
    if not changes.get("quiet_hours"):
        return changes
    hours = {**(policy.get("quiet_hours") or {}), **changes["quiet_hours"]}
    if "begin" not in hours:
        raise UsageError("--time-zone is that of quiet hours; say --quiet too, as in 22:00-07:00")
    return changes | {"quiet_hours": hours}


def _of(slug: str) -> str:
    return f"/v1/brands/{quote(slug, safe='')}"


_BRANDS: Final = Listing[dict[str, Any]](
    {
        "brand": lambda brand: brand["slug"],
        "name": lambda brand: brand["name"],
        "writer": lambda brand: brand["writer"],
        "approval": lambda brand: brand["approval"],
        "target": lambda brand: ", ".join(brand["targets"]),
        "waits": lambda brand: brand["waits"] or "",
    },
    nothing="there is no brand yet; make one with brandctl brands set",
)


@app.command(name="list")
def list_brands(
    after: Annotated[str | None, typer.Option(help="The last brand of the page before.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists brands by slug, with what holds each up.

    For example:

        brandctl brands list --json | jq -r '.items[] | select(.waits) | .slug'
    """
    with BrandsClient.at(orchestrator_url, key_file) as brands:
        answer = brands.page(after=after, limit=limit)
    _BRANDS.show(answer["items"], answer, as_json=as_json, more=answer["next"])


@app.command()
def show(
    brand: Brand,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows what is set of a brand, its counters, and what holds it up.

    For example:

        brandctl brands show acme --json | jq .agent.counters
    """
    with BrandsClient.at(orchestrator_url, key_file) as brands:
        _show(brands.brand(brand), as_json=as_json)


@app.command(name="set")
def set_brand(
    brand: Brand,
    name: Annotated[str | None, typer.Option(help="As readers see it; a new brand must have one.")] = None,
    description: Annotated[str | None, typer.Option(help="Shown on its site.")] = None,
    language: Annotated[str | None, typer.Option(help="Of what is written: en, pt-BR.")] = None,
    writer: Annotated[WriterChoice | None, typer.Option(help="Quotations, or a language model.")] = None,
    tone: Annotated[str | None, typer.Option(help="How what a model writes should read.")] = None,
    audience: Annotated[str | None, typer.Option(help="For whom a model writes.")] = None,
    words: Annotated[int | None, typer.Option(help="Of an article of a model.")] = None,
    forbid: Annotated[
        list[str] | None, typer.Option(help="A word or phrase that it does without; repeat for all.")
    ] = None,
    approval: Annotated[
        ApprovalChoice | None, typer.Option(help="Which articles wait until a person has approved them.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Where articles are published: site.")] = None,
    targets: Annotated[
        str | None,
        typer.Option(metavar="FIRST,...", help="All targets; the first gives the canonical address."),
    ] = None,
    channel: Annotated[
        list[str] | None, typer.Option(help="Where they are promoted, such as feed; repeat for all.")
    ] = None,
    posts_approval: Annotated[
        PostApprovalChoice | None, typer.Option(help="Which posts wait until a person has approved them.")
    ] = None,
    short_links: Annotated[
        bool | None,
        typer.Option(help="Whether posts lead to articles by links that count who follows them."),
    ] = None,
    articles_per_day: Annotated[
        int | None, typer.Option(min=1, help="So many keywords are begun in a day, evenly spread.")
    ] = None,
    stale_after_days: Annotated[
        int | None, typer.Option(min=1, help="After so long an audit calls research old.")
    ] = None,
    refresh_stale: Annotated[
        int | None, typer.Option(min=1, help="So many of these are written anew in a week.")
    ] = None,
    max_unreviewed_drafts: Annotated[
        int | None,
        typer.Option(
            min=1, max=100, help="With so many drafts that nobody has reviewed, nothing more is begun."
        ),
    ] = None,
    quiet: Annotated[
        str | None,
        typer.Option(metavar="FROM-TO", help="Nothing is begun by itself then, as in 22:00-07:00."),
    ] = None,
    time_zone: Annotated[
        str | None, typer.Option(help="Whose clocks these are.", show_default="as before, or UTC")
    ] = None,
    clear: Annotated[list[BrandSetting] | None, typer.Option(help="Have it as if never set; repeat.")] = None,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Makes a brand, or changes what is named and leaves the rest as it is. A list that is named is replaced.

    If somebody else sets the brand at the same time, nothing is done, and it is said.

    For example:

        brandctl brands set acme --name Acme --writer model --tone "Plain and friendly." --words 800
        brandctl brands set acme --forbid game-changer --forbid synergy --clear quiet-hours
    """
    given = {
        "name": name,
        "description": description,
        "language": language,
        "writer": writer,
        "tone": tone,
        "audience": audience,
        "words": words,
        "forbidden_words": forbid or None,
        "approval": approval,
        "channels": channel or None,
        "posts_approval": posts_approval,
        "short_links": short_links,
        "articles_per_day": articles_per_day,
        "stale_after_days": stale_after_days,
        "refresh_stale": refresh_stale,
        "max_unreviewed_drafts": max_unreviewed_drafts,
        "quiet_hours": _quiet_hours(quiet, time_zone),
    }
    if target is not None and targets is not None:
        raise UsageError("--target is the first of --targets: say one of the two")
    changes: dict[str, Any] = {setting: value for setting, value in given.items() if value is not None}
    changes |= _targets(targets if target is None else target)
    for setting in clear or ():
        if setting.field in changes:
            raise UsageError(f"--clear {setting}: you set it, too; say one of the two")
        changes[setting.field] = setting.cleared
    if not changes:
        raise UsageError("say what is to change; brandctl brands set --help lists what there is")
    with BrandsClient.at(orchestrator_url, key_file) as brands:
        _show(brands.change(brand, changes), as_json=as_json)


def _controlling(action: str, what_it_does: str) -> None:
    """A command that does this to a brand and says how it stands then."""

    @app.command(name=action, help=what_it_does)
    def command(
        brand: Brand,
        as_json: AsJson = False,
        orchestrator_url: OrchestratorUrl = None,
        key_file: KeyFile = None,
    ) -> None:
        with BrandsClient.at(orchestrator_url, key_file) as brands:
            brands.control(brand, action)
            found = brands.brand(brand)
        if as_json:
            print_json(found)
        note(_standing(found))


_controlling(
    "pause",
    "Begins nothing more of it until it is resumed. What is under way goes on to its end; new keywords wait.",
)
_controlling("resume", "Has a paused brand go on where it stood.")


def _show(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    settings = [(name.replace("_", " "), _said(found, name)) for name in _SETTINGS]
    counters = [(name.replace("_", " "), str(count)) for name, count in found["agent"]["counters"].items()]
    show_table(("setting", "value"), [*settings, *counters])
    note(_standing(found))


def _said(found: dict[str, Any], name: str) -> str:
    value, set_to = found.get(name), found["policy"].get(name)
    match value:
        case None | [] | "":
            return "-"
        case bool():
            return "yes" if value else "no"
        case [*several]:
            return ", ".join(several)
        case {"begin": begin, "end": end, "time_zone": zone}:
            return f"{begin}-{end} {zone}"
        case _:
            return f"{value}" if set_to is not None else f"{value} (by default)"


def _standing(found: dict[str, Any]) -> str:
    waits = found["agent"]["waits"]
    if waits:
        return f"{found['slug']}: nothing more is begun, {waits}"
    if found["approval"] == ApprovalChoice.EVERYTHING:
        # Often nobody said so: it follows from a writer or a target.
        return (
            f"{found['slug']} goes on by itself; its articles wait until you approve them (brandctl drafts list),"
            " unless you set --approval nothing"
        )
    return f"{found['slug']} goes on by itself"


def _targets(targets: str | None) -> dict[str, Any]:
    """The settings that name them: whoever names one alone has no others."""
    if targets is None:
        return {}
    names = [name.strip() for name in targets.split(",")]
    return {"target": names[0], "targets": names}


def _quiet_hours(quiet: str | None, time_zone: str | None) -> dict[str, str] | None:
    hours: dict[str, str] = {} if time_zone is None else {"time_zone": time_zone}
    if quiet is not None:
        found = re.fullmatch(r"(\d\d:\d\d)-(\d\d:\d\d)", quiet, re.ASCII)
        if found is None:
            raise UsageError(f"--quiet {quiet}: say from when to when, as in 22:00-07:00")
        hours |= {"begin": found[1], "end": found[2]}
    return hours or None
