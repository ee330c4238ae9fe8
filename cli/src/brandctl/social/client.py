"""Client of social's API about posts, and helpers of its commands."""

from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

import typer

from brandctl.asking import ServiceClient


class PostsClient(ServiceClient):
    """A client of social; use it as a context manager. Every method may raise `ServiceError`."""

    service = "social"

    def page(self, **query: str | int | None) -> dict[str, Any]:
        return self._ask("GET", "/v1/posts", params=query)

    def post(self, post_id: UUID) -> dict[str, Any]:
        return self._ask("GET", f"/v1/posts/{post_id}")

    def rules(self, brand: str) -> dict[str, Any]:
        return self._ask("GET", f"/v1/brands/{brand}/channels")

    def set_rules(self, brand: str, channel: str, rules: dict[str, Any]) -> dict[str, Any]:
        return self._ask("PUT", f"/v1/brands/{brand}/channels/{channel}", json=rules)

    def remove_rules(self, brand: str, channel: str) -> None:
        self._ask("DELETE", f"/v1/brands/{brand}/channels/{channel}")

    def reach(self, brand: str, articles: list[str], *, after: int | None, limit: int) -> dict[str, Any]:
        query = {"article": articles, "limit": limit, "after": after}
        return self._ask("GET", f"/v1/brands/{brand}/reach", params=query)

    def decisions(self, post_id: UUID) -> dict[str, Any]:
        return self._ask("GET", f"/v1/posts/{post_id}/decisions")

    def decide(self, post_id: UUID, what: str, **body: Any) -> dict[str, Any]:
        return self._ask("POST", f"/v1/posts/{post_id}/{what}", json=body)


SocialUrl = Annotated[str | None, PostsClient.address_option()]
Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Its slug.")]


def moment(text: str) -> str:
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
