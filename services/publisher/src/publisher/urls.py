"""The addresses of everything that the publisher serves."""

from dataclasses import dataclass
from typing import ClassVar, Final

from chassis.http.public import PublicUrls
from publisher.domain import BrandSlug, PageSlug

TAKEN: Final = frozenset({"docs", "health", "metrics", "redoc", "v1"})
"""First parts of paths that belong to operators on every host, hidden by proxies; no article can have such an address."""


@dataclass(frozen=True, slots=True)
class SiteUrls(PublicUrls):
    has_search: ClassVar[bool] = True

    own: BrandSlug | None = None
    """The brand whose site begins at the root of this origin."""

    def at(self, brand: BrandSlug, address: str | None) -> "SiteUrls":
        """The canonical addresses of the brand's site: at its own origin, if it has one, else here."""
        return self if address is None else SiteUrls(address, "", brand)

    def beginning(self, brand: BrandSlug) -> str:
        """The prefix of all addresses of the brand's site."""
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
        """The address of a short link, the same at every host: codes are unique across brands."""
        return f"{self.prefix}/s/{code}"

    def tag(self, brand: BrandSlug, tag: PageSlug, number: int = 1) -> str:
        first = f"{self.beginning(brand)}tags/{tag}"
        return first if number == 1 else f"{first}/page/{number}"

    def author(self, brand: BrandSlug, author: PageSlug) -> str:
        return f"{self.beginning(brand)}authors/{author}"

    def search(self, brand: BrandSlug) -> str:
        return f"{self.beginning(brand)}search/"

    def newsletter(self, brand: BrandSlug) -> str:
        """The page on which readers subscribe; its further pages are below it."""
        return f"{self.beginning(brand)}newsletter/"

    def cover(self, brand: BrandSlug, slug: PageSlug, file: str) -> str:
        """The address of a cover; `file` is its digest and format: `0123456789abcdef.png`."""
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
        """The address of the IndexNow key; engines accept it for all addresses below its folder."""
        return f"{self.beginning(brand)}{key}.txt"

    def feed(self, brand: BrandSlug) -> str:
        return f"{self.beginning(brand)}feed.xml"

    def rss(self, brand: BrandSlug) -> str:
        return f"{self.beginning(brand)}rss.xml"

    def sitemap(self, brand: BrandSlug, part: int | None = None) -> str:
        """The address of the site map, or of one of its parts; the first is 1."""
        return (
            f"{self.beginning(brand)}sitemap.xml"
            if part is None
            else f"{self.beginning(brand)}sitemap-{part}.xml"
        )

    def icon(self, brand: BrandSlug) -> str:
        return f"{self.beginning(brand)}favicon.svg"
