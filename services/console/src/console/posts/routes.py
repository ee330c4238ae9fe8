"""Routes of the pages about posts."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final
from zoneinfo import ZoneInfo

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client import RefusedError
from console.list_filters import ListFilter, safe_link
from console.pages import Form, FormData, NavigationEntry, PageViewer, Viewer, once, page, redirect
from console.posts import views
from console.service_clients import is_away

NAVIGATION: Final = (NavigationEntry("posts", "/b/{brand}/posts", 50),)
PAGE_SIZE: Final = 50
MAX_COUNTED: Final = 10_000
router = APIRouter(include_in_schema=False)


@router.get("/b/{brand}/posts")
async def list_posts(request: Request, brand: str, viewer: Viewer) -> Response:
    """Posts that match the filters in the address, the newest first."""
    wanted = ListFilter.of(request.query_params, views.STATES)
    now = datetime.now(UTC)
    parts = await viewer.gather(
        found=viewer.social.list_brand_posts(
            brand,
            q=wanted.text or None,
            state=wanted.state or None,  # type: ignore[arg-type]  # one of STATES
            since=wanted.since(now),
            after=wanted.after or None,
            limit=PAGE_SIZE,
        )
    )
    found = parts["found"]
    return page(
        request,
        viewer,
        "posts/list.html.j2",
        **parts,
        brand=brand,
        wanted=wanted,
        states=views.STATES,
        lines=[views.post_line(each, now) for each in found["items"]] if found else [],
        next=found["next"] if found else None,
    )


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
    post = await viewer.social.get_post(post_id)
    if post["brand_slug"] != brand:
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


async def _act(
    request: Request,
    brand: str,
    post_id: str,
    viewer: PageViewer,
    form: Form,
    decide: Callable[[], Awaitable[object]],
) -> Response:
    """Carries out a decision once, and shows the post; a refused one with what is wrong and all that was typed."""

    async def act() -> Response:
        await decide()
        return redirect(request, f"/b/{brand}/posts/{post_id}")

    try:
        return await once(request, viewer, form, act)
    except RefusedError as error:
        if is_away(error):
            raise
        refusal = str(error.problem.get("detail") or error)
        return await _show(request, brand, post_id, viewer, refusal=refusal, status=error.status, form=form)


@router.post("/b/{brand}/posts/{post_id}/length")
async def count_text(request: Request, brand: str, post_id: str, viewer: Viewer, form: FormData) -> Response:
    """The lengths of a text while it is typed, as the channel counts it; nothing is stored."""
    counted = await viewer.social.count_post_text(post_id, text=form.raw("text")[:MAX_COUNTED])
    return page(request, viewer, "posts/lengths.html.j2", brand=brand, lengths=views.lengths_of(counted))


@router.get("/b/{brand}/posts/{post_id}/{verb}")
async def show_after_refusal(
    request: Request,
    brand: str,
    post_id: str,
    verb: str,  # noqa: ARG001  (every form leads back)
    viewer: Viewer,  # noqa: ARG001  (a person has to be signed in)
) -> Response:
    """A refused form is answered at its own address; a reload there shows the post."""
    return redirect(request, f"/b/{brand}/posts/{post_id}")


@router.post("/b/{brand}/posts/{post_id}/edit")
async def edit_post(request: Request, brand: str, post_id: str, viewer: Viewer, form: FormData) -> Response:
    """Stores a new text as the next version."""
    return await _act(
        request,
        brand,
        post_id,
        viewer,
        form,
        lambda: viewer.social.edit_post(
            post_id, version=_version(form), text=form.raw("text"), idempotency_key=form.once or None
        ),
    )


@router.post("/b/{brand}/posts/{post_id}/approve")
async def approve_post(
    request: Request, brand: str, post_id: str, viewer: Viewer, form: FormData
) -> Response:
    """Approves the version that was shown: for the next free slot, for now, or for a time in the reader's zone."""
    when: dict[str, Any] = {}
    if form.text("when") == "now":
        when["now"] = True
    elif form.text("when") == "at":
        try:
            local = datetime.fromisoformat(form.text("at"))
            when["publish_at"] = local.replace(tzinfo=ZoneInfo(viewer.person.zone)).astimezone(UTC)
        except (ValueError, OverflowError):
            refusal = viewer.t("posts.bad_time")
            return await _show(
                request, brand, post_id, viewer, refusal=refusal, status=HTTPStatus.BAD_REQUEST, form=form
            )
    return await _act(
        request,
        brand,
        post_id,
        viewer,
        form,
        lambda: viewer.social.approve_post(
            post_id, version=_version(form), idempotency_key=form.once or None, **when
        ),
    )


@router.post("/b/{brand}/posts/{post_id}/unschedule")
async def unschedule_post(
    request: Request, brand: str, post_id: str, viewer: Viewer, form: FormData
) -> Response:
    """Cancels the time of a post."""
    return await _act(
        request,
        brand,
        post_id,
        viewer,
        form,
        lambda: viewer.social.unschedule_post(post_id, idempotency_key=form.once or None),
    )


@router.post("/b/{brand}/posts/{post_id}/reject")
async def reject_post(request: Request, brand: str, post_id: str, viewer: Viewer, form: FormData) -> Response:
    """Skips the channel for the article."""
    return await _act(
        request,
        brand,
        post_id,
        viewer,
        form,
        lambda: viewer.social.reject_post(
            post_id, version=_version(form), reason=form.text("reason"), idempotency_key=form.once or None
        ),
    )


@router.post("/b/{brand}/posts/{post_id}/retry")
async def retry_post(request: Request, brand: str, post_id: str, viewer: Viewer, form: FormData) -> Response:
    """Sends a failed post again."""
    return await _act(
        request,
        brand,
        post_id,
        viewer,
        form,
        lambda: viewer.social.retry_post(post_id, idempotency_key=form.once or None),
    )


@router.post("/b/{brand}/posts/{post_id}/confirm")
async def confirm_post(
    request: Request, brand: str, post_id: str, viewer: Viewer, form: FormData
) -> Response:
    """Says that a post in doubt is out."""
    told = {name: value for name in ("url", "id") if (value := form.text(name))}
    return await _act(
        request,
        brand,
        post_id,
        viewer,
        form,
        lambda: viewer.social.confirm_receipt(post_id, remote=told, idempotency_key=form.once or None),
    )


@router.post("/b/{brand}/posts/{post_id}/repeat")
async def repeat_post(request: Request, brand: str, post_id: str, viewer: Viewer, form: FormData) -> Response:
    """Has a post in doubt sent again, after a person has looked."""
    if "looked" not in form:
        refusal = viewer.t("posts.look_first")
        return await _show(request, brand, post_id, viewer, refusal=refusal, status=HTTPStatus.BAD_REQUEST)
    return await _act(
        request,
        brand,
        post_id,
        viewer,
        form,
        lambda: viewer.social.repeat_receipt(post_id, idempotency_key=form.once or None),
    )


def _version(form: Form) -> int:
    """The version that the form showed; 0, which the service refuses, for anything else."""
    told = form.text("version")
    return int(told) if told.isdecimal() and len(told) < 10 else 0  # noqa: PLR2004
