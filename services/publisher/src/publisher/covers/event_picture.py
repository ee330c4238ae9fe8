"""The cover of a page as the event `content.published` describes it."""

from typing import Final

from envelope.brand.payloads import Picture
from publisher.covers.cover import Cover, Format
from publisher.domain import BrandSlug, PageSlug
from publisher.urls import SiteUrls

_MOST_ALTERNATIVE_TEXT: Final = 1000


def picture_of(urls: SiteUrls, brand: BrandSlug, slug: PageSlug, cover: Cover) -> Picture:
    """The page's cover in both formats; the publisher draws a file at its first request."""
    address = {format_: urls.absolute(urls.cover(brand, slug, cover.file(format_))) for format_ in Format}
    width, height = Format.LINK.size
    return Picture(
        url=address[Format.LINK],
        alt=cover.alternative_text[:_MOST_ALTERNATIVE_TEXT],
        media_type=Format.LINK.media_type,
        width=width,
        height=height,
        jpeg_url=address[Format.PORTRAIT],
    )
