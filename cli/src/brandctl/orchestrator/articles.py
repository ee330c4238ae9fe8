"""The orchestrator's articles of all cycles, as far as commands need them."""

from typing import Any

from brandctl.asking import ServiceClient


class ArticlesClient(ServiceClient):
    """A client of the orchestrator; use it as a context manager. Every method may raise `ServiceError`."""

    service = "orchestrator"

    def page(self, **query: str | int | None) -> dict[str, Any]:
        """One page of `GET /v1/articles`."""
        return self._ask("GET", "/v1/articles", params=query)
