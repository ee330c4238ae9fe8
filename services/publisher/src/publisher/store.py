"""Sites and pages in the publisher's database: each statement beside the function that runs it."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from asyncpg import Record
from pydantic import TypeAdapter

from chassis import Connection
from publisher.covers import Cover, cover_of_row
from publisher.domain import (
    PAGE_TEXTS,
    Article,
    ArticlePage,
    BrandSlug,
    CitedSource,
    Logo,
    LogoBackground,
    PageSection,
    PageSlug,
    PageSummary,
    Site,
    SiteSettings,
    free_slug,
    label_for_readers,
    language_tag,
    wanted_slug,
)
from publisher.markup import MARKUP_VERSION, Markup

_SECTIONS = TypeAdapter(tuple[PageSection, ...])
_SOURCES = TypeAdapter(tuple[CitedSource, ...])

_SUMMARY: Final = ", ".join(each.name for each in fields(PageSummary))
_PAGE: Final = ", ".join(each.name for each in fields(ArticlePage))
_SEEN: Final = ("slug", *PAGE_TEXTS, "body_html", "sections", "cited", "figure")
"""The columns of a page that readers see."""
_STORED: Final = (*_SEEN, "content_etag", "content_updated_at", "markup_version")


def _listed(columns: Sequence[str], table: str) -> str:
    return ", ".join(f"{table}.{column}" for column in columns)


@dataclass(frozen=True, slots=True)
class RenderedArticle:
    """An article ready for storage: read, checked and rendered."""

    article: Article
    markup: Markup
    etag: str | None


class PublishCommand(NamedTuple):
    """The parts of a command that select what to publish."""

    content_id: UUID
    brand: BrandSlug
    canonical_url: str | None


@dataclass(frozen=True, slots=True)
class ExistingArticle:
    """The stored state of an article before the publisher reads it."""

    etag: str | None
    """The entity tag at its last publication for the brand; None if it must be read again, for a new rendering or another home."""
    address: str | None
    """The site's own origin, if the brand has set one."""
    erased_at: datetime | None
    """When a brand of this name was last erased."""


async def find_existing(
    connection: Connection, asked: Sequence[PublishCommand]
) -> dict[PublishCommand, ExistingArticle]:
    # Pages of other brands do not count: reading the article again shows its brand.
    rows = await connection.fetch(
        """
        select asked.content_id, brand, asked.canonical_url, content_etag, address,
               (select max(asked_at) from erased_brands as erased where erased.brand_slug = brand) as erased_at
        from unnest($1::uuid[], $2::text[], $3::text[]) as asked (content_id, brand, canonical_url)
            left join pages on pages.content_id = asked.content_id and pages.brand_slug = brand and markup_version = $4
                and pages.canonical_url is not distinct from asked.canonical_url
            left join site_settings on site_settings.brand_slug = brand
        """,
        [each.content_id for each in asked],
        [each.brand for each in asked],
        [each.canonical_url for each in asked],
        MARKUP_VERSION,
    )
    return {
        PublishCommand(row["content_id"], row["brand"], row["canonical_url"]): ExistingArticle(
            row["content_etag"], row["address"], row["erased_at"]
        )
        for row in rows
    }


@dataclass(frozen=True, slots=True)
class PageLocation:
    """The address of an article's page, and the version that it shows."""

    brand: BrandSlug
    slug: PageSlug
    as_of: datetime
    """The article's `updated_at`."""
    address: str | None
    """The site's own origin, if the brand has set one."""
    canonical_url: str | None
    cover: Cover | None
    """None while the page is taken down."""
    tags: tuple[str, ...]


async def locate_pages(connection: Connection, content_ids: Collection[UUID]) -> dict[UUID, PageLocation]:
    """The pages of the articles; leaves out articles without one."""
    rows = await connection.fetch(
        """
        select content_id, pages.brand_slug, slug, content_updated_at, address, canonical_url, taken_down_at is not null as is_down,
               title, name, logos.digest as logo, settings ->> 'accent' as accent, figure,
               array(select tag from jsonb_array_elements_text(settings -> 'tags') with ordinality as given (tag, place)
                     where topic @@ plainto_tsquery(search_configuration(sites.language), tag) order by place) as tags
        from pages join sites using (brand_slug) left join logos using (brand_slug) left join site_settings using (brand_slug)
        where content_id = any ($1::uuid[])
        """,
        list(content_ids),
    )
    return {row["content_id"]: _place(row) for row in rows}


def _place(row: Record) -> PageLocation:
    brand = BrandSlug(row["brand_slug"])
    return PageLocation(
        brand=brand,
        slug=PageSlug(row["slug"]),
        as_of=row["content_updated_at"],
        address=row["address"],
        canonical_url=row["canonical_url"],
        cover=None if row["is_down"] else cover_of_row(brand, row),
        tags=tuple(row["tags"]),
    )


@dataclass(frozen=True, slots=True)
class FormerAddress:
    """A former address of a page."""

    moved_to: PageSlug | None
    """The page's current slug; None if the page was deleted."""


async def find_former(connection: Connection, brand: BrandSlug, slug: PageSlug) -> FormerAddress | None:
    """The former page at this address; None if there never was one, or if there is one now."""
    row = await connection.fetchrow(
        """
        select pages.slug from former_addresses as former left join pages using (content_id, brand_slug)
        where former.brand_slug = $1 and former.slug = $2
        """,
        brand,
        slug,
    )
    return None if row is None else FormerAddress(row["slug"] and PageSlug(row["slug"]))


async def list_moves(connection: Connection, brand: BrandSlug, limit: int) -> list[tuple[PageSlug, PageSlug]]:
    """Former addresses of visible pages with the current ones; the most recently left first."""
    rows = await connection.fetch(
        """
        select former.slug as before, pages.slug as now from former_addresses as former join pages using (content_id, brand_slug)
        where former.brand_slug = $1 and taken_down_at is null order by left_at desc, former.slug limit $2
        """,
        brand,
        limit,
    )
    return [(PageSlug(row["before"]), PageSlug(row["now"])) for row in rows]


async def find_deleted(connection: Connection, content_ids: Collection[UUID]) -> set[UUID]:
    """The articles that were deleted so far. The others cannot be deleted before the transaction ends."""
    await _lock_deleting(connection, content_ids)
    rows = await connection.fetch(
        "select content_id from deleted_articles where content_id = any ($1::uuid[])", list(content_ids)
    )
    return {row["content_id"] for row in rows}


async def delete(connection: Connection, content_id: UUID, brand: BrandSlug) -> bool:
    """Removes the page with its pictures, and prevents another page of the article; its addresses stay reserved.

    Returns:
        Whether there was a page.
    """
    await _lock_deleting(connection, [content_id])
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


async def _lock_deleting(connection: Connection, content_ids: Collection[UUID]) -> None:
    # The same order everywhere avoids deadlocks between two batches.
    await connection.execute(
        "select pg_advisory_xact_lock(hashtextextended('publisher.article.' || each, 0)) from unnest($1::text[]) as each",
        sorted(map(str, content_ids)),
    )


async def publish(connection: Connection, *publications: RenderedArticle) -> dict[UUID, PageSlug]:
    """Stores the pages in the caller's transaction; returns their slugs.

    If an article's slug changes, its former address redirects to the new one. An older version than the stored one changes
    nothing. Of several versions of one article, the latest counts.
    """
    latest: dict[UUID, RenderedArticle] = {}
    for each in publications:
        other = latest.get(each.article.content_id)
        if other is None or other.article.updated_at <= each.article.updated_at:
            latest[each.article.content_id] = each
    wanted = list(latest.values())
    # Locks the sites' rows to the end: if two articles claim one address, the second sees the first one's.
    changed_sites = await _save_sites(connection, [each.article for each in wanted])
    slugs = await _addresses(connection, [each.article for each in wanted])
    await _save_pages(connection, slugs, wanted, changed_sites)
    return slugs


async def _save_sites(connection: Connection, articles: Sequence[Article]) -> set[str]:
    """Stores the articles' brands; returns the brands that changed. Locks the rows of all."""
    # The last article's description of its brand counts, as if they came one after another.
    brands = {article.brand.slug: article.brand for article in articles}
    ordered = [brands[slug] for slug in sorted(brands)]
    rows = await connection.fetch(
        """
        insert into sites as site (brand_slug, name, description, language)
        select * from unnest($1::text[], $2::text[], $3::text[], $4::text[])
        on conflict (brand_slug) do update
            set (name, description, language) = (excluded.name, excluded.description, excluded.language)
            where (site.name, site.description, site.language)
                  is distinct from (excluded.name, excluded.description, excluded.language)
        returning brand_slug
        """,
        [brand.slug for brand in ordered],
        [brand.name for brand in ordered],
        [brand.description for brand in ordered],
        [language_tag(brand.language) for brand in ordered],
    )
    return {row["brand_slug"] for row in rows}


async def _addresses(connection: Connection, articles: Sequence[Article]) -> dict[UUID, PageSlug]:
    """The pages' slugs from now on: the article's own, or the next free one.

    Slugs that another article has or had are not free.
    """
    wanted = {article.content_id: wanted_slug(article) for article in articles}
    rows = await connection.fetch(
        """
        select asked.content_id, pages.slug as own, coalesce(pages.content_updated_at > asked.updated_at, false) as is_newer,
               exists (select from pages as other where (other.brand_slug, other.slug) = (asked.brand, asked.slug)
                       and other.content_id <> asked.content_id)
               or exists (select from former_addresses as other where (other.brand_slug, other.slug) = (asked.brand, asked.slug)
                       and other.content_id <> asked.content_id) as is_taken
        from unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[]) as asked (content_id, brand, slug, updated_at)
            left join pages on pages.content_id = asked.content_id
        """,
        [article.content_id for article in articles],
        [article.brand.slug for article in articles],
        [wanted[article.content_id] for article in articles],
        [article.updated_at for article in articles],
    )
    found = {row["content_id"]: row for row in rows}
    given: set[tuple[str, str]] = set()
    slugs: dict[UUID, PageSlug] = {}
    for article in articles:
        row, brand, slug = found[article.content_id], article.brand.slug, wanted[article.content_id]
        if row["own"] is not None and (row["own"] == slug or row["is_newer"]):
            slug = PageSlug(row["own"])
        elif row["is_taken"] or (brand, slug) in given:
            slug = free_slug(
                slug, await _taken_slugs(connection, article, slug) | {s for b, s in given if b == brand}
            )
        if row["own"] is not None and row["own"] != slug:
            await _move_page(connection, article, PageSlug(row["own"]), slug)
        given.add((brand, slug))
        slugs[article.content_id] = slug
    return slugs


async def _taken_slugs(connection: Connection, article: Article, wanted: PageSlug) -> set[str]:
    """Slugs similar to the wanted one that other articles have or had."""
    rows = await connection.fetch(
        """
        select slug from (
            select slug, content_id from pages where brand_slug = $1
            union all
            select slug, content_id from former_addresses where brand_slug = $1
        ) as known
        where content_id <> $3 and (slug = $2 or starts_with(slug, $2 || '-'))
        """,
        article.brand.slug,
        wanted,
        article.content_id,
    )
    return {row["slug"] for row in rows}


async def _move_page(connection: Connection, article: Article, before: PageSlug, slug: PageSlug) -> None:
    """Redirects the former address to the page; if the new one was a redirect, the page takes it back."""
    await connection.execute(
        "delete from former_addresses where brand_slug = $1 and slug = $2", article.brand.slug, slug
    )
    await connection.execute(
        "insert into former_addresses (brand_slug, slug, content_id) values ($1, $2, $3)",
        article.brand.slug,
        before,
        article.content_id,
    )


async def _save_pages(
    connection: Connection,
    slugs: Mapping[UUID, PageSlug],
    publications: Sequence[RenderedArticle],
    changed_sites: Collection[str],
) -> None:
    """Stores the pages, and updates the sites' time of change if readers would see a difference."""
    ordered = sorted(publications, key=lambda each: each.article.content_id)
    columns = ("content_id", "brand_slug", *_STORED)
    await connection.execute(
        f"""
        with before as (select content_id, updated_at from pages where content_id = any ($1::uuid[])), saved as (
        insert into pages as page ({", ".join(columns)})
        select {", ".join(columns)} from json_populate_recordset(null::pages, $2::text::json)
        on conflict (content_id) do update set
            ({", ".join(_STORED)}, taken_down_at) = ({_listed(_STORED, "excluded")}, null),
            updated_at = case
                when ({_listed(_SEEN, "page")}, page.taken_down_at) is distinct from ({_listed(_SEEN, "excluded")}, null)
                then clock_timestamp() else page.updated_at end
        where page.content_updated_at <= excluded.content_updated_at
        returning page.content_id, page.brand_slug, page.updated_at)
        update sites set changed_at = clock_timestamp()
        where brand_slug in (
            select unnest($3::text[])
            union all
            select saved.brand_slug from saved left join before using (content_id)
            where saved.updated_at is distinct from before.updated_at)
        """,  # noqa: S608 - names of columns only
        [each.article.content_id for each in ordered],
        json.dumps([_row(each, slugs[each.article.content_id]) for each in ordered], ensure_ascii=False),
        list(changed_sites),
    )


def _row(publication: RenderedArticle, slug: PageSlug) -> dict[str, Any]:
    """The page's columns as JSON values."""
    article, markup = publication.article, publication.markup
    return {
        **article.model_dump(mode="json", include=set(PAGE_TEXTS)),
        "content_id": str(article.content_id),
        "brand_slug": article.brand.slug,
        "slug": slug,
        "body_html": markup.html,
        "sections": [section.model_dump(mode="json") for section in markup.sections],
        "cited": sorted(markup.cited),
        "figure": markup.figure,
        "content_etag": publication.etag,
        "content_updated_at": article.updated_at.isoformat(),
        "markup_version": MARKUP_VERSION,
    }


async def set_canonical_urls(connection: Connection, homes: Mapping[UUID, str | None]) -> None:
    """Stores the canonical addresses of pages; None: their own."""
    # First the sites, as in `publish`: in another order, two transactions could wait for each other.
    await connection.execute(
        """
        update sites set changed_at = clock_timestamp() where brand_slug in (
            select brand_slug from unnest($1::uuid[], $2::text[]) as home (content_id, url) join pages using (content_id)
            where canonical_url is distinct from home.url)
        """,
        list(homes),
        list(homes.values()),
    )
    await connection.execute(
        """
        update pages set canonical_url = home.url, updated_at = clock_timestamp()
        from unnest($1::uuid[], $2::text[]) as home (content_id, url)
        where pages.content_id = home.content_id and canonical_url is distinct from home.url
        """,
        list(homes),
        list(homes.values()),
    )


async def take_down(connection: Connection, article: Article) -> bool:
    """Hides the article's page in the caller's transaction, until it is published again.

    Changes nothing if a newer version was published meanwhile.

    Returns:
        Whether the article has a page, hidden or not.
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
    place = (await locate_pages(connection, [article.content_id])).get(article.content_id)
    return place is not None and place.brand == article.brand.slug


async def sites(connection: Connection, limit: int) -> list[Site]:
    """Sites ordered by name."""
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


async def site(connection: Connection, brand: BrandSlug, *, with_count: bool = False) -> Site | None:
    """A brand's site; its pages are counted only `with_count`, as every request of a visitor reads the site."""
    row = await connection.fetchrow(
        """
        select brand_slug, name, description, language, sites.changed_at,
               case when $2 then (
                   select count(*) from pages where pages.brand_slug = sites.brand_slug and taken_down_at is null) else 0 end as pages,
               logos.digest, logos.width, logos.height, logos.plate, settings::text,
               exists (select from newsletters where newsletters.brand_slug = sites.brand_slug) as has_newsletter
        from sites left join logos using (brand_slug) left join site_settings using (brand_slug) where brand_slug = $1
        """,
        brand,
        with_count,
    )
    if row is None:
        return None
    values = dict(row)
    digest, width, height, plate = (values.pop(name) for name in ("digest", "width", "height", "plate"))
    logo = None if digest is None else Logo(digest, width, height, plate and LogoBackground(plate))
    return Site(**{**values, "settings": _settings(row["settings"])}, logo=logo)


async def page(connection: Connection, brand: BrandSlug, slug: PageSlug) -> ArticlePage | None:
    row = await connection.fetchrow(
        f"select {_PAGE} from pages where brand_slug = $1 and slug = $2",  # noqa: S608 - names of columns only
        brand,
        slug,
    )
    return None if row is None else _page(row)


async def newest(connection: Connection, brand: BrandSlug, limit: int, offset: int = 0) -> list[PageSummary]:
    """Visible pages, newest first."""
    rows = await connection.fetch(
        f"select {_SUMMARY} from pages where brand_slug = $1 and taken_down_at is null"  # noqa: S608 - names of columns only
        " order by published_at desc, content_id desc limit $2 offset $3",
        brand,
        limit,
        offset,
    )
    return [PageSummary(**row) for row in rows]


async def oldest(connection: Connection, brand: BrandSlug, limit: int, offset: int) -> list[PageSummary]:
    """Visible pages, oldest first, so that a new one changes the last slice alone."""
    rows = await connection.fetch(
        f"select {_SUMMARY} from pages where brand_slug = $1 and taken_down_at is null"  # noqa: S608 - names of columns only
        " order by published_at, content_id limit $2 offset $3",
        brand,
        limit,
        offset,
    )
    return [PageSummary(**row) for row in rows]


async def newest_in_full(connection: Connection, brand: BrandSlug, limit: int) -> list[ArticlePage]:
    """Visible pages with their text, newest first."""
    rows = await connection.fetch(
        f"select {_PAGE} from pages where brand_slug = $1 and taken_down_at is null"  # noqa: S608 - names of columns only
        " order by published_at desc, content_id desc limit $2",
        brand,
        limit,
    )
    return [_page(row) for row in rows]


def _settings(stored: str | None) -> SiteSettings:
    return SiteSettings() if stored is None else SiteSettings.model_validate_json(stored)


def _page(row: Record) -> ArticlePage:
    values: dict[str, Any] = dict(row)
    return ArticlePage(
        **{
            **values,
            "sections": _SECTIONS.validate_json(values["sections"]),
            "sources": _SOURCES.validate_json(values["sources"]),
            "cited": frozenset(values["cited"]),
            "label": values["label"] and label_for_readers(values["label"]),
        }
    )
