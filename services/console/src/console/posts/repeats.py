"""`/b/{brand}/posts/{post_id}/repeats`: how often a post, or its article on every account, is posted again."""

import re
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
from chassis.time_zones import zone_names
from client import RefusedError
from console.drafts.views import is_id
from console.notices import Notice, Undo, UndoAct, told
from console.pages import Form, FormData, PageViewer, Viewer, once_or_refused, page

WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
PLACES: Final = ("account", "article")
"""A rule is for the account of the post, or for every account with a post about its article."""
KINDS: Final = ("evergreen", "recurring")
MOST_TIMES: Final = 100
MOST_DAYS: Final = 3650
_RULE: Final = ("kind", "at_most", "cool_down_days", "times", "monthly", "time_zone")
_USUAL_TIMES: Final = 3
_USUAL_DAYS: Final = 60
_LONGEST_NUMBER: Final = 9
_SEPARATORS: Final = re.compile(r"[\s,;]+")
_DAYS_AND_TIMES: Final = re.compile(r"(?P<days>\S.*?)[\s,;]+(?P<times>\d?\d:\d\d(?:[\s,;]+\d?\d:\d\d)*)")
router = APIRouter(include_in_schema=False)


class MonthLineError(ValueError):
    """A line of the month is not days followed by times."""


@dataclass(frozen=True, slots=True)
class RepeatForm:
    """The form of a rule, as it is stored or as a person typed it."""

    place: str
    kind: str
    at_most: str
    cool_down: str
    days: Mapping[str, str]
    """The times of each day of the week."""
    monthly: str
    zone: str


def stored_form(rule: Mapping[str, Any] | None, place: str, zone: str) -> RepeatForm:
    """The form of a rule; without one, usual values and the reader's zone."""
    given = rule or {}
    lines = given.get("times") or ()
    return RepeatForm(
        place=place,
        kind=given.get("kind", KINDS[0]),
        at_most=str(given.get("at_most", _USUAL_TIMES)),
        cool_down=str(given.get("cool_down_days") or _USUAL_DAYS),
        days={
            day: ", ".join(
                sorted({at for line in lines if day in (line["days"] or WEEKDAYS) for at in line["times"]})
            )
            for day in WEEKDAYS
        },
        monthly="\n".join(
            f"{', '.join(line['days'])} {', '.join(line['times'])}" for line in given.get("monthly") or ()
        ),
        zone=given["time_zone"] if given.get("kind") == KINDS[1] else zone,
    )


def typed_form(form: Form) -> RepeatForm:
    return RepeatForm(
        place=_of(PLACES, form.text("place")),
        kind=_of(KINDS, form.text("kind")),
        at_most=form.text("at_most"),
        cool_down=form.text("cool_down"),
        days={day: form.text(day) for day in WEEKDAYS},
        monthly=form.text("monthly"),
        zone=form.text("zone"),
    )


def _of(known: Sequence[str], word: str) -> str:
    return word if word in known else known[0]


def asked_of(form: RepeatForm) -> dict[str, Any]:
    """The request to social, which refuses malformed times and numbers; days with the same times are one line.

    Raises:
        MonthLineError: with the line that is not days followed by times.
    """
    asked: dict[str, Any] = {"kind": form.kind, "at_most": _number(form.at_most)}
    if form.kind == "evergreen":
        return {**asked, "cool_down_days": _number(form.cool_down)}
    by_times: dict[tuple[str, ...], list[str]] = {}
    for day in WEEKDAYS:
        if times := tuple(_clocks(form.days[day])):
            by_times.setdefault(times, []).append(day)
    return {
        **asked,
        "times": [{"days": days, "times": list(times)} for times, days in by_times.items()],
        "monthly": [_month_line(each.strip()) for each in form.monthly.splitlines() if each.strip()],
        "time_zone": form.zone,
    }


def _month_line(line: str) -> dict[str, list[str]]:
    found = _DAYS_AND_TIMES.fullmatch(line)
    if found is None:
        raise MonthLineError(line)
    days = [each for each in _SEPARATORS.split(found["days"].lower()) if each]
    return {"days": list(dict.fromkeys(days)), "times": _clocks(found["times"])}


def _clocks(text: str) -> list[str]:
    """`9:00` as `09:00`."""
    return sorted({each.zfill(5) for each in _SEPARATORS.split(text) if each})


def _number(text: str) -> Any:
    # A number that is none is social's to refuse.
    return int(text) if text.isascii() and text.isdigit() and len(text) < _LONGEST_NUMBER else text


def rule_of(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What brings a rule back; None if there is none."""
    return None if found is None else {name: found[name] for name in _RULE if name in found}


@router.get("/b/{brand}/posts/{post_id}/repeats")
async def show_repeats(request: Request, brand: str, post_id: str, viewer: Viewer) -> Response:
    return await _show(request, brand, post_id, viewer)


async def _show(
    request: Request,
    brand: str,
    post_id: str,
    viewer: PageViewer,
    *,
    typed: RepeatForm | None = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    post = await _post(viewer, brand, post_id)
    rules = {place: await _rule(viewer, post, place) for place in PLACES}
    zone = viewer.person.zone
    forms = [
        typed if typed and typed.place == place else stored_form(rule, place, zone)
        for place, rule in rules.items()
    ]
    return page(
        request,
        viewer,
        "posts/repeats.html.j2",
        status=status,
        brand=brand,
        post=post,
        rules=rules,
        forms=forms,
        refusal=refusal,
        refused=typed.place if typed else "",
        weekdays=WEEKDAYS,
        kinds=KINDS,
        zones=sorted(zone_names() | {each.zone for each in forms} - {""}),
        most_times=MOST_TIMES,
        most_days=MOST_DAYS,
        may_review=viewer.may(Scope.REVIEW),
    )


async def _post(viewer: PageViewer, brand: str, post_id: str) -> Any:
    """A post on an account; the built-in feed has none, and repeats nothing."""
    post = await viewer.social.get_post(post_id) if is_id(post_id) else None
    if post is None or post["brand_slug"] != brand or not post["account"]:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    return post


async def _rule(viewer: PageViewer, post: Mapping[str, Any], place: str) -> Any:
    """The rule of a post's account or article; None if there is none."""
    try:
        if place == "account":
            return await viewer.social.get_post_repeats(post["post_id"])
        return await viewer.social.get_article_repeats(post["brand_slug"], post["content_id"])
    except RefusedError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise


@router.post("/b/{brand}/posts/{post_id}/repeats")
async def set_repeats(request: Request, brand: str, post_id: str, viewer: Viewer, form: FormData) -> Response:
    """Stores a rule, or removes it together with the repeats that it has planned."""
    viewer.check_may(Scope.REVIEW)
    typed, stops = typed_form(form), form.text("do") == "stop"
    refused = partial(_show, request, brand, post_id, viewer, typed=None if stops else typed)
    try:
        rule = None if stops else asked_of(typed)
    except MonthLineError as error:
        sentence = viewer.t("posts.repeats.bad_month", line=str(error))
        return await refused(refusal=sentence, status=HTTPStatus.UNPROCESSABLE_ENTITY)

    async def act() -> Response:
        post = await _post(viewer, brand, post_id)
        former = rule_of(await _rule(viewer, post, typed.place))
        await _set(viewer, typed.place, post, rule)
        undo = Undo("posts.repeats", [[post_id, typed.place, brand, former]])
        done = "stop" if stops else "save"
        path = f"/b/{brand}/posts/{post_id}/repeats"
        return await told(request, viewer, path, Notice(f"posts.repeats_done.{done}", undo=undo))

    return await once_or_refused(request, viewer, form, act, refused)


async def _set(
    viewer: PageViewer, place: str, post: Mapping[str, Any], rule: Mapping[str, Any] | None
) -> None:
    social, post_id, article = viewer.social, post["post_id"], (post["brand_slug"], post["content_id"])
    if rule is None:
        await (
            social.delete_post_repeats(post_id)
            if place == "account"
            else social.delete_article_repeats(*article)
        )
        return
    asked: dict[str, Any] = {"kind": rule["kind"], "at_most": rule["at_most"], "extra": rule}
    if place == "account":
        await social.set_post_repeats(post_id, **asked)
    else:
        await social.set_article_repeats(*article, **asked)


async def _set_back(viewer: PageViewer, thing: Sequence[Any]) -> None:
    post_id, place, brand, rule = thing
    await _set(viewer, place, await _post(viewer, brand, post_id), rule)


UNDO: Final[dict[str, UndoAct]] = {"posts.repeats": _set_back}
