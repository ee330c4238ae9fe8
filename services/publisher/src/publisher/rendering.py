"""Pages, feeds and site maps as text. Deterministic: the same rows and settings give the same bytes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from markupsafe import Markup

from chassis.http.public.assets import Assets
from chassis.http.public.rendering import Home, accent_colour, iso, templates
from publisher import domain
from publisher.covers import Cover, Format
from publisher.domain import Page, PageSummary, Site
from publisher.markup import plain_text, sanitise
from publisher.urls import SiteUrls

ASSETS: Final = Assets("publisher", "site.css", otherwise="public, max-age=60")


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a site's list of articles; numbers start at 1."""

    pages: tuple[PageSummary, ...]
    number: int
    total: int


@dataclass(frozen=True, slots=True)
class Picture:
    """What a page says of a picture; width and height in pixels."""

    address: str
    width: int
    height: int
    alternative_text: str


class Renderer:
    def __init__(self, urls: SiteUrls) -> None:
        self._urls = urls
        self._templates = templates("publisher", urls, ASSETS)
        self._templates.globals.update(direction=domain.direction, language_tag=domain.language_tag)
        self._templates.filters.update(
            long_date=_long_date,
            minutes=domain.reading_minutes,
            safe_body=_safe_body,
            standfirst=lambda page: domain.standfirst(page.meta_description, plain_text(page.body_html)),
            source_list=lambda page: sorted(page.sources, key=lambda source: source.n),
        )

    def sites(self, sites: Sequence[Site]) -> str:
        return self._render("sites.html.j2", sites=sites)

    def index(self, site: Site, listing: Listing) -> str:
        return self._render("index.html.j2", site=site, listing=listing)

    def article(self, site: Site, page: Page, more: Sequence[PageSummary]) -> str:
        logo = site.logo.digest if site.logo else None
        cover = Cover.of(page.content_id, page.title, site.name, site.brand_slug, logo)
        address = self._urls.cover(site.brand_slug, page.slug, cover.file(Format.LINK))
        return self._render(
            "article.html.j2",
            site=site,
            page=page,
            more=more,
            cover=Picture(address, *Format.LINK.size, cover.alternative_text),
            json_ld=self._json_ld(site, page, cover),
        )

    def not_found(self, site: Site | None) -> str:
        home = None if site is None else Home(site.name, self._urls.site(site.brand_slug))
        return self._render("not_found.html.j2", site=site, home=home)

    def gone(self, site: Site) -> str:
        return self._render("gone.html.j2", site=site, home=Home(site.name, self._urls.site(site.brand_slug)))

    def unavailable(self) -> str:
        return self._render("public/unavailable.html.j2", things="pages")

    def feed(self, site: Site, pages: Sequence[Page]) -> str:
        # An identity that survives a move to another address, as Atom demands (RFC 4287, 4.2.6).
        feed_id = uuid5(NAMESPACE_URL, f"brand-engine:site:{site.brand_slug}").urn
        updated = max((page.updated_at for page in pages), default=site.changed_at)
        return self._render("feed.xml.j2", site=site, pages=pages, feed_id=feed_id, updated=updated)

    def sitemap(self, site: Site, pages: Sequence[PageSummary]) -> str:
        return self._render("sitemap.xml.j2", site=site, pages=pages)

    def icon(self, site: Site) -> str:
        return self._render(
            "favicon.svg.j2", letter=domain.initial(site.name), colour=accent_colour(site.brand_slug)
        )

    def robots(self, sites: Sequence[Site]) -> str:
        maps = "".join(f"Sitemap: {self._urls.absolute(self._urls.sitemap(s.brand_slug))}\n" for s in sites)
        return f"User-agent: *\nAllow: /\n\n{maps}" if maps else "User-agent: *\nAllow: /\n"

    def _render(self, template: str, **context: object) -> str:
        return self._templates.get_template(template).render(**context)

    def _json_ld(self, site: Site, page: Page, cover: Cover) -> Markup:
        address = self._urls.absolute(self._urls.article(site.brand_slug, page.slug))
        home = self._urls.absolute(self._urls.site(site.brand_slug))
        organisation: dict[str, object] = {"@type": "Organization", "name": site.name, "url": home}
        if site.logo:
            logo = self._urls.absolute(self._urls.logo(site.brand_slug, site.logo.digest))
            organisation["logo"] = {
                "@type": "ImageObject",
                "url": logo,
                "width": site.logo.width,
                "height": site.logo.height,
            }
        document = {
            "@context": "https://schema.org",
            "@type": "Article",
            "headline": page.title,
            "image": [self._image(site, page, cover, format_) for format_ in Format],
            "description": page.meta_description,
            "keywords": page.keyword,
            "inLanguage": domain.language_tag(site.language),
            "wordCount": page.word_count,
            "datePublished": iso(page.published_at),
            "dateModified": iso(page.updated_at),
            "mainEntityOfPage": {"@type": "WebPage", "@id": address},
            "author": organisation,
            "publisher": organisation,
            "isPartOf": {"@type": "WebSite", "name": site.name, "url": home},
            "citation": [source.link or source.name for source in page.sources],
        }
        return Markup(json_in_html(document))  # noqa: S704 - json_in_html leaves nothing that HTML would read

    def _image(self, site: Site, page: Page, cover: Cover, format_: Format) -> dict[str, object]:
        address = self._urls.cover(site.brand_slug, page.slug, cover.file(format_))
        width, height = format_.size
        return {
            "@type": "ImageObject",
            "url": self._urls.absolute(address),
            "width": width,
            "height": height,
            "encodingFormat": format_.media_type,
        }


def json_in_html(document: object) -> str:
    """JSON that can stand inside a script element: no tag, comment or entity can begin in it."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _safe_body(page: Page) -> Markup:
    # Sanitised when it was stored, and again here: a row that was changed by other means is as untrusted as its
    # source.
    return Markup(sanitise(page.body_html))  # noqa: S704 - the output of the sanitiser


def _long_date(moment: datetime) -> str:
    moment = moment.astimezone(UTC)
    return f"{moment.day} {moment:%B %Y}"
