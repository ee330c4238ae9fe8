"""`brandctl brands`: settings, state and counters of brands."""

import re
from typing import Annotated, Any, Final
from urllib.parse import quote

import httpx
import typer

from brandctl.asking import AsJson, KeyFile, ServiceClient, ServiceError
from brandctl.errors import UsageError
from brandctl.listing import Limit, Listing
from brandctl.orchestrator.brand_options import choices, cleared_values, with_option_for_each_setting
from brandctl.orchestrator.client import OrchestratorClient, OrchestratorUrl
from brandctl.tables import show_table
from brandctl.terminal import note, print_json
from envelope.brand.settings import BrandSettings

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

Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Its slug.")]


_WITH_OWN_OPTIONS: Final = frozenset({"channels", "forbidden_words", "quiet_hours", "target", "targets"})
_CLEARED: Final = {
    name.replace("_", "-"): value for name, value in cleared_values().items() if name != "targets"
}
_ClearableSetting: Any = choices("_ClearableSetting", _CLEARED)


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
@with_option_for_each_setting(but=_WITH_OWN_OPTIONS)
def set_brand(
    brand: Brand,
    forbid: Annotated[
        list[str] | None, typer.Option(help="A word or phrase that a model avoids; repeat for all.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Target of articles, such as site.")] = None,
    targets: Annotated[
        str | None,
        typer.Option(metavar="FIRST,...", help="All targets; the first gives the canonical address."),
    ] = None,
    channel: Annotated[
        list[str] | None, typer.Option(help="Channel of posts, such as feed; repeat for all.")
    ] = None,
    quiet: Annotated[
        str | None,
        typer.Option(metavar="FROM-TO", help="Hours in which no work begins, such as 22:00-07:00."),
    ] = None,
    time_zone: Annotated[
        str | None, typer.Option(help="Time zone of these hours.", show_default="as before, or UTC")
    ] = None,
    clear: Annotated[
        list[_ClearableSetting] | None,
        typer.Option(help="A setting to reset to its default; repeat for more."),
    ] = None,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
    **settings: Any,
) -> None:
    """Makes a brand, or changes the given settings of one; a new brand needs a name. A given list replaces the previous one.

    If another request changes the brand at the same time, the command does nothing and says so.

    For example:

        brandctl brands set acme --name Acme --writer model --tone "Plain and friendly." --words 800
        brandctl brands set acme --forbid game-changer --forbid synergy --clear quiet-hours
    """
    given = {
        **settings,
        "forbidden_words": forbid or None,
        "channels": channel or None,
        "quiet_hours": _quiet_hours(quiet, time_zone),
    }
    if target is not None and targets is not None:
        raise UsageError("--target is the first of --targets: give only one of the two")
    changes: dict[str, Any] = {setting: value for setting, value in given.items() if value is not None}
    changes |= _targets(targets if target is None else target)
    for setting in clear or ():
        name = setting.replace("-", "_")
        if name in changes:
            raise UsageError(f"--clear {setting}: the same command sets it; give only one of the two")
        changes[name] = _CLEARED[setting]
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
    # The home is the first of the targets.
    names = [name for name in BrandSettings.model_fields if name != "target"]
    settings = [(name.replace("_", " "), _said(found, name)) for name in names]
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
    if found["approval"] == "everything":
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
