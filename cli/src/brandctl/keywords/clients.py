"""Clients of the APIs that know a keyword's history."""

from http import HTTPStatus
from typing import Any, Final

from brandctl.asking import ServiceClient, ServiceError
from brandctl.listing import MOST_OF_A_PAGE

MOST_LETTERS: Final = 1_000
"""The most dead letters of one keyword."""


class KeywordsClient(ServiceClient):
    """A client of the orchestrator; use it as a context manager. Every method may raise `ServiceError`."""

    service = "orchestrator"

    def page(self, **query: str | int | None) -> dict[str, Any]:
        return self._ask("GET", "/v1/keywords", params=query)

    def content(self, content_id: str) -> dict[str, Any]:
        return self._known(f"/v1/content/{content_id}")

    def workflow(self, content_id: str) -> dict[str, Any]:
        return self._known(f"/v1/workflows/{content_id}")

    def decisions(self, content_id: str) -> list[dict[str, Any]]:
        return list(self._known(f"/v1/drafts/{content_id}/decisions").get("items", ()))

    def _known(self, path: str) -> dict[str, Any]:
        """Sends a GET request; returns an empty object for 404 and 410."""
        try:
            return self._ask("GET", path)
        except ServiceError as error:
            if error.status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
                return {}
            raise


class DeadLettersClient(ServiceClient):
    """A client of the monitor; use it as a context manager. Every method may raise `ServiceError`."""

    service = "monitor"

    def of_keyword(
        self, correlation_id: str, keyword: str, content_id: str | None
    ) -> tuple[list[dict[str, Any]], bool]:
        """Returns a cycle's dead letters that name the keyword or its article, latest first, and whether there are more.

        At most `MOST_LETTERS` are read, page by page.
        """
        query = {
            "correlation_id": correlation_id,
            "keyword": keyword,
            "content_id": content_id,
            "limit": MOST_OF_A_PAGE,
        }
        letters: list[dict[str, Any]] = []
        after = None
        while len(letters) < MOST_LETTERS:
            page = self._ask("GET", "/v1/dead-letters", params={**query, "after": after})
            letters += page["items"]
            after = page["next"]
            if after is None:
                break
        return letters, after is not None
