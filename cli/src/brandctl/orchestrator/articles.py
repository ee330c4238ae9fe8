"""Client of the orchestrator's API about the articles of all cycles."""

from typing import Any

from brandctl.asking import ServiceClient


class ArticlesClient(ServiceClient):
    """A client of the orchestrator; use it as a context manager. Every method may raise `ServiceError`."""

    service = "orchestrator"

    def page(self, **query: str | int | None) -> dict[str, Any]:
        """Returns one page of `GET /v1/articles`."""
        return self._ask("GET", "/v1/articles", params=query)
