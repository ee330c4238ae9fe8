"""A brand's rows for an archive, and from one.

An archive has no page's HTML: pages are rendered anew from the articles that the orchestrator has, and keep their addresses and dates.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from chassis import Connection
from chassis.http.problem_codes import RefusalError
from chassis.links import public_link
from envelope.brand.payloads import SLUG_PATTERN
from messaging import RetryLater, Unprocessable, WaitFor
from messaging import problem_codes as message_codes
from messaging.brand_parts import BrandPart, CopiedRow, Dependent, StoreRows
from publisher import problem_codes as codes
from publisher import store
from publisher.domain import BrandSlug, UnusableLogoError
from publisher.logos import normalised, save_logo
from publisher.mailing import import_subscribers, mail_address
from publisher.markup import Home, to_html
from publisher.orchestrator_client import Fetched
from publisher.previews import DraftReader
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls

_MAX_DAYS: Final = 20_000
_AT_ONCE: Final = 8


def _is_link(address: str) -> str:
    if public_link(address) is None:
        raise ValueError("must be a web address such as https://example.com/guide")
    return address


def _is_mail_address(text: str) -> str:
    address = mail_address(text)
    if address is None:
        raise ValueError("is no mail address")
    return address


_Line = Annotated[str, Field(max_length=2_000)]
_Slug = Annotated[str, Field(pattern=SLUG_PATTERN, max_length=200)]
_Link = Annotated[str, Field(max_length=2_000), AfterValidator(_is_link)]
_Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
_Mark = Annotated[str, Field(pattern="^([a-z2-7]{5})?$")]


class SitePartRow(CopiedRow):
    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: _Line
    language: Annotated[str, Field(pattern="^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$", max_length=35)]
    created_at: datetime


class PageViewsRow(CopiedRow):
    day: date
    views: _Count


class PagePartRow(CopiedRow):
    """What an article does not say of its page."""

    content_id: UUID
    slug: _Slug
    published_at: datetime
    updated_at: datetime
    taken_down_at: datetime | None
    canonical_url: _Link | None
    page_views: Annotated[tuple[PageViewsRow, ...], Field(max_length=_MAX_DAYS)] = ()


class FormerAddressPartRow(CopiedRow):
    slug: _Slug
    content_id: UUID
    left_at: datetime


class DeletedArticlePartRow(CopiedRow):
    content_id: UUID
    deleted_at: datetime


class LinkMarkRow(CopiedRow):
    mark: Annotated[str, Field(pattern="^[a-z2-7]{5}$")]
    post_id: UUID
    channel: _Line
    account: _Line


class LinkClicksRow(CopiedRow):
    mark: _Mark
    day: date
    clicks: _Count


class ShortLinkPartRow(CopiedRow):
    """A short link with its clicks; its code stays the same."""

    code: Annotated[str, Field(pattern="^[a-z2-7]{10}$")]
    content_id: UUID
    target: _Line
    title: _Line | None
    made_at: datetime
    link_marks: Annotated[tuple[LinkMarkRow, ...], Field(max_length=10_000)] = ()
    link_clicks: Annotated[tuple[LinkClicksRow, ...], Field(max_length=_MAX_DAYS)] = ()


class PublicationPartRow(CopiedRow):
    """An article at an external target. Once the account is connected again, corrections go to the same place."""

    content_id: UUID
    target: _Line
    kind: _Line
    account: _Line
    remote_id: _Line | None
    url: _Link | None
    slug: _Line | None
    cover: _Line | None
    state: Literal["published", "unpublished", "failed"]
    is_public: bool
    reason: _Line
    detail: _Line
    digest: _Line | None
    seen: _Line | None
    as_of: datetime | None
    made: _Count
    created_at: datetime
    changed_at: datetime


class SubscriberPartRow(CopiedRow):
    """A confirmed subscriber. Whoever has left is in no archive: only this installation can know the address again."""

    address: Annotated[str, Field(max_length=254), AfterValidator(_is_mail_address)]
    signed_up_at: datetime
    confirmed_at: datetime


class LogoPartRow(CopiedRow):
    """A logo's file; it is checked and drawn anew, as one that a person uploads."""

    body: Annotated[str, Field(pattern=r"^\\x[0-9a-f]+$", max_length=4_100_000)]
    """Hexadecimal, as PostgreSQL writes bytes: `\\x89504e47…`."""


@dataclass(frozen=True, slots=True)
class _ArrivingPage:
    row: PagePartRow
    article: RenderedArticle


def build_parts(orchestrator: DraftReader | None, urls: SiteUrls) -> tuple[BrandPart[Any], ...]:
    """In the order in which an import stores them. Pages can be imported only with the `orchestrator`, which has their articles."""

    async def prepare_pages(brand: str, rows: Sequence[PagePartRow]) -> StoreRows:
        if orchestrator is None:
            raise RefusalError(
                codes.ARTICLE_NOT_READ, "this service knows no orchestrator to read articles from"
            )
        pages: list[_ArrivingPage] = []
        for begin in range(0, len(rows), _AT_ONCE):
            some = rows[begin : begin + _AT_ONCE]
            pages += await asyncio.gather(*(_render(orchestrator, urls, brand, row) for row in some))
        return lambda connection: _store_pages(connection, brand, pages)

    async def prepare_logo(brand: str, rows: Sequence[LogoPartRow]) -> StoreRows:
        try:
            file = bytes.fromhex(rows[0].body.removeprefix("\\x"))
            logo, body = await asyncio.to_thread(normalised, file)
        except (UnusableLogoError, ValueError) as error:
            raise RefusalError(codes.INVALID_PICTURE, f"logos: {error}") from error

        async def store_logo(connection: Connection) -> int:
            await save_logo(connection, BrandSlug(brand), logo, body)
            return 1

        return store_logo

    async def prepare_subscribers(brand: str, rows: Sequence[SubscriberPartRow]) -> StoreRows:
        told = [(row.address, row.signed_up_at, row.confirmed_at) for row in rows]
        return lambda connection: import_subscribers(connection, brand, told)

    return (
        BrandPart("sites", "sites", SitePartRow),
        BrandPart("logos", "logos", LogoPartRow, prepare=prepare_logo),
        BrandPart(
            "pages",
            "pages",
            PagePartRow,
            key=("content_id",),
            dependents={"page_views": Dependent("page_views", ("content_id",), "day")},
            prepare=prepare_pages,
        ),
        BrandPart("former-pages", "former_addresses", FormerAddressPartRow, key=("slug",)),
        BrandPart("deleted-pages", "deleted_articles", DeletedArticlePartRow, key=("content_id",)),
        BrandPart(
            "short-links",
            "short_links",
            ShortLinkPartRow,
            key=("code",),
            dependents={
                "link_marks": Dependent("link_marks", ("content_id",), "mark"),
                "link_clicks": Dependent("link_clicks", ("content_id",), "day"),
            },
        ),
        BrandPart(
            "publications",
            "publications",
            PublicationPartRow,
            key=("content_id", "target"),
            order=("number",),
            # One that is being written has no outcome yet.
            where="t.state <> 'writing'",
        ),
        BrandPart(
            "subscribers",
            "newsletter_subscribers",
            SubscriberPartRow,
            order=("id",),
            where="t.state = 'confirmed'",
            prepare=prepare_subscribers,
        ),
    )


async def _render(orchestrator: DraftReader, urls: SiteUrls, brand: str, row: PagePartRow) -> _ArrivingPage:
    try:
        answer = await orchestrator.article(row.content_id)
    except (RetryLater, WaitFor) as error:
        raise RefusalError(
            codes.ARTICLE_NOT_READ, f"the article {row.content_id} cannot be read now: {error}"
        ) from error
    except Unprocessable as error:
        raise RefusalError(codes.UNKNOWN_ARTICLE, f"pages: article {row.content_id}: {error}") from error
    if not isinstance(answer, Fetched) or answer.article.brand.slug != brand:
        raise RefusalError(
            codes.UNKNOWN_ARTICLE,
            f"pages: {brand} has no article {row.content_id} at the orchestrator; import its articles first",
        )
    article = answer.article
    if not article.title or not article.brand.name:
        raise RefusalError(
            codes.UNKNOWN_ARTICLE, f"pages: the article {row.content_id} or its brand has no title"
        )
    home = Home(urls.origin, urls.site(BrandSlug(brand)), None)
    # In a thread, so that a long or hostile text delays only this request.
    markup = await asyncio.to_thread(
        to_html, article.body_markdown, frozenset(source.n for source in article.sources), home
    )
    wanted = article.model_copy(update={"slug": row.slug})
    return _ArrivingPage(row, RenderedArticle(wanted, markup, answer.etag))


async def _store_pages(connection: Connection, brand: str, pages: Sequence[_ArrivingPage]) -> int:
    """Stores the pages that are not here yet, with their dates and views."""
    known = await connection.fetch(
        "select content_id from pages where content_id = any ($1::uuid[])",
        [page.row.content_id for page in pages],
    )
    here = {each["content_id"] for each in known}
    new = [page for page in pages if page.row.content_id not in here]
    if not new:
        return 0
    slugs = await store.publish(connection, *(page.article for page in new))
    for page in new:
        if slugs[page.row.content_id] != page.row.slug:
            raise RefusalError(
                message_codes.ROWS_COLLIDE, f"pages: another page of {brand} has the address {page.row.slug}"
            )
    rows = [page.row.model_dump(mode="json") for page in new]
    await connection.execute(
        """
        update pages as p set (published_at, updated_at, taken_down_at, canonical_url)
            = (n.published_at, n.updated_at, n.taken_down_at, n.canonical_url)
        from jsonb_populate_recordset(null::pages, $1::text::jsonb) as n where p.content_id = n.content_id
        """,
        json.dumps([{name: value for name, value in row.items() if name != "page_views"} for row in rows]),
    )
    await connection.execute(
        "insert into page_views (content_id, day, views)"
        " select content_id, day, views from jsonb_populate_recordset(null::page_views, $1::text::jsonb)",
        json.dumps([{**day, "content_id": row["content_id"]} for row in rows for day in row["page_views"]]),
    )
    return len(new)
