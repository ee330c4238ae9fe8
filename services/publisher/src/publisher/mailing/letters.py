"""An article as a letter: HTML with inline styles, and the same as plain text."""

import re
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from markupsafe import Markup, escape

from chassis import Connection
from chassis.http.public.rendering import accent_colour
from publisher import store
from publisher.domain import BrandSlug, PageSlug, standfirst
from publisher.mailing_texts import texts_for
from publisher.markup import plain_text, sanitise
from publisher.newsletters import SANS, SERIF, with_styles
from publisher.rendering import Renderer
from publisher.site_settings import readable_by_day
from publisher.urls import SiteUrls

LEAVE: Final = "https://leave.invalid/0c9d1f"
"""Stands for each subscriber's own link."""
_MOST_HTML: Final = 400_000
_MOST_TEXT: Final = 150_000
_MOST_SUBJECT: Final = 300
_END: Final = re.compile(r"</(?:p|h[2-6]|li|tr|pre|blockquote)>")


@dataclass(frozen=True, slots=True)
class Letter:
    subject: str
    text: str
    html: str | None


async def letter_of(
    connection: Connection, renderer: Renderer, urls: SiteUrls, brand: BrandSlug, content_id: UUID
) -> Letter | None:
    """The letter of an article; None if its page is not visible."""
    site = await store.site(connection, brand)
    slug = await connection.fetchval(
        "select slug from pages where content_id = $1 and brand_slug = $2 and taken_down_at is null",
        content_id,
        brand,
    )
    page = await store.page(connection, brand, PageSlug(slug)) if slug else None
    if site is None or page is None:
        return None
    address = urls.absolute(urls.article(brand, page.slug))
    texts = texts_for(site.language)
    why = texts["letter_why"].format(name=site.name)
    accent = readable_by_day(site.accent or accent_colour(brand))

    def styled(body: Markup) -> Markup:
        return Markup(with_styles(body, accent, str(escape(address))))  # noqa: S704 - of the sanitiser, with styles of ours

    look = {"accent": accent, "serif": SERIF, "sans": SANS}
    leave = {"why": why, "link": texts["letter_leave"], "url": LEAVE}
    html = renderer.newsletter(site, page, styled, look, leave)
    opening = standfirst(page.meta_description, plain_text(page.body_html))
    blocks = [plain_text(block) for block in _END.split(sanitise(page.body_html))]
    text = "\n\n".join(block for block in (opening or "", *blocks) if block)[:_MOST_TEXT]
    end = f"{address}\n\n-- \n{why}\n{texts['letter_leave']}: {LEAVE}\n"
    subject = page.title.strip()[:_MOST_SUBJECT] or site.name
    return Letter(subject, f"{page.title}\n\n{text}\n\n{end}", html if len(html) <= _MOST_HTML else None)
