"""Provides the cover of an article to targets, as a file or as an address on the built-in site."""

from functools import partial

from messaging import Database
from publisher import logos, store
from publisher.covers import Cover, Covers, Format, picture_of
from publisher.domain import Article, BrandSlug
from publisher.targets.edition import CoverPicture
from publisher.urls import SiteUrls


class CoverPictures:
    def __init__(self, database: Database, covers: Covers, urls: SiteUrls) -> None:
        self._database = database
        self._covers = covers
        self._urls = urls

    async def of(self, article: Article) -> CoverPicture:
        brand = BrandSlug(article.brand.slug)
        async with self._database.connection() as connection:
            logo = await logos.logo(connection, brand)
            accent = await connection.fetchval(
                "select settings ->> 'accent' from site_settings where brand_slug = $1", brand
            )
            location = (await store.locate_pages(connection, [article.content_id])).get(article.content_id)
        page = None
        if location is not None and location.brand == brand and location.cover is not None:
            page = picture_of(self._urls, brand, location.slug, location.cover)
        cover = Cover.of(
            article.content_id,
            article.title,
            article.brand.name,
            brand,
            logo=logo.digest if logo else None,
            accent=accent,
            figure=location.cover.figure if location and location.cover else None,
        )
        return CoverPicture(
            name=f"cover-{cover.digest}",
            alternative_text=cover.alternative_text,
            url=page.url if page else None,
            draw=partial(self._covers.drawn, brand, cover, Format.LINK),
        )
