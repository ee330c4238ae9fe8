"""Where things are found among files."""

from dataclasses import dataclass
from typing import ClassVar

from publisher.domain import BrandSlug, PageSlug
from publisher.urls import SiteUrls

_INDEX = "index.html"


@dataclass(frozen=True, slots=True)
class FileUrls(SiteUrls):
    """Of one brand's site. Without a page that is looked at (`here`) everything begins at the root of `origin` and `prefix`."""

    has_search: ClassVar[bool] = False

    here: str | None = None
    """`tags/espresso.html`: links lead from there."""

    @property
    def root(self) -> str:
        return f"{self.prefix}/" if self.here is None else "../" * self.here.count("/")

    def beginning(self, brand: BrandSlug) -> str:  # noqa: ARG002 - there is one
        return self.root

    def asset(self, name: str) -> str:
        return f"{self.root}assets/{name}"

    def style(self, name: str, version: str) -> str:  # noqa: ARG002 - all files are of one version
        return self.asset(name)

    def site(self, brand: BrandSlug) -> str:
        return self.beginning(brand) if self.here is None else self.beginning(brand) + _INDEX

    def listing(self, brand: BrandSlug, number: int) -> str:
        return self.site(brand) if number == 1 else f"{self.beginning(brand)}page/{number}.html"

    def article(self, brand: BrandSlug, slug: PageSlug) -> str:
        # No slug has an underscore, and one article may be called "index".
        return f"{self.beginning(brand)}{'index_' if slug == 'index' else slug}.html"

    def tag(self, brand: BrandSlug, tag: PageSlug, number: int = 1) -> str:
        first = f"{self.beginning(brand)}tags/{tag}"
        return f"{first}.html" if number == 1 else f"{first}/page/{number}.html"

    def author(self, brand: BrandSlug, author: PageSlug) -> str:
        return f"{self.beginning(brand)}authors/{author}.html"
