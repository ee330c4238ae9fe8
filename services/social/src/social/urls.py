"""Where everything is found."""

from dataclasses import dataclass
from uuid import UUID

from chassis.http.public import PublicUrls


@dataclass(frozen=True, slots=True)
class FeedUrls(PublicUrls):
    def feed(self, brand: str) -> str:
        return f"{self.prefix}/feeds/{brand}"

    def older(self, brand: str, than: UUID) -> str:
        return f"{self.feed(brand)}?before={than}"

    def post(self, brand: str, post_id: UUID) -> str:
        return f"{self.feed(brand)}/{post_id}"

    def atom(self, brand: str) -> str:
        return f"{self.feed(brand)}/feed.xml"
