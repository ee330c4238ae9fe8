"""Sites and pages in the publisher's database: each statement beside the function that runs it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from asyncpg import Record
from pydantic import TypeAdapter

from chassis import Connection
from publisher.domain import (
    Article,
    BrandSlug,
    Logo,
    Page,
    PageSlug,
    PageSummary,
    Plate,
    Section,
    Site,
    SiteSettings,
    Source,
    free_slug,
    language_tag,
    wanted_slug,
)
from publisher.markup import MARKUP_VERSION, Markup

_SECTIONS = TypeAdapter(tuple[Section, ...])
_SOURCES = TypeAdapter(tuple[Source, ...])

_SUMMARY = "content_id, slug, title, meta_description, word_count, published_at, updated_at"
_PAGE = f"{_SUMMARY}, keyword, body_html, sections, sources, cited, label, taken_down_at, canonical_url"


@dataclass(frozen=True, slots=True)
class Publication:
    """An article ready to be stored: read, checked and rendered."""

    article: Article
    markup: Markup
    etag: str | None


async def known_etag(
    connection: Connection, content_id: UUID, brand: BrandSlug, canonical_url: str | None = None
) -> str | None:
    """The entity tag of the article as it was last published for the brand, unless it has to be rendered anew, or its home is elsewhere now."""
    value = await connection.fetchval(
        """
        select content_etag from pages
        where content_id = $1 and brand_slug = $2 and markup_version = $3 and canonical_url is not distinct from $4
        """,
        content_id,
        brand,
        MARKUP_VERSION,
        canonical_url,
    )
    return None if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an article is found, and which state of it is shown there."""

    slug: PageSlug
    as_of: datetime
    """The article's `updated_at`."""
    address: str | None
    """The origin of its own that the site has, if any."""


async def place_of(connection: Connection, content_id: UUID, brand: BrandSlug) -> Place | None:
    row = await connection.fetchrow(
        """
        select slug, content_updated_at, address from pages left join site_settings using (brand_slug)
        where content_id = $1 and brand_slug = $2
        """,
        content_id,
        brand,
    )
    return None if row is None else Place(PageSlug(row["slug"]), row["content_updated_at"], row["address"])


@dataclass(frozen=True, slots=True)
class Former:
    """What became of the page that was at an address once."""

    moved_to: PageSlug | None
    """None: it was deleted."""


async def former(connection: Connection, brand: BrandSlug, slug: PageSlug) -> Former | None:
    """None if there never was a page at this address, or if there is one."""
    row = await connection.fetchrow(
        """
        select pages.slug from former_addresses as former left join pages using (content_id, brand_slug)
        where former.brand_slug = $1 and former.slug = $2
        """,
        brand,
        slug,
    )
    return None if row is None else Former(row["slug"] and PageSlug(row["slug"]))


async def moves(connection: Connection, brand: BrandSlug, limit: int) -> list[tuple[PageSlug, PageSlug]]:
    """Former addresses of pages that can be seen, and their addresses now; those that were left last first."""
    rows = await connection.fetch(
        """
        select former.slug as before, pages.slug as now from former_addresses as former join pages using (content_id, brand_slug)
        where former.brand_slug = $1 and taken_down_at is null order by left_at desc, former.slug limit $2
        """,
        brand,
        limit,
    )
    return [(PageSlug(row["before"]), PageSlug(row["now"])) for row in rows]


async def is_deleted(connection: Connection, article: Article) -> bool:
    """Whether the article was deleted while it was read; if not, nobody deletes it before the transaction ends."""
    await _lock_deleting(connection, article.content_id)
    return bool(
        await connection.fetchval(
            "select exists (select from deleted_articles where content_id = $1)", article.content_id
        )
    )


async def delete(connection: Connection, content_id: UUID, brand: BrandSlug) -> bool:
    """Removes the page with its pictures, and has no other be made of the article; its addresses lead nowhere and stay its own.

    Returns:
        Whether there was a page.
    """
    await _lock_deleting(connection, content_id)
    await connection.execute(
        "insert into deleted_articles (content_id, brand_slug) values ($1, $2) on conflict do nothing",
        content_id,
        brand,
    )
    removed = await connection.fetchval(
        """
        with removed as (
            delete from pages where content_id = $1 and brand_slug = $2 returning brand_slug, slug, content_id),
        left_behind as (
            insert into former_addresses (brand_slug, slug, content_id) select * from removed)
        update sites set changed_at = clock_timestamp() where brand_slug = (select brand_slug from removed)
        returning true
        """,
        content_id,
        brand,
    )
    return removed is True


async def _lock_deleting(connection: Connection, content_id: UUID) -> None:
    await connection.execute(
        "select pg_advisory_xact_lock(hashtextextended('publisher.article.' || $1::text, 0))", str(content_id)
    )


async def publish(connection: Connection, publication: Publication) -> PageSlug:
    """Stores the page, in the caller's transaction, and returns where it is found on the brand's site.

    An article that asks for another address than before gets it, and the one before leads there from then on. An older
    version of the article than the stored one changes nothing.
    """
    # The site's row lock is held to the end: of two articles that want one address, the second sees what the first got.
    site_changed = await _save_site(connection, publication.article)
    before, slug = await _address(connection, publication.article)
    if before is not None and before != slug:
        await _move(connection, publication.article, before, slug)
    await _save_page(connection, slug, publication, site_changed=site_changed)
    return slug


async def _save_site(connection: Connection, article: Article) -> bool:
    """Whether anything about the site changed; its row is locked either way."""
    changed = await connection.fetchval(
        """
        insert into sites as site (brand_slug, name, description, language) values ($1, $2, $3, $4)
        on conflict (brand_slug) do update
            set (name, description, language) = (excluded.name, excluded.description, excluded.language)
            where (site.name, site.description, site.language)
                  is distinct from (excluded.name, excluded.description, excluded.language)
        returning true
        """,
        article.brand.slug,
        article.brand.name,
        article.brand.description,
        language_tag(article.brand.language),
    )
    return bool(changed)


async def _address(connection: Connection, article: Article) -> tuple[PageSlug | None, PageSlug]:
    """The page's address until now, if it has one, and from now on: what the article asks for, or the next that is free.

    What another article has, or had once, is not free.
    """
    brand, wanted = BrandSlug(article.brand.slug), wanted_slug(article)
    row = await connection.fetchrow(
        "select slug, content_updated_at > $2 as is_newer from pages where content_id = $1",
        article.content_id,
        article.updated_at,
    )
    own = None
    if row is not None:
        own = PageSlug(row["slug"])
        if own == wanted or row["is_newer"]:
            return own, own
    taken = await connection.fetch(
        """
        select slug from (
            select slug, content_id from pages where brand_slug = $1
            union all
            select slug, content_id from former_addresses where brand_slug = $1
        ) as known
        where content_id <> $3 and (slug = $2 or starts_with(slug, $2 || '-'))
        """,
        brand,
        wanted,
        article.content_id,
    )
    return own, free_slug(wanted, {each["slug"] for each in taken})


async def _move(connection: Connection, article: Article, before: PageSlug, slug: PageSlug) -> None:
    """Has the address before lead to the page, and the new one, if that led there, be its own again."""
    await connection.execute(
        "delete from former_addresses where brand_slug = $1 and slug = $2", article.brand.slug, slug
    )
    await connection.execute(
        "insert into former_addresses (brand_slug, slug, content_id) values ($1, $2, $3)",
        article.brand.slug,
        before,
        article.content_id,
    )


async def _save_page(
    connection: Connection, slug: PageSlug, publication: Publication, *, site_changed: bool
) -> None:
    """Stores the page, and the time of the site's change if a reader would see a difference."""
    article, markup = publication.article, publication.markup
    await connection.execute(
        """
        with before as (select updated_at from pages where content_id = $1), saved as (
        insert into pages as page (content_id, brand_slug, slug, keyword, title, meta_description, body_html,
            sections, sources, cited, label, word_count, content_etag, content_updated_at, markup_version)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
        on conflict (content_id) do update set
            (slug, keyword, title, meta_description, body_html, sections, sources, cited, label, word_count,
             content_etag, content_updated_at, markup_version, taken_down_at)
          = (excluded.slug, excluded.keyword, excluded.title, excluded.meta_description, excluded.body_html, excluded.sections,
             excluded.sources, excluded.cited, excluded.label, excluded.word_count,
             excluded.content_etag, excluded.content_updated_at, excluded.markup_version, null),
            updated_at = case
                when (page.slug, page.keyword, page.title, page.meta_description, page.body_html, page.sections, page.sources,
                      page.cited, page.label, page.word_count, page.taken_down_at)
                  is distinct from
                     (excluded.slug, excluded.keyword, excluded.title, excluded.meta_description, excluded.body_html,
                      excluded.sections, excluded.sources, excluded.cited, excluded.label, excluded.word_count, null)
                then clock_timestamp() else page.updated_at end
        where page.content_updated_at <= excluded.content_updated_at
        returning page.updated_at is distinct from (select before.updated_at from before) as changed)
        update sites set changed_at = clock_timestamp()
        where brand_slug = $2 and ($16 or (select changed from saved))
        """,
        article.content_id,
        article.brand.slug,
        slug,
        article.keyword,
        article.title,
        article.meta_description,
        markup.html,
        _as_json(markup.sections),
        _as_json(article.sources),
        sorted(markup.cited),
        article.label,
        article.word_count,
        publication.etag,
        article.updated_at,
        MARKUP_VERSION,
        site_changed,
    )


async def note_home(connection: Connection, article: Article, canonical_url: str | None) -> None:
    """Which address the article's page names as the canonical one; None: its own."""
    await connection.execute(
        """
        update pages set canonical_url = $2, updated_at = clock_timestamp()
        where content_id = $1 and canonical_url is distinct from $2
        """,
        article.content_id,
        canonical_url,
    )


async def take_down(connection: Connection, article: Article) -> bool:
    """Has the article's page no longer be shown, in the caller's transaction; it is again once the article is published anew.

    Nothing changes if a newer state of the article was published meanwhile.

    Returns:
        Whether there is such a page, in whatever state.
    """
    taken = await connection.fetchval(
        """
        update pages set taken_down_at = clock_timestamp(), content_etag = null, content_updated_at = $3
        where content_id = $1 and brand_slug = $2 and content_updated_at <= $3 and taken_down_at is null returning true
        """,
        article.content_id,
        article.brand.slug,
        article.updated_at,
    )
    if taken:
        await connection.execute(
            "update sites set changed_at = clock_timestamp() where brand_slug = $1", article.brand.slug
        )
    return await place_of(connection, article.content_id, BrandSlug(article.brand.slug)) is not None


def _as_json(models: Sequence[Section] | Sequence[Source]) -> str:
    return json.dumps([model.model_dump(mode="json") for model in models], ensure_ascii=False)


async def sites(connection: Connection, limit: int) -> list[Site]:
    """By name."""
    rows = await connection.fetch(
        """
        select brand_slug, name, description, language, sites.changed_at,
               (select count(*) from pages where pages.brand_slug = sites.brand_slug and taken_down_at is null) as pages,
               settings::text
        from sites left join site_settings using (brand_slug) order by lower(name), brand_slug limit $1
        """,
        limit,
    )
    return [Site(**{**row, "settings": _settings(row["settings"])}) for row in rows]


async def site(connection: Connection, brand: BrandSlug) -> Site | None:
    row = await connection.fetchrow(
        """
        select brand_slug, name, description, language, sites.changed_at,
               (select count(*) from pages where pages.brand_slug = sites.brand_slug and taken_down_at is null) as pages,
               logos.digest, logos.width, logos.height, logos.plate, settings::text
        from sites left join logos using (brand_slug) left join site_settings using (brand_slug) where brand_slug = $1
        """,
        brand,
    )
    if row is None:
        return None
    values = dict(row)
    digest, width, height, plate = (values.pop(name) for name in ("digest", "width", "height", "plate"))
    logo = None if digest is None else Logo(digest, width, height, plate and Plate(plate))
    return Site(**{**values, "settings": _settings(row["settings"])}, logo=logo)


async def page(connection: Connection, brand: BrandSlug, slug: PageSlug) -> Page | None:
    row = await connection.fetchrow(
        f"select {_PAGE} from pages where brand_slug = $1 and slug = $2",  # noqa: S608 - names of columns only
        brand,
        slug,
    )
    return None if row is None else _page(row)


async def newest(connection: Connection, brand: BrandSlug, limit: int, offset: int = 0) -> list[PageSummary]:
    """Newest first."""
    rows = await connection.fetch(
        f"select {_SUMMARY} from pages where brand_slug = $1 and taken_down_at is null"  # noqa: S608 - names of columns only
        " order by published_at desc, content_id desc limit $2 offset $3",
        brand,
        limit,
        offset,
    )
    return [PageSummary(**row) for row in rows]


async def newest_in_full(connection: Connection, brand: BrandSlug, limit: int) -> list[Page]:
    """Newest first, with their text."""
    rows = await connection.fetch(
        f"select {_PAGE} from pages where brand_slug = $1 and taken_down_at is null"  # noqa: S608 - names of columns only
        " order by published_at desc, content_id desc limit $2",
        brand,
        limit,
    )
    return [_page(row) for row in rows]


def _settings(stored: str | None) -> SiteSettings:
    return SiteSettings() if stored is None else SiteSettings.model_validate_json(stored)


def _page(row: Record) -> Page:
    values: dict[str, Any] = dict(row)
    return Page(
        **{
            **values,
            "sections": _SECTIONS.validate_json(values["sections"]),
            "sources": _SOURCES.validate_json(values["sources"]),
            "cited": frozenset(values["cited"]),
        }
    )
