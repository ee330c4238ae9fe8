"""Relative addresses within exported files."""

from dataclasses import dataclass
from typing import ClassVar

from publisher.domain import BrandSlug, PageSlug
from publisher.urls import SiteUrls

_INDEX = "index.html"


@dataclass(frozen=True, slots=True)
class FileUrls(SiteUrls):
    """Addresses within one brand's exported site.

    `here` is the current file; without it, addresses begin at the root of `origin` and `prefix`.
    """

    has_search: ClassVar[bool] = False

    here: str | None = None
    """The file that contains the links: `tags/espresso.html`."""

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
        # Slugs have no underscore, so an article called "index" gets a name of its own.
        return f"{self.beginning(brand)}{'index_' if slug == 'index' else slug}.html"

    def tag(self, brand: BrandSlug, tag: PageSlug, number: int = 1) -> str:
        first = f"{self.beginning(brand)}tags/{tag}"
        return f"{first}.html" if number == 1 else f"{first}/page/{number}.html"

    def author(self, brand: BrandSlug, author: PageSlug) -> str:
        return f"{self.beginning(brand)}authors/{author}.html"
