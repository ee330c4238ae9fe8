"""Where everything is found. Paths start with the path of PUBLIC_URL, for a proxy may serve us below one."""

from dataclasses import dataclass
from urllib.parse import urlsplit
from uuid import UUID


@dataclass(frozen=True, slots=True)
class FeedUrls:
    origin: str  # "https://example.org"
    prefix: str  # "" or "/social"

    @classmethod
    def under(cls, public_url: str) -> "FeedUrls":
        parts = urlsplit(public_url)
        return cls(f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/"))

    def absolute(self, path: str) -> str:
        return self.origin + path

    @property
    def root(self) -> str:
        return f"{self.prefix}/"

    def asset(self, name: str) -> str:
        return f"{self.prefix}/assets/{name}"

    def feed(self, brand: str) -> str:
        return f"{self.prefix}/feeds/{brand}"

    def older(self, brand: str, than: UUID) -> str:
        return f"{self.feed(brand)}?before={than}"

    def post(self, brand: str, post_id: UUID) -> str:
        return f"{self.feed(brand)}/{post_id}"

    def atom(self, brand: str) -> str:
        return f"{self.feed(brand)}/feed.xml"
