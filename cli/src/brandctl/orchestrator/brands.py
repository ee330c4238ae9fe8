"""`brandctl brands`: settings, state and counters of brands."""

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
    help=f"""Makes, shows, pauses and sets brands: writer, approvals, targets, limits and quiet hours.

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
"""The orchestrator's default."""


class BrandSetting(StrEnum):
    """Settings that can be cleared."""

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
        """Makes the brand, or changes these settings, unless another request changes the brand at the same time.

        Raises:
            UsageError: the brand is new and has no name.
        """
        try:
            before = self._send("GET", _of(slug))
        except ServiceError as error:
            if error.status != httpx.codes.NOT_FOUND:
                raise
            if "name" not in changes:
                raise UsageError(f"there is no brand '{slug}' yet; give --name to make it") from error
            return self._put(slug, changes, {"If-None-Match": "*"})
        policy = self._object(before)["policy"]
        return self._put(slug, policy | _within(policy, changes), {"If-Match": before.headers["ETag"]})

    def control(self, slug: str, action: str) -> dict[str, Any]:
        """Sends `action`, pause or resume."""
        return self._ask("POST", f"{_of(slug)}/{action}")

    def _put(self, slug: str, policy: dict[str, Any], condition: dict[str, str]) -> dict[str, Any]:
        try:
            return self._ask("PUT", _of(slug), json=policy, headers=condition)
        except ServiceError as error:
            if error.status != httpx.codes.PRECONDITION_FAILED:
                raise
            raise ServiceError(
                f"another request has just changed '{slug}', so yours did nothing: look at it with brandctl brands show {slug},"
                " and repeat your command if you still want the change",
                error.status,
            ) from error


def _within(policy: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Completes the changes with the parts of quiet hours that stay."""
    if not changes.get("quiet_hours"):
        return changes
    hours = {**(policy.get("quiet_hours") or {}), **changes["quiet_hours"]}
    if "begin" not in hours:
        raise UsageError("--time-zone belongs to quiet hours; give --quiet, too, such as 22:00-07:00")
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
    after: Annotated[str | None, typer.Option(help="The last brand of the previous page.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists brands by slug, each with the reason if it is held up.

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
    """Shows the settings and counters of a brand, and the reason if it is held up.

    For example:

        brandctl brands show acme --json | jq .agent.counters
    """
    with BrandsClient.at(orchestrator_url, key_file) as brands:
        _show(brands.brand(brand), as_json=as_json)


@app.command(name="set")
def set_brand(
    brand: Brand,
    name: Annotated[str | None, typer.Option(help="Name for readers; a new brand needs one.")] = None,
    description: Annotated[str | None, typer.Option(help="Shown on its site.")] = None,
    language: Annotated[
        str | None, typer.Option(help="Language of the articles, such as en or pt-BR.")
    ] = None,
    writer: Annotated[
        WriterChoice | None, typer.Option(help="extractive quotes sources; model uses a language model.")
    ] = None,
    tone: Annotated[str | None, typer.Option(help="Tone of a model's texts.")] = None,
    audience: Annotated[str | None, typer.Option(help="Readers that a model writes for.")] = None,
    words: Annotated[int | None, typer.Option(help="Words of a model's article.")] = None,
    forbid: Annotated[
        list[str] | None, typer.Option(help="A word or phrase that a model avoids; repeat for all.")
    ] = None,
    approval: Annotated[
        ApprovalChoice | None, typer.Option(help="Which articles wait for a person's approval.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Target of articles, such as site.")] = None,
    targets: Annotated[
        str | None,
        typer.Option(metavar="FIRST,...", help="All targets; the first gives the canonical address."),
    ] = None,
    channel: Annotated[
        list[str] | None, typer.Option(help="Channel of posts, such as feed; repeat for all.")
    ] = None,
    posts_approval: Annotated[
        PostApprovalChoice | None, typer.Option(help="Which posts wait for a person's approval.")
    ] = None,
    short_links: Annotated[
        bool | None,
        typer.Option(help="Whether posts have short links, which count clicks."),
    ] = None,
    articles_per_day: Annotated[
        int | None, typer.Option(min=1, help="So many keywords are begun in a day, evenly spread.")
    ] = None,
    stale_after_days: Annotated[
        int | None, typer.Option(min=1, help="After so long an audit calls research old.")
    ] = None,
    refresh_stale: Annotated[
        int | None, typer.Option(min=1, help="The most of these to rewrite in a week.")
    ] = None,
    max_unreviewed_drafts: Annotated[
        int | None,
        typer.Option(min=1, max=100, help="So many unreviewed drafts pause the brand."),
    ] = None,
    quiet: Annotated[
        str | None,
        typer.Option(metavar="FROM-TO", help="Hours in which no work begins, such as 22:00-07:00."),
    ] = None,
    time_zone: Annotated[
        str | None, typer.Option(help="Time zone of these hours.", show_default="as before, or UTC")
    ] = None,
    clear: Annotated[
        list[BrandSetting] | None, typer.Option(help="A setting to reset to its default; repeat for more.")
    ] = None,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Makes a brand, or changes the given settings of one. A given list replaces the previous one.

    If another request changes the brand at the same time, the command does nothing and says so.

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
        raise UsageError("--target is the first of --targets: give only one of the two")
    changes: dict[str, Any] = {setting: value for setting, value in given.items() if value is not None}
    changes |= _targets(targets if target is None else target)
    for setting in clear or ():
        if setting.field in changes:
            raise UsageError(f"--clear {setting}: the same command sets it; give only one of the two")
        changes[setting.field] = setting.cleared
    if not changes:
        raise UsageError("no setting is given; brandctl brands set --help lists them")
    with BrandsClient.at(orchestrator_url, key_file) as brands:
        _show(brands.change(brand, changes), as_json=as_json)


def _controlling(action: str, what_it_does: str) -> None:
    """Adds a command that sends this action and prints the brand's new state."""

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
    "Pauses a brand: work under way continues to its end, new keywords wait until it is resumed.",
)
_controlling("resume", "Resumes a paused brand.")


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
        # Often a default, which follows from the writer or the target.
        return (
            f"{found['slug']} goes on by itself; its articles wait until you approve them (brandctl drafts list),"
            " unless you set --approval nothing"
        )
    return f"{found['slug']} goes on by itself"


def _targets(targets: str | None) -> dict[str, Any]:
    """The settings for the typed targets; one name alone means no further targets."""
    if targets is None:
        return {}
    names = [name.strip() for name in targets.split(",")]
    return {"target": names[0], "targets": names}


def _quiet_hours(quiet: str | None, time_zone: str | None) -> dict[str, str] | None:
    hours: dict[str, str] = {} if time_zone is None else {"time_zone": time_zone}
    if quiet is not None:
        found = re.fullmatch(r"(\d\d:\d\d)-(\d\d:\d\d)", quiet, re.ASCII)
        if found is None:
            raise UsageError(f"--quiet {quiet}: write begin and end, such as 22:00-07:00")
        hours |= {"begin": found[1], "end": found[2]}
    return hours or None
