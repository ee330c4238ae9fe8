"""Routes of the pages about posts."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Depends
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.api import add_routes
from chassis.http.callers import Scope
from client import RefusedError
from console.drafts.views import is_id
from console.list_filters import ListFilter, safe_link
from console.mass_actions.acting import MOST_AT_ONCE
from console.notices import Notice, Undo, told
from console.pages import Form, FormData, NavigationEntry, PageViewer, Viewer, once_or_refused, page, redirect
from console.posts import mass, reach, repeats, rules, views
from console.saved_views import saved_views

NAVIGATION: Final = (NavigationEntry("posts", "/b/{brand}/posts", 50),)
_PLAN: Final = "posts.plan"
MAX_COUNTED: Final = 10_000
router = APIRouter(include_in_schema=False)
# First, since other paths have a post's id in the place of `rules` and `reach`.
add_routes(router, rules.router, reach.router)
UNDO: Final = {**mass.UNDO, **rules.UNDO, **repeats.UNDO}
buttons = APIRouter(prefix="/b/{brand}/posts/{post_id}")


@router.get("/b/{brand}/posts")
async def list_posts(request: Request, brand: str, viewer: Viewer) -> Response:
    """Posts that match the filters in the address, the newest first."""
    wanted = ListFilter.of(request.query_params, views.STATES)
    now = datetime.now(UTC)
    filters = wanted.arguments(now)
    counting = {name: value for name, value in filters.items() if name not in {"after", "limit"}}
    parts = await viewer.gather(
        found=viewer.social.list_brand_posts(brand, **filters),
        counted=viewer.social.get_post_count(brand, **counting),
    )
    found = parts["found"]
    return page(
        request,
        viewer,
        "posts/list.html.j2",
        **parts,
        brand=brand,
        saved=await saved_views(viewer, brand, "posts", wanted.query()),
        wanted=wanted,
        states=views.STATES,
        lines=[views.post_line(each, now) for each in found["items"]] if found else [],
        next=found["next"] if found else None,
        most_at_once=MOST_AT_ONCE,
        verbs=_verbs(viewer, wanted.state),
    )


def _verbs(viewer: PageViewer, state: str) -> list[str]:
    """Mass actions that the viewer may take on posts in a state; empty: in any state."""
    allowed = {"retry": Scope.OPERATE}
    return [
        verb
        for verb, states in mass.ELIGIBLE.items()
        if viewer.may(allowed.get(verb, Scope.REVIEW)) and (not state or state in states)
    ]


@router.get("/b/{brand}/posts/many")
async def show_posts_again(request: Request, brand: str, viewer: Viewer) -> Response:  # noqa: ARG001  (a person has to be signed in)
    return redirect(request, f"/b/{brand}/posts")


@router.get("/b/{brand}/posts/{post_id}")
async def show_post(request: Request, brand: str, post_id: str, viewer: Viewer) -> Response:
    """A post as its network shows it, what it waits for, what may be decided, and what happened."""
    return await _show(request, brand, post_id, viewer)


async def _show(
    request: Request,
    brand: str,
    post_id: str,
    viewer: PageViewer,
    *,
    refusal: str = "",
    status: int = HTTPStatus.OK,
    form: Form | None = None,
) -> Response:
    # A mistyped address is a page that is not there, too.
    post = await viewer.social.get_post(post_id) if is_id(post_id) else None
    if post is None or post["brand_slug"] != brand:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    parts = await viewer.gather(
        decisions=viewer.social.list_post_decisions(post_id), receipt=_receipt(viewer, post_id)
    )
    decisions, receipt = parts["decisions"], parts["receipt"]
    typed = form.raw("text") if form is not None and "text" in form else None
    at = post["publish_at"]
    return page(
        request,
        viewer,
        "posts/post.html.j2",
        status=status,
        brand=brand,
        refusal=refusal,
        post=post,
        place=post.get("account") or post["channel"],
        name=next((each.name for each in viewer.brands if each.slug == brand), brand),
        tone=views.TONES.get(post["state"], "plain"),
        wait=views.post_wait(post, datetime.now(UTC)),
        card=views.link_card(post),
        lengths=views.lengths_of(post),
        actions=views.actions_for(post),
        decisions=decisions,
        receipt=receipt,
        history=views.history_of(
            decisions["items"] if decisions else (), receipt["attempts"] if receipt else ()
        ),
        typed=typed,
        # The version that was edited: whoever was overtaken is told so once more.
        version=form.text("version", str(post["version"])) if form is not None else post["version"],
        at=f"{viewer.t.local(at):%Y-%m-%dT%H:%M}" if at else "",
        zone=viewer.person.zone,
        safe=safe_link,
        may_review=viewer.may(Scope.REVIEW),
        may_operate=viewer.may(Scope.OPERATE),
    )


async def _receipt(viewer: PageViewer, post_id: str) -> Any:
    """The receipt of a post on another platform, which has the post's id; None for a post without one."""
    try:
        return await viewer.social.get_receipt(post_id)
    except RefusedError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise


@dataclass(frozen=True)
class _PostPress:
    """A button that was pressed on the page of a post."""

    request: Request
    brand: str
    post_id: str
    viewer: Viewer
    form: FormData

    @property
    def version(self) -> int:
        """The version that the form showed; 0, which the service refuses, for anything else."""
        told = self.form.text("version")
        return int(told) if told.isdecimal() and len(told) < 10 else 0  # noqa: PLR2004

    async def act(
        self,
        decide: Callable[..., Awaitable[object]],
        *,
        scope: Scope = Scope.REVIEW,
        done: str = "",
        undo: str = "",
        **fields: Any,
    ) -> Response:
        """Calls the service once, and shows the post; a refused one with what is wrong and all that was typed.

        `done` is the text of what was done, which `undo` takes back, by the post's id and the time that it had.
        """
        self.viewer.check_may(scope)
        path = f"/b/{self.brand}/posts/{self.post_id}"

        async def act() -> Response:
            before = await self.viewer.social.get_post(self.post_id) if undo else None
            await decide(self.post_id, **fields, idempotency_key=self.form.once or None)
            if before is None:
                return redirect(self.request, path)
            things = [[self.post_id, before["publish_at"]]] if before["publish_at"] or undo != _PLAN else []
            notice = Notice(done, {"n": 1}, undo=Undo(undo, things) if things else None)
            return await told(self.request, self.viewer, path, notice)

        return await once_or_refused(self.request, self.viewer, self.form, act, self.refused)

    async def refused(self, refusal: str, status: int = HTTPStatus.BAD_REQUEST) -> Response:
        return await _show(
            self.request,
            self.brand,
            self.post_id,
            self.viewer,
            refusal=refusal,
            status=status,
            form=self.form,
        )


Press = Annotated[_PostPress, Depends()]


@router.post("/b/{brand}/posts/{post_id}/length")
async def count_text(request: Request, brand: str, post_id: str, viewer: Viewer, form: FormData) -> Response:
    """The lengths of a text while it is typed, as the channel counts it; nothing is stored."""
    counted = await viewer.social.count_post_text(post_id, text=form.raw("text")[:MAX_COUNTED])
    return page(request, viewer, "posts/lengths.html.j2", brand=brand, lengths=views.lengths_of(counted))


@buttons.post("/edit")
async def edit_post(press: Press) -> Response:
    """Stores a new text as the next version."""
    return await press.act(press.viewer.social.edit_post, version=press.version, text=press.form.raw("text"))


@buttons.post("/approve")
async def approve_post(press: Press) -> Response:
    """Approves the version that was shown: for the next free slot, for now, or for a time in the reader's zone."""
    form, viewer = press.form, press.viewer
    viewer.check_may(Scope.REVIEW)
    when: dict[str, Any] = {}
    if form.text("when") == "now":
        when["now"] = True
    elif form.text("when") == "at":
        try:
            local = datetime.fromisoformat(form.text("at"))
            when["publish_at"] = local.replace(tzinfo=ZoneInfo(viewer.person.zone)).astimezone(UTC)
        except (ValueError, OverflowError):
            return await press.refused(viewer.t("posts.bad_time"))
    return await press.act(viewer.social.approve_post, version=press.version, **when)


@buttons.post("/unschedule")
async def unschedule_post(press: Press) -> Response:
    """Cancels the time of a post."""
    return await press.act(press.viewer.social.unschedule_post, done="posts.many_done.unschedule", undo=_PLAN)


@buttons.post("/reject")
async def reject_post(press: Press) -> Response:
    """Skips the channel for the article."""
    reason = press.form.text("reason")
    return await press.act(
        press.viewer.social.reject_post,
        done="posts.many_done.skip",
        undo="posts.reopen",
        version=press.version,
        reason=reason,
    )


@buttons.post("/retry")
async def retry_post(press: Press) -> Response:
    """Sends a failed post again."""
    return await press.act(press.viewer.social.retry_post, scope=Scope.OPERATE)


@buttons.post("/confirm")
async def confirm_post(press: Press) -> Response:
    """Says that a post in doubt is out."""
    remote = {name: value for name in ("url", "id") if (value := press.form.text(name))}
    return await press.act(press.viewer.social.confirm_receipt, remote=remote)


@buttons.post("/repeat")
async def repeat_post(press: Press) -> Response:
    """Has a post in doubt sent again, after a person has looked."""
    press.viewer.check_may(Scope.OPERATE)
    if "looked" not in press.form:
        return await press.refused(press.viewer.t("posts.look_first"))
    return await press.act(press.viewer.social.repeat_receipt, scope=Scope.OPERATE)


add_routes(router, mass.router, repeats.router, buttons)
