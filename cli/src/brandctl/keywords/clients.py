"""What the services know of a keyword, as far as commands need it."""

from http import HTTPStatus
from typing import Any

from brandctl.asking import ServiceClient, ServiceError

MOST_LETTERS = 50
"""Dead letters of a cycle that are looked into for those of one keyword."""


class Keywords(ServiceClient):
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
        """An empty object of what is not there yet, or not any more."""
        try:
            return self._ask("GET", path)
        except ServiceError as error:
            if error.status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
                return {}
            raise


class DeadLetters(ServiceClient):
    """A client of the monitor; use it as a context manager. Every method may raise `ServiceError`."""

    service = "monitor"

    def of_keyword(self, correlation_id: str, keyword: str, content_id: str | None) -> list[dict[str, Any]]:
        """Those of a cycle whose message names the keyword or its article, the latest first; of the latest `MOST_LETTERS`."""
        query = {"correlation_id": correlation_id, "limit": MOST_LETTERS}
        letters = self._ask("GET", "/v1/dead-letters", params=query).get("items", ())
        found = [self._ask("GET", f"/v1/dead-letters/{letter['id']}") for letter in letters]
        return [letter for letter in found if _is_about(letter, keyword, content_id)]


def _is_about(letter: dict[str, Any], keyword: str, content_id: str | None) -> bool:
    body = letter.get("payload")
    about = body.get("payload") if isinstance(body, dict) else None
    if not isinstance(about, dict):
        return False
    return about.get("keyword") == keyword or (
        content_id is not None and about.get("content_id") == content_id
    )
