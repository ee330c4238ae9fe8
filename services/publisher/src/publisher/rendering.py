"""Pages, feeds and site maps as text. Deterministic: the same rows and settings give the same bytes."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Final
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from chassis.http.public import Assets
from chassis.http.public.rendering import Home, accent_colour, iso, templates
from publisher import domain
from publisher.colours import parse, readable_on
from publisher.covers import Cover, Format
from publisher.domain import SLUG_PATTERN, ArticlePage, Author, BrandSlug, PageSlug, PageSummary, Site
from publisher.mailing_texts import texts_for
from publisher.markup import plain_text, sanitise
from publisher.site_search import RelatedArticles, Tag
from publisher.site_settings import menu_links, own_stylesheet
from publisher.urls import SiteUrls

_LINKED: Final = re.compile(r"<link [^>]*>\n?")

ASSETS: Final = Assets("publisher", "site.css", otherwise="public, max-age=60")


@dataclass(frozen=True, slots=True)
class ArticleListPage:
    """One page of a list of articles; numbers start at 1."""

    pages: tuple[PageSummary, ...]
    number: int
    total: int
    of_tag: Tag | None = None
    """None: the list contains all articles of the site."""


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A picture as a page describes it; width and height in pixels."""

    address: str
    absolute: str
    """Its absolute address."""
    width: int
    height: int
    alternative_text: str


class Renderer:
    """Renders pages with the addresses of `urls`; canonical addresses use the site's own origin if it has one."""

    def __init__(self, urls: SiteUrls) -> None:
        self._public = self._urls = urls
        self._moved_to: SiteUrls | None = None
        self._templates = templates("publisher", urls, ASSETS)
        self._templates.globals.update(
            direction=domain.direction,
            language_tag=domain.language_tag,
            list_picture=_list_picture,
            look=own_stylesheet,
            menu_links=menu_links,
            texts_for=texts_for,
            note_of=lambda page: domain.quotation_note(page.sources, page.label),
            share_links=share_links,
            source_address=domain.quoted_address,
        )
        self._templates.filters.update(
            long_date=_long_date,
            mail_date=_mail_date,
            minutes=domain.reading_minutes,
            folded=folded,
            safe_body=self._safe_body(urls),
            split_opening=split_opening,
            standfirst=lambda page: domain.standfirst(page.meta_description, plain_text(page.body_html)),
            source_list=lambda page: sorted(page.sources, key=lambda source: source.n),
        )

    def with_urls(self, urls: SiteUrls, canonical: SiteUrls | None = None) -> "Renderer":
        """A renderer for another set of addresses; canonical addresses change only if given."""
        seen = copy(self)
        seen._urls, seen._moved_to = urls, canonical or self._moved_to  # noqa: SLF001 - its own
        return seen

    def sites(self, sites: Sequence[Site]) -> str:
        addresses = {site.brand_slug: self._home(site) for site in sites}
        return self._render("sites.html.j2", sites=sites, addresses=addresses)

    def index(self, site: Site, listing: ArticleListPage, tags: Sequence[Tag]) -> str:
        return self._of_site("index.html.j2", site, listing=listing, tags=tags)

    def tag(self, site: Site, listing: ArticleListPage) -> str:
        return self._of_site("tag.html.j2", site, listing=listing, tag=listing.of_tag)

    def author(self, site: Site, author: Author, pages: Sequence[PageSummary]) -> str:
        return self._of_site("author.html.j2", site, author=author, pages=pages)

    def search(self, site: Site, wanted: str, pages: Sequence[PageSummary], *, are_all: bool) -> str:
        return self._of_site("search.html.j2", site, wanted=wanted, pages=pages, are_all=are_all)

    def article(self, site: Site, page: ArticlePage, related: RelatedArticles) -> str:
        cover = cover_of(site, page)
        return self._of_site(
            "article.html.j2",
            site,
            page=page,
            related=related,
            cover=self._picture(site, page, cover),
            json_ld=self._json_ld(site, page, cover, related.tags),
        )

    def preview(self, site: Site, page: ArticlePage, expires_at: datetime) -> str:
        """The page of a draft, hidden from search engines."""
        context: dict[str, object] = {"page": page, "related": RelatedArticles(), "cover": None}
        return self._of_site("preview.html.j2", site, expires_at=expires_at, **context)

    def draft_page(self, site: Site, page: ArticlePage) -> str:
        """The page of a draft in one document, with its styles and without links to anything that the site would have to serve."""
        context: dict[str, object] = {"page": page, "related": RelatedArticles(), "cover": None}
        return _in_one_document(self._of_site("draft_page.html.j2", site, **context), site)

    def front_page(self, site: Site, listing: ArticleListPage, tags: Sequence[Tag]) -> str:
        """The site's first page in one document, with its styles; pictures have the addresses that `urls` gives."""
        return _in_one_document(self.index(site, listing, tags), site)

    def subscription(self, site: Site, texts: Mapping[str, str], **told: object) -> str:
        """A page about subscribing to the newsletter; `step` says which."""
        return self._of_site("subscription.html.j2", site, texts=texts, **told)

    def newsletter(
        self,
        site: Site,
        page: ArticlePage,
        styled: Callable[[Markup], Markup],
        look: Mapping[str, str],
        leave: Mapping[str, str] | None = None,
    ) -> str:
        """The article for mail; `styled` adds inline styles, `look` has the colour `accent` and the fonts `serif` and `sans`.

        `leave` has the sentence `why`, and `link` and `url` of how to leave; without it, the mail service adds its own.
        """
        return self._for_elsewhere(
            "newsletter.html.j2",
            site,
            page=page,
            styled=styled,
            cover=self._picture(site, page, cover_of(site, page)),
            whole_addresses=True,
            leave=leave,
            **look,
        )

    def not_found(self, site: Site | None) -> str:
        home = None if site is None else Home(site.name, self._urls.site(site.brand_slug))
        return self._render("not_found.html.j2", site=site, home=home)

    def gone(self, site: Site) -> str:
        return self._render("gone.html.j2", site=site, home=Home(site.name, self._urls.site(site.brand_slug)))

    def moved(self, site: Site, slug: PageSlug) -> str:
        """A page that redirects, for hosts that cannot answer with a redirect status."""
        return self._of_site("moved.html.j2", site, slug=slug)

    def unavailable(self) -> str:
        return self._render("public/unavailable.html.j2", things="pages")

    def feed(self, site: Site, pages: Sequence[ArticlePage]) -> str:
        # An id that survives a move to another address, as Atom demands (RFC 4287, 4.2.6).
        feed_id = uuid5(NAMESPACE_URL, f"brand-engine:site:{site.brand_slug}").urn
        updated = max((page.updated_at for page in pages), default=site.changed_at)
        return self._for_elsewhere("feed.xml.j2", site, pages=pages, feed_id=feed_id, updated=updated)

    def rss(self, site: Site, pages: Sequence[ArticlePage]) -> str:
        updated = max((page.updated_at for page in pages), default=site.changed_at)
        return self._for_elsewhere("rss.xml.j2", site, pages=pages, updated=updated)

    def sitemap(
        self, site: Site, pages: Sequence[PageSummary], tags: Sequence[Tag] = (), *, has_home: bool = True
    ) -> str:
        """A site map, or a part of one: `has_home` adds the site's own page, its tags and its author."""
        return self._of_site("sitemap.xml.j2", site, pages=pages, tags=tags, has_home=has_home)

    def sitemap_of_parts(self, site: Site, parts: int) -> str:
        return self._of_site("sitemap_of_parts.xml.j2", site, parts=parts)

    def icon(self, site: Site) -> str:
        colour = site.accent or accent_colour(site.brand_slug)
        ink = "#" + bytes(readable_on(parse(colour))).hex()
        return self._render("favicon.svg.j2", letter=domain.initial(site.name), colour=colour, ink=ink)

    def robots(self, sites: Sequence[Site]) -> str:
        homes = [(self._canonical(site), site.brand_slug) for site in sites]
        maps = "".join(f"Sitemap: {home.absolute(home.sitemap(brand))}\n" for home, brand in homes)
        searches = "".join(
            f"Disallow: {self._urls.search(site.brand_slug)}\n" for site in sites if self._urls.has_search
        )
        return f"User-agent: *\nAllow: /\n{searches}\n{maps}" if maps else "User-agent: *\nAllow: /\n"

    def _canonical(self, site: Site) -> SiteUrls:
        return self._moved_to or self._public.at(site.brand_slug, site.settings.address)

    def _home(self, site: Site) -> str:
        home = self._canonical(site)
        return home.site(site.brand_slug) if home is self._urls else home.absolute(home.site(site.brand_slug))

    def _of_site(self, template: str, site: Site, **context: object) -> str:
        return self._render(template, site=site, canonical=self._canonical(site), **context)

    def _for_elsewhere(self, template: str, site: Site, **context: object) -> str:
        """Renders with absolute addresses, for readers outside the site."""
        home = self.with_urls(self._canonical(site))
        return Renderer._of_site(home, template, site, **context)

    def stylesheets(self, site: Site | None) -> list[str]:
        """The stylesheets that a page of the site needs."""
        own = own_stylesheet(site.settings) if site else None
        return [self._style(), *([self._urls.look(site.brand_slug, own.digest)] if site and own else [])]

    def _style(self) -> str:
        return self._urls.style(ASSETS.stylesheet, ASSETS.version(ASSETS.stylesheet))

    def _render(self, template: str, **context: object) -> str:
        return self._templates.get_template(template).render(
            urls=self._urls, style_url=self._style(), **context
        )

    def _json_ld(self, site: Site, page: ArticlePage, cover: Cover, tags: Sequence[Tag]) -> Markup:
        urls = self._canonical(site)
        address = urls.absolute(urls.article(site.brand_slug, page.slug))
        home = urls.absolute(urls.site(site.brand_slug))
        organisation: dict[str, object] = {"@type": "Organization", "name": site.name, "url": home}
        if site.logo:
            logo = urls.absolute(urls.logo(site.brand_slug, site.logo.digest))
            organisation["logo"] = {
                "@type": "ImageObject",
                "url": logo,
                "width": site.logo.width,
                "height": site.logo.height,
            }
        author = organisation
        if named := site.settings.author:
            about_author = urls.absolute(urls.author(site.brand_slug, named.slug))
            author = {"@type": "Person", "name": named.name, "url": about_author}
        document = {
            "@context": "https://schema.org",
            "@type": "Article",
            "headline": page.title,
            "image": [
                urls.absolute(urls.cover(site.brand_slug, page.slug, cover.file(format_)))
                for format_ in (Format.LINK, Format.PORTRAIT)
            ],
            "description": page.meta_description,
            "keywords": ", ".join([page.keyword, *(tag.name for tag in tags)]),
            "inLanguage": domain.language_tag(site.language),
            "wordCount": page.word_count,
            "datePublished": iso(page.published_at),
            "dateModified": iso(page.updated_at),
            "mainEntityOfPage": {"@type": "WebPage", "@id": address},
            "author": author,
            "publisher": organisation,
            "isPartOf": {"@type": "WebSite", "name": site.name, "url": home},
            "citation": [source.link or source.name for source in page.sources],
        }
        return Markup(json_in_html(document))  # noqa: S704 - json_in_html leaves nothing that HTML would read

    @staticmethod
    def _safe_body(public: SiteUrls) -> Callable[[Context, ArticlePage], Markup]:
        """The template filter that adapts stored links to pages of the site."""

        @pass_context
        def safe_body(context: Context, page: ArticlePage) -> Markup:
            urls: SiteUrls = context["urls"]
            brand: BrandSlug = context["site"].brand_slug
            link = re.compile(f'href="{re.escape(public.site(brand))}({SLUG_PATTERN.pattern})"')
            # Sanitised before storage and again here: a row changed by other means is as untrusted as its source.

            def address(match: re.Match[str]) -> str:
                path = urls.article(brand, PageSlug(match[1]))
                whole = urls.absolute(path) if context.get("whole_addresses") else path
                return f'href="{escape(whole)}"'

            body = link.sub(address, sanitise(page.body_html))
            return Markup(body)  # noqa: S704 - the output of the sanitiser, and addresses of ours

        return safe_body

    def _picture(self, site: Site, page: ArticlePage, cover: Cover) -> PagePicture:
        canonical, file = self._canonical(site), cover.file(Format.LINK)
        return PagePicture(
            self._urls.cover(site.brand_slug, page.slug, file),
            canonical.absolute(canonical.cover(site.brand_slug, page.slug, file)),
            *Format.LINK.size,
            cover.alternative_text,
        )


def _in_one_document(document: str, site: Site) -> str:
    own = own_stylesheet(site.settings)
    styles = ASSETS.texts[ASSETS.stylesheet] + ("" if own is None else f"\n{own.css}")
    # The styles are this program's own, so they cannot end the element. Links of a preview lead nowhere.
    added = f'<style>{styles}</style>\n<base target="_blank">\n</head>'
    return _LINKED.sub("", document).replace("</head>", added, 1)


def cover_of(site: Site, page: PageSummary) -> Cover:
    logo = site.logo.digest if site.logo else None
    return Cover.of(
        page.content_id,
        page.title,
        site.name,
        site.brand_slug,
        logo=logo,
        accent=site.accent,
        figure=page.figure,
    )


def _list_picture(site: Site, page: PageSummary, urls: SiteUrls) -> PagePicture:
    """The picture in lists: an ornament beside the headline, without words of its own."""
    address = urls.cover(site.brand_slug, page.slug, cover_of(site, page).file(Format.LIST))
    return PagePicture(address, address, *Format.LIST.size, "")


_MOST_ROWS: Final = 12
_MOST_LINES: Final = 30
_LONG: Final = re.compile(r"<(table|pre)>.*?</\1>", re.DOTALL)
_SECTION: Final = re.compile(r"<h2\b")


def folded(body: Markup) -> Markup:
    """Puts long tables and listings of a sanitised text behind a fold that opens without a script.

    Wide ones scroll, with the keyboard, too.
    """

    def fold(match: re.Match[str]) -> str:
        block, is_table = match[0].replace(">", ' tabindex="0">', 1), match[1] == "table"
        size = block.count("<tr>") - block.count("<thead>") if is_table else block.count("\n")
        if size <= (_MOST_ROWS if is_table else _MOST_LINES):
            return block
        told = f"Table of {size} rows" if is_table else f"Listing of {size} lines"
        return f'<details class="fold"><summary>{told}</summary>{block}</details>'

    return Markup(_LONG.sub(fold, body))  # noqa: S704 - sanitised, with elements of ours


def split_opening(body: Markup) -> tuple[Markup, Markup]:
    """The text before the first section, and the rest."""
    first = _SECTION.search(body)
    at = first.start() if first else len(body)
    return Markup(body[:at].rstrip()), Markup(body[at:])  # noqa: S704 - both of the text


def share_links(address: str, title: str) -> tuple[tuple[str, str], ...]:
    """Names and addresses of pages that share an article: plain links, which send nothing until a reader follows them."""
    both, one = f"{title} {address}", quote(address, safe="")
    return (
        ("Email", f"mailto:?subject={quote(title, safe='')}&body={one}"),
        ("Mastodon", f"https://share.joinmastodon.org/#text={quote(both, safe='')}"),
        ("Bluesky", f"https://bsky.app/intent/compose?text={quote(both, safe='')}"),
        ("LinkedIn", f"https://www.linkedin.com/sharing/share-offsite/?url={one}"),
        ("X", f"https://x.com/intent/post?url={one}&text={quote(title, safe='')}"),
    )


def json_in_html(document: object) -> str:
    """JSON that is safe inside a script element: it contains no tag, comment or entity."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _mail_date(moment: datetime) -> str:
    """A time in the format of RSS: `Wed, 01 Jul 2026 12:00:00 GMT`."""
    return format_datetime(moment.astimezone(UTC).replace(microsecond=0), usegmt=True)


def _long_date(moment: datetime) -> str:
    moment = moment.astimezone(UTC)
    return f"{moment.day} {moment:%B %Y}"
