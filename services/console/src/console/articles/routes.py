"""Routes of the pages about articles."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from chassis.http.callers import Scope
from client import RefusedError
from console.articles import views
from console.drafts import notes
from console.drafts.draft_page import PAGE_HEADERS
from console.list_filters import ListFilter, safe_link
from console.notices import Notice, told
from console.pages import FormData, NavigationEntry, PageViewer, Viewer, once_or_refused, page, redirect
from console.saved_views import saved_views
from console.service_clients import Away, PersonClients
from console.sign_in.confirming import confirm_password
from console.watching.pages import LivePage, read_each

if TYPE_CHECKING:
    from client.services.orchestrator import answers

NAVIGATION: Final = (NavigationEntry("articles", "/b/{brand}/articles", 40),)
router = APIRouter(include_in_schema=False)


async def read_places(clients: PersonClients, fields: Mapping[str, str], query: Mapping[str, str]) -> Any:  # noqa: ARG001  (no filters)
    """Where the article is, and where its posts are."""
    content_id = fields["article"]
    return await read_each(
        clients.orchestrator.get_article(content_id),
        clients.orchestrator.list_placements(content_id),
        clients.social.list_brand_posts(fields["brand"], article=content_id),
    )


LIVE: Final = (LivePage("/b/{brand}/articles/{article}", read_places),)


@router.get("/b/{brand}/articles")
async def list_articles(request: Request, brand: str, viewer: Viewer) -> Response:
    """Articles that match the filters in the address, the latest first."""
    wanted = ListFilter.of(request.query_params, views.STATES)
    parts = await viewer.gather(
        found=viewer.orchestrator.search_for_articles(brand=brand, **wanted.arguments(datetime.now(UTC)))
    )
    return page(
        request,
        viewer,
        "articles/list.html.j2",
        **parts,
        brand=brand,
        saved=await saved_views(viewer, brand, "articles", wanted.query()),
        wanted=wanted,
        states=views.STATES,
        tones=views.TONES,
        may_submit=viewer.may(Scope.SUBMIT),
    )


@router.get("/b/{brand}/articles/{content_id}")
async def show_article(request: Request, brand: str, content_id: str, viewer: Viewer) -> Response:
    """An article: where it is published, its posts, its measures in words, and its sources."""
    return await _show(request, brand, content_id, viewer)


async def _show(
    request: Request,
    brand: str,
    content_id: str,
    viewer: PageViewer,
    *,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    content = await viewer.orchestrator.get_article(content_id)
    if content["brand"]["slug"] != brand:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    parts = await viewer.gather(
        score=viewer.orchestrator.get_article_score(content_id),
        placements=viewer.orchestrator.list_placements(content_id),
        posts=viewer.social.list_brand_posts(brand, article=content_id),
        settings=viewer.orchestrator.get_brand(brand, counters=False),
    )
    placements, score, settings = parts["placements"], parts["score"], parts["settings"]
    state = views.article_state(content)
    home = settings["target"] if settings else "site"
    return page(
        request,
        viewer,
        "articles/article.html.j2",
        status=status,
        **parts,
        brand=brand,
        refusal=refusal,
        content=content,
        state=state,
        wait=await _publication_wait(viewer, brand, content) if state == "publishing" else None,
        tones=views.TONES,
        places=views.places_of(content, home, placements["items"] if placements else ()),
        measures=views.measures_of(score["measures"]) if score else (),
        safe=safe_link,
        is_on_site=views.is_on_site(content, settings),
        may_review=viewer.may(Scope.REVIEW),
        may_delete=viewer.may(Scope.ADMIN),
    )


@router.get("/b/{brand}/articles/{content_id}/mail.html")
async def download_for_mail(brand: str, content_id: str, viewer: Viewer) -> Response:
    """The published article as HTML for mail programs. As a file alone: no browser shows it as a page of the console."""
    content = await viewer.orchestrator.get_article(content_id)
    if content["brand"]["slug"] != brand:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    document = await viewer.publisher.get_newsletter(brand, content["slug"])
    headers = {**PAGE_HEADERS, "Content-Disposition": f'attachment; filename="{brand}-mail.html"'}
    return HTMLResponse(document, headers=headers)


async def _publication_wait(
    viewer: PageViewer, brand: str, content: "answers.ContentView"
) -> views.PublicationWait:
    """Since when the article is being published, and what it waits for, as far as the person may know."""
    orchestrator, content_id = viewer.orchestrator, content["content_id"]
    parts = await viewer.gather(
        found=orchestrator.search_for_keywords(brand=brand, content_id=content_id, limit=1),
        targets=viewer.ask_one("publisher", viewer.publisher.list_targets(brand)),
    )
    keyword = next(iter(parts["found"]["items"]), None) if parts["found"] else None
    letters: Any = None
    if keyword is not None and viewer.may(Scope.OPERATE):
        # Of the keyword: the message that failed may be an earlier one than the command to the publisher.
        letters = await viewer.ask_one(
            "monitor",
            viewer.monitor.list_dead_letters(
                correlation_id=keyword["correlation_id"], keyword=keyword["keyword"], state="open", limit=1
            ),
        )
    return views.publication_wait(
        content,
        keyword,
        letters["items"] if isinstance(letters, Mapping) else (),
        [each for each in viewer.paused_queues if each.service == "publisher"],
        is_publisher_away=isinstance(parts["targets"], Away),
    )


@router.post("/b/{brand}/articles/{content_id}/publish")
async def publish_again(
    request: Request, brand: str, content_id: str, viewer: Viewer, form: FormData
) -> Response:
    """Sends an article that is being published to its home once more."""
    viewer.check_may(Scope.REVIEW)
    back = f"/b/{brand}/articles/{content_id}"

    async def publish() -> Response:
        content = await viewer.orchestrator.get_article(content_id)
        if content["brand"]["slug"] != brand:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        if views.article_state(content) != "publishing":
            # It was published meanwhile, or taken down by another person.
            state = viewer.t(f"articles.state.{views.article_state(content)}")
            return await told(request, viewer, back, Notice("articles.not_sent", {"state": state}))
        # The article's own home: the brand's first target may be another one by now.
        home = (await viewer.orchestrator.list_placements(content_id))["home"]
        await viewer.orchestrator.request_placement(content_id, home, idempotency_key=form.once or None)
        return await told(request, viewer, back, Notice("articles.sent_again", {"target": home}))

    refused = partial(_show, request, brand, content_id, viewer)
    return await once_or_refused(request, viewer, form, publish, refused)


@router.post("/b/{brand}/articles/{content_id}/take-down")
async def take_down(
    request: Request, brand: str, content_id: str, viewer: Viewer, form: FormData
) -> Response:
    """Takes the article's page down, with a reason that stays with it."""
    viewer.check_may(Scope.REVIEW)

    async def take() -> Response:
        await viewer.orchestrator.take_down_article(
            content_id, reason=form.text("reason"), idempotency_key=form.once or None
        )
        return redirect(request, f"/b/{brand}/articles/{content_id}")

    refused = partial(_show, request, brand, content_id, viewer)
    return await once_or_refused(request, viewer, form, take, refused)


@router.post("/b/{brand}/articles/{content_id}/delete")
async def delete_article(
    request: Request, brand: str, content_id: UUID, viewer: Viewer, form: FormData
) -> Response:
    """Deletes the article for good, with its versions and decisions, the notes about it and the links to it."""
    viewer.check_may(Scope.ADMIN)
    await confirm_password(request, viewer, form)

    async def delete() -> Response:
        await _check_is_of(viewer, brand, content_id)
        # Repeated after a deletion, it changes nothing; so what failed behind it can be pressed again.
        gone = await viewer.orchestrator.delete_article(
            content_id, reason=form.text("reason"), idempotency_key=form.once or None
        )
        await notes.erase_draft(request, content_id)
        address = gone["published_url"] or gone["address"]
        return await told(
            request, viewer, f"/b/{brand}/articles", Notice("articles.deleted", {"address": address})
        )

    refused = partial(_show, request, brand, str(content_id), viewer)
    return await once_or_refused(request, viewer, form, delete, refused)


async def _check_is_of(viewer: PageViewer, brand: str, content_id: UUID) -> None:
    """Raises HTTPException 404 for another brand's article."""
    try:
        content = await viewer.orchestrator.get_article(content_id)
    except RefusedError as error:
        if error.status != HTTPStatus.GONE:
            raise
    else:
        if content["brand"]["slug"] != brand:
            raise HTTPException(HTTPStatus.NOT_FOUND)
