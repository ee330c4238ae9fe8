"""Where everything is found. Paths start with the path of PUBLIC_URL, for a proxy may serve us below one."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from publisher.domain import BrandSlug, PageSlug


@dataclass(frozen=True, slots=True)
class SiteUrls:
    origin: str  # "https://example.org"
    prefix: str  # "" or "/news"

    @classmethod
    def under(cls, public_url: str) -> "SiteUrls":
        parts = urlsplit(public_url)
        return cls(f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/"))

    def absolute(self, path: str) -> str:
        return self.origin + path

    @property
    def root(self) -> str:
        return f"{self.prefix}/"

    def asset(self, name: str) -> str:
        return f"{self.prefix}/assets/{name}"

    def site(self, brand: BrandSlug) -> str:
        return f"{self.prefix}/sites/{brand}/"

    def listing(self, brand: BrandSlug, number: int) -> str:
        """The nth page of the list of articles; the first is the site itself."""
        return self.site(brand) if number == 1 else f"{self.site(brand)}page/{number}"

    def article(self, brand: BrandSlug, slug: PageSlug) -> str:
        return self.site(brand) + slug

    def feed(self, brand: BrandSlug) -> str:
        return f"{self.site(brand)}feed.xml"

    def sitemap(self, brand: BrandSlug) -> str:
        return f"{self.site(brand)}sitemap.xml"

    def icon(self, brand: BrandSlug) -> str:
        return f"{self.site(brand)}favicon.svg"
