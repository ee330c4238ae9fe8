"""Where everything is found."""

from dataclasses import dataclass

from chassis.http.public.addresses import PublicUrls
from publisher.domain import BrandSlug, PageSlug


@dataclass(frozen=True, slots=True)
class SiteUrls(PublicUrls):
    def site(self, brand: BrandSlug) -> str:
        return f"{self.prefix}/sites/{brand}/"

    def listing(self, brand: BrandSlug, number: int) -> str:
        """The nth page of the list of articles; the first is the site itself."""
        return self.site(brand) if number == 1 else f"{self.site(brand)}page/{number}"

    def article(self, brand: BrandSlug, slug: PageSlug) -> str:
        return self.site(brand) + slug

    def cover(self, brand: BrandSlug, slug: PageSlug, file: str) -> str:
        """`file` is the digest of the cover and its format: `0123456789abcdef.png`."""
        return f"{self.site(brand)}covers/{slug}-{file}"

    def logo(self, brand: BrandSlug, digest: str) -> str:
        return f"{self.site(brand)}logo-{digest}.png"

    def feed(self, brand: BrandSlug) -> str:
        return f"{self.site(brand)}feed.xml"

    def sitemap(self, brand: BrandSlug) -> str:
        return f"{self.site(brand)}sitemap.xml"

    def icon(self, brand: BrandSlug) -> str:
        return f"{self.site(brand)}favicon.svg"
