"""Where everything is found."""

from dataclasses import dataclass
from typing import ClassVar, Final

from chassis.http.public.addresses import PublicUrls
from publisher.domain import BrandSlug, PageSlug

TAKEN: Final = frozenset({"docs", "health", "metrics", "redoc", "v1"})
"""What the publisher has at the root of every host for those who run it, and proxies keep from visitors: no article can be there."""


@dataclass(frozen=True, slots=True)
class SiteUrls(PublicUrls):
    has_search: ClassVar[bool] = True

    own: BrandSlug | None = None
    """Whose site is all there is at this origin, so that it begins at the root."""

    def at(self, brand: BrandSlug, address: str | None) -> "SiteUrls":
        """Where the brand's site has its canonical addresses: at an origin of its own, if it has one, else here."""
        return self if address is None else SiteUrls(address, "", brand)

    def beginning(self, brand: BrandSlug) -> str:
        """Of all addresses of the brand's site."""
        return self.root if brand == self.own else f"{self.prefix}/sites/{brand}/"

    def site(self, brand: BrandSlug) -> str:
        return self.beginning(brand)

    def listing(self, brand: BrandSlug, number: int) -> str:
        """The nth page of the list of articles; the first is the site itself."""
        return self.site(brand) if number == 1 else f"{self.beginning(brand)}page/{number}"

    def article(self, brand: BrandSlug, slug: PageSlug) -> str:
        if brand == self.own and slug in TAKEN:
            return f"{self.beginning(brand)}articles/{slug}"
        return self.beginning(brand) + slug

    def short(self, code: str) -> str:
        """The same at every host: codes are of all brands."""
        return f"{self.prefix}/s/{code}"

    def tag(self, brand: BrandSlug, tag: PageSlug, number: int = 1) -> str:
        first = f"{self.beginning(brand)}tags/{tag}"
        return first if number == 1 else f"{first}/page/{number}"

    def author(self, brand: BrandSlug, author: PageSlug) -> str:
        return f"{self.beginning(brand)}authors/{author}"

    def search(self, brand: BrandSlug) -> str:
        return f"{self.beginning(brand)}search/"

    def cover(self, brand: BrandSlug, slug: PageSlug, file: str) -> str:
        """`file` is the digest of the cover and its format: `0123456789abcdef.png`."""
        return f"{self.beginning(brand)}covers/{slug}-{file}"

    def logo(self, brand: BrandSlug, digest: str) -> str:
        return f"{self.beginning(brand)}logo-{digest}.png"

    def look(self, brand: BrandSlug, digest: str) -> str:
        return f"{self.beginning(brand)}look-{digest}.css"

    def style(self, name: str, version: str) -> str:
        return f"{self.asset(name)}?v={version}"

    def preview(self, word: str) -> str:
        return f"{self.prefix}/preview/{word}"

    def engine_key(self, brand: BrandSlug, key: str) -> str:
        """A file whose key is good for all addresses of the site, as they begin where it is."""
        return f"{self.beginning(brand)}{key}.txt"

    def feed(self, brand: BrandSlug) -> str:
        return f"{self.beginning(brand)}feed.xml"

    def rss(self, brand: BrandSlug) -> str:
        return f"{self.beginning(brand)}rss.xml"

    def sitemap(self, brand: BrandSlug) -> str:
        return f"{self.beginning(brand)}sitemap.xml"

    def icon(self, brand: BrandSlug) -> str:
        return f"{self.beginning(brand)}favicon.svg"
