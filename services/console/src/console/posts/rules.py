"""`/b/{brand}/posts/rules`: the rules for a brand's posts on each channel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console.notices import Notice, Undo, UndoAct, told
from console.pages import Form, FormData, PageViewer, Viewer, once_or_refused, page
from console.pages.overtaken import is_overtaken, mark_of
from integrations.networks import NETWORKS

MOST_HASHTAGS: Final = 30
_LONGEST_NUMBER: Final = 18
router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class ChannelLine:
    """A channel with the rules that hold there."""

    channel: str
    title: str
    is_used: bool
    """Whether the brand posts there."""
    link: str
    placements: Sequence[str]
    hashtags: str
    most_hashtags: str
    reach: bool
    reach_possible: bool
    is_set: bool
    seen: str
    """The mark of what is stored."""


def stored_rules(rules: Mapping[str, Any]) -> dict[str, Any]:
    """What a person sets of a channel's rules."""
    return {name: rules[name] for name in ("link", "hashtags", "most_hashtags", "reach")}


def channel_lines(
    found: Sequence[Mapping[str, Any]], used: Sequence[str], typed: Mapping[str, Any]
) -> tuple[ChannelLine, ...]:
    """The channels, those of the brand first; `typed` is what a person typed for one of them."""
    lines = []
    for rules in found:
        shown = {**rules, "hashtags": " ".join(f"#{each}" for each in rules["hashtags"])}
        if typed and typed["channel"] == rules["channel"]:
            shown |= typed
        named = NETWORKS.get(rules["channel"])
        line = ChannelLine(
            channel=rules["channel"],
            title=named.title if named else rules["channel"],
            is_used=rules["channel"] in used,
            link=shown["link"],
            placements=rules["placements"],
            hashtags=shown["hashtags"],
            most_hashtags=str(shown["most_hashtags"]),
            reach=shown["reach"],
            reach_possible=rules["reach_possible"],
            is_set=rules["is_set"],
            seen=mark_of(stored_rules(rules)),
        )
        lines.append(line)
    return tuple(sorted(lines, key=lambda each: not each.is_used))


def typed_rules(form: Form, channel: str) -> dict[str, Any]:
    """The rules as the form has them."""
    return {
        "channel": channel,
        "link": form.text("link"),
        "hashtags": form.text("hashtags"),
        "most_hashtags": form.text("most_hashtags"),
        "reach": "reach" in form,
    }


def wanted_rules(typed: Mapping[str, Any]) -> dict[str, Any]:
    """What is sent; what is malformed is sent as it was typed, for the service to refuse. An empty number: as usual there."""
    most = typed["most_hashtags"]
    return {
        "link": typed["link"] or None,
        "hashtags": [each for each in (word.strip("#,;") for word in typed["hashtags"].split()) if each],
        "most_hashtags": int(most) if most.isdecimal() and len(most) < _LONGEST_NUMBER else most or None,
        "reach": typed["reach"],
    }


@router.get("/b/{brand}/posts/rules")
async def show_rules(request: Request, brand: str, viewer: Viewer) -> Response:
    """Where the link stands, which hashtags posts have, and whether numbers are asked for, on each channel."""
    return await _show(request, brand, viewer)


async def _show(
    request: Request,
    brand: str,
    viewer: PageViewer,
    *,
    typed: Mapping[str, Any] | None = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    parts = await viewer.gather(
        found=viewer.social.list_channel_rules(brand),
        about=viewer.orchestrator.get_brand(brand, counters=False),
    )
    found, about = parts["found"], parts["about"]
    used = about["channels"] if about else []
    return page(
        request,
        viewer,
        "posts/rules.html.j2",
        status=status,
        **parts,
        brand=brand,
        refusal=refusal,
        refused=typed["channel"] if typed else "",
        lines=channel_lines(found["items"], used, typed or {}) if found else (),
        most=MOST_HASHTAGS,
        may_operate=viewer.may(Scope.OPERATE),
    )


@router.post("/b/{brand}/posts/rules/{channel}")
async def set_rules(request: Request, brand: str, channel: str, viewer: Viewer, form: FormData) -> Response:
    """Stores the rules for new posts on a channel, or removes them."""
    viewer.check_may(Scope.OPERATE)
    typed, verb = typed_rules(form, channel), form.text("do", "save")
    if verb not in {"save", "remove"}:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    refused = partial(_show, request, brand, viewer, typed=typed if verb == "save" else None)

    async def act() -> Response:
        before = await viewer.social.get_channel_rules(brand, channel)
        kept = stored_rules(before)
        if is_overtaken(form, kept):
            return await refused(refusal=viewer.t("layout.error.overtaken"), status=HTTPStatus.CONFLICT)
        if verb == "save":
            await viewer.social.set_channel_rules(brand, channel, extra=wanted_rules(typed))
        else:
            await viewer.social.delete_channel_rules(brand, channel)
        undo = Undo("posts.rules", [[channel, brand, kept if before["is_set"] else None]])
        notice = Notice(f"posts.rules_done.{verb}", undo=undo)
        return await told(request, viewer, f"/b/{brand}/posts/rules", notice)

    return await once_or_refused(request, viewer, form, act, refused)


async def _set_back(viewer: PageViewer, thing: Sequence[Any]) -> None:
    channel, brand, rules = thing
    if rules is None:
        await viewer.social.delete_channel_rules(brand, channel)
    else:
        await viewer.social.set_channel_rules(brand, channel, extra=rules)


UNDO: Final[dict[str, UndoAct]] = {"posts.rules": _set_back}
