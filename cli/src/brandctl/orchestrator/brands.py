"""`brandctl brands`: settings, state and counters of brands."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from brandctl.commands import Group, Result, table
from brandctl.errors import CommandError, UsageError
from brandctl.listing import Listing
from brandctl.options import Brand, Limit
from brandctl.orchestrator.brand_options import choices, cleared_values, with_option_for_each_setting
from brandctl.settings import given
from client.connections import etag_of
from client.errors import RefusedError
from client.pages import read_if_known
from client.services.orchestrator import Orchestrator
from envelope.brand.settings import BrandSettings

if TYPE_CHECKING:
    from client.services.orchestrator import answers

app = Group(
    "brands",
    """Makes, shows, pauses and sets brands: writer, approvals, targets, limits and quiet hours.

For example:

    brandctl brands set acme --name Acme --approval everything --articles-per-day 10
    brandctl brands set acme --quiet 22:00-07:00 --time-zone Europe/Berlin
    brandctl brands show acme
    brandctl brands pause acme
""",
    Orchestrator,
)

_WITH_OWN_OPTIONS: Final = frozenset({"channels", "forbidden_words", "quiet_hours", "target", "targets"})
_CLEARED: Final = {
    name.replace("_", "-"): value for name, value in cleared_values().items() if name != "targets"
}
_ClearableSetting: Any = choices("_ClearableSetting", _CLEARED)


def change_brand(orchestrator: Orchestrator, slug: str, changes: dict[str, Any]) -> "answers.BrandDetails":
    """Makes the brand, or changes these settings, unless another request changes the brand at the same time.

    Raises:
        UsageError: the brand is new and has no name.
    """
    condition: dict[str, Any]
    before = read_if_known(orchestrator.get_brand, slug)
    if before is None:
        if "name" not in changes:
            raise UsageError(f"there is no brand '{slug}' yet; give --name to make it")
        wanted, condition = changes, {"if_none_match": "*"}
    else:
        policy: dict[str, Any] = {**before["policy"]}
        wanted, condition = policy | _within(policy, changes), {"if_match": etag_of(before) or ""}
    try:
        return orchestrator.set_brand(slug, name=wanted["name"], extra=wanted, **condition)
    except RefusedError as error:
        if error.status != HTTPStatus.PRECONDITION_FAILED:
            raise
        raise CommandError(
            f"another request has just changed '{slug}', so yours did nothing: look at it with brandctl brands show {slug},"
            " and repeat your command if you still want the change"
        ) from error


def _within(policy: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Completes the changes with the parts of quiet hours that stay."""
    if not changes.get("quiet_hours"):
        return changes
    hours = {**(policy.get("quiet_hours") or {}), **changes["quiet_hours"]}
    if "begin" not in hours:
        raise UsageError("--time-zone belongs to quiet hours; give --quiet, too, such as 22:00-07:00")
    return changes | {"quiet_hours": hours}


_BRANDS: Final = Listing(
    {
        "brand": "slug",
        "name": "name",
        "writer": "writer",
        "approval": "approval",
        "target": lambda brand: ", ".join(brand["targets"]),
        "waits": "waits",
    },
    nothing="there is no brand yet; make one with brandctl brands set",
)


@app.command("list")
def list_brands(orchestrator: Orchestrator, after: str | None = None, limit: Limit = 50) -> Result:
    """Lists brands by slug, each with the reason if it is held up.

    For example:

        brandctl brands list --json | jq -r '.items[] | select(.waits) | .slug'

    Options:
        after: The last brand of the previous page.
    """
    return _BRANDS.of(orchestrator.list_brands(after=after, limit=limit))


@app.command()
def show(orchestrator: Orchestrator, brand: Brand) -> Result:
    """Shows the settings and counters of a brand, and the reason if it is held up.

    For example:

        brandctl brands show acme --json | jq .agent.counters
    """
    return _shown(orchestrator.get_brand(brand))


@app.command("set")
@with_option_for_each_setting(but=_WITH_OWN_OPTIONS)
def set_brand(
    brand: Brand,
    orchestrator: Orchestrator,
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
    **settings: Any,
) -> Result:
    """Makes a brand, or changes the given settings of one; a new brand needs a name. A given list replaces the previous one.

    If another request changes the brand at the same time, the command does nothing and says so.

    For example:

        brandctl brands set acme --name Acme --writer model --tone "Plain and friendly." --words 800
        brandctl brands set acme --forbid game-changer --forbid synergy --clear quiet-hours
    """
    if target is not None and targets is not None:
        raise UsageError("--target is the first of --targets: give only one of the two")
    changes = given(
        **settings,
        forbidden_words=forbid or None,
        channels=channel or None,
        quiet_hours=_quiet_hours(quiet, time_zone),
    )
    changes |= _targets(targets if target is None else target)
    for setting in clear or ():
        name = setting.replace("-", "_")
        if name in changes:
            raise UsageError(f"--clear {setting}: the same command sets it; give only one of the two")
        changes[name] = _CLEARED[setting]
    if not changes:
        raise UsageError("no setting is given; brandctl brands set --help lists them")
    return _shown(change_brand(orchestrator, brand, changes))


@app.command()
def pause(orchestrator: Orchestrator, brand: Brand) -> Result:
    """Pauses a brand: work under way continues to its end, new keywords wait until it is resumed."""
    orchestrator.pause_brand(brand)
    return _controlled(orchestrator.get_brand(brand))


@app.command()
def resume(orchestrator: Orchestrator, brand: Brand) -> Result:
    """Resumes a paused brand."""
    orchestrator.resume_brand(brand)
    return _controlled(orchestrator.get_brand(brand))


def _controlled(found: "answers.BrandDetails") -> Result:
    return Result(found, remark=_standing(found))


def _shown(found: "answers.BrandDetails") -> Result:
    # The home is the first of the targets.
    names = [name for name in BrandSettings.model_fields if name != "target"]
    settings = [(name.replace("_", " "), _said(found, name)) for name in names]
    counters = [
        (name.replace("_", " "), str(count)) for name, count in (found["agent"]["counters"] or {}).items()
    ]
    return Result(found, table(("setting", "value"), [*settings, *counters]), note=_standing(found))


def _said(found: Mapping[str, Any], name: str) -> str:
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


def _standing(found: "answers.BrandDetails") -> str:
    agent = found["agent"]
    waits = "".join(
        f"\n{_keywords(each['keywords'])} for {each['reason']}" for each in agent.get("keyword_waits", ())
    )
    return f"{_progress(found)}{waits}"


def _keywords(count: int) -> str:
    return "1 keyword waits" if count == 1 else f"{count} keywords wait"


def _progress(found: "answers.BrandDetails") -> str:
    if waits := found["agent"]["waits"]:
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
