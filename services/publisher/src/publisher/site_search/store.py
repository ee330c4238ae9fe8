"""Full-text queries on pages: each statement beside the function that runs it.

Database triggers store the words of each page (migration 0009): `topic` has those of title, keyword and headings,
`words` all of them. Queries compare word stems in the site's language.
"""

from dataclasses import dataclass, fields
from typing import Final

from chassis import Connection
from publisher.domain import BrandSlug, PageSlug, PageSummary, Site, tag_slug

_SUMMARY: Final = ", ".join(each.name for each in fields(PageSummary))
_SHOWN: Final = "brand_slug = $1 and taken_down_at is null"
_MOST_COMPARED: Final = 500
"""The most pages that one request ranks, on sites of any size."""
_NEWEST_COMPARED: Final = 2_000
"""Pages that may be related to another one: the newest, so that a site of any size answers as fast."""


@dataclass(frozen=True, slots=True)
class Tag:
    name: str
    slug: PageSlug
    pages: int
    """How many articles have the tag."""


async def search_pages(connection: Connection, site: Site, wanted: str, limit: int) -> list[PageSummary]:
    """Pages with all the words, best match first; accepts `"a phrase"`, `-without` and `this or that`."""
    rows = await connection.fetch(
        f"""
        with matching as (
            select {_SUMMARY}, words from pages
            where {_SHOWN} and words @@ websearch_to_tsquery(search_configuration($2), $3)
            order by published_at desc, content_id desc limit {_MOST_COMPARED})
        select {_SUMMARY} from matching
        order by ts_rank(words, websearch_to_tsquery(search_configuration($2), $3)) desc, published_at desc, content_id desc
        limit $4
        """,  # noqa: S608 - constants of this module
        site.brand_slug,
        site.language,
        wanted,
        limit,
    )
    return [PageSummary(**row) for row in rows]


async def related(connection: Connection, brand: BrandSlug, slug: PageSlug, limit: int) -> list[PageSummary]:
    """Pages of the newest ones that share words with this page's title and keyword, best match first."""
    rows = await connection.fetch(
        f"""
        with own as (
            select content_id, string_agg(quote_literal(lexeme), ' | ')::tsquery as wanted
            from pages, unnest(topic) as word (lexeme, positions, weights)
            where brand_slug = $1 and slug = $2 and 'A' = any (weights) group by content_id),
        newest as (
            select {_SUMMARY}, topic from pages where {_SHOWN}
            order by published_at desc, content_id desc limit {_NEWEST_COMPARED}),
        matching as (
            select newest.*, wanted from newest, own where newest.content_id <> own.content_id and topic @@ wanted
            order by published_at desc, content_id desc limit {_MOST_COMPARED})
        select {_SUMMARY} from matching
        order by ts_rank(topic, wanted) desc, published_at desc, content_id desc limit $3
        """,  # noqa: S608 - constants of this module
        brand,
        slug,
        limit,
    )
    return [PageSummary(**row) for row in rows]


async def pages_with_tag(
    connection: Connection, site: Site, tag: str, limit: int, offset: int
) -> tuple[int, list[PageSummary]]:
    """The number of pages with the tag, and one slice of them, newest first."""
    of_tag = f"{_SHOWN} and topic @@ plainto_tsquery(search_configuration($2), $3)"
    total: int = await connection.fetchval(
        f"select count(*) from pages where {of_tag}",  # noqa: S608 - constants of this module
        site.brand_slug,
        site.language,
        tag,
    )
    rows = await connection.fetch(
        f"select {_SUMMARY} from pages where {of_tag}"  # noqa: S608 - constants of this module
        " order by published_at desc, content_id desc limit $4 offset $5",
        site.brand_slug,
        site.language,
        tag,
        limit,
        offset,
    )
    return total, [PageSummary(**row) for row in rows]


async def tags_of_site(connection: Connection, site: Site) -> list[Tag]:
    """The site's tags that at least one article has, in the brand's order."""
    return await _tags(connection, site, _SHOWN)


async def tags_of_page(connection: Connection, site: Site, slug: PageSlug) -> list[Tag]:
    """The tags of this article; `pages` counts this article alone."""
    return await _tags(connection, site, f"{_SHOWN} and slug = $4", slug)


async def _tags(connection: Connection, site: Site, condition: str, *more: str) -> list[Tag]:
    if not site.settings.tags:
        return []
    rows = await connection.fetch(
        f"""
        -- Each tag is understood once, and not anew for each page.
        with named as materialized (
            select tag, place, plainto_tsquery(search_configuration($2), tag) as wanted
            from unnest($3::text[]) with ordinality as given (tag, place))
        select tag, count(*) as pages from named join pages on topic @@ wanted
        where {condition} group by tag, place order by place
        """,  # noqa: S608 - constants of this module
        site.brand_slug,
        site.language,
        list(site.settings.tags),
        *more,
    )
    return [Tag(row["tag"], tag_slug(row["tag"]), row["pages"]) for row in rows]
