"""Clients of the calendar APIs of social and the orchestrator."""

from typing import Any
from urllib.parse import quote
from uuid import UUID

from brandctl.asking import ServiceClient


class _CalendarClient(ServiceClient):
    def entries(self, brand: str, limit: int, **query: str | None) -> tuple[list[dict[str, Any]], bool]:
        """Returns the first `limit` entries, and whether there are more."""
        found: list[dict[str, Any]] = []
        for page in self._pages("/v1/calendar", {"brand": brand, "limit": min(limit, 200), **query}):
            found += page["items"]
            if len(found) >= limit:
                return found[:limit], len(found) > limit or page["next"] is not None
        return found, False

    def file(self, brand: str, **query: str | None) -> str:
        """Returns the calendar as iCalendar text."""
        return self._send("GET", "/v1/calendar.ics", params={"brand": brand, **query}).text


class CalendarArticlesClient(_CalendarClient):
    """A client of the orchestrator; use it as a context manager. Every method may raise `ServiceError`."""

    service = "orchestrator"

    def draft(self, content_id: UUID) -> dict[str, Any]:
        return self._ask("GET", f"/v1/drafts/{content_id}")

    def decide(self, content_id: UUID, what: str, **body: Any) -> dict[str, Any]:
        """Posts the decision `approve` or `unschedule`."""
        return self._ask("POST", f"/v1/drafts/{content_id}/{what}", json=body)


class CalendarPostsClient(_CalendarClient):
    """A client of social; use it as a context manager. Every method may raise `ServiceError`."""

    service = "social"

    def entry(self, post_id: UUID) -> dict[str, Any]:
        return self._ask("GET", f"/v1/calendar/{post_id}")

    def post(self, post_id: UUID) -> dict[str, Any]:
        return self._ask("GET", f"/v1/posts/{post_id}")

    def decide(self, post_id: UUID, what: str, **body: Any) -> dict[str, Any]:
        """Posts the decision `approve` or `unschedule`."""
        return self._ask("POST", f"/v1/posts/{post_id}/{what}", json=body)

    def move(self, post_id: UUID, **to: Any) -> dict[str, Any]:
        """Moves a post to the time `at`, to `now`, or with neither into the next free slot."""
        return self._ask("PUT", f"/v1/calendar/{post_id}", json=to)

    def put(self, post_id: UUID, what: str) -> dict[str, Any]:
        """Posts `first` or `call-off` for an entry of a queue."""
        return self._ask("POST", f"/v1/calendar/{post_id}/{what}")

    def all_slots(self, brand: str) -> dict[str, Any]:
        return self._ask("GET", f"/v1/brands/{quote(brand, safe='')}/accounts")

    def slots(self, brand: str, account: str) -> dict[str, Any]:
        return self._ask("GET", self._account(brand, account, "slots"))

    def set_slots(self, brand: str, account: str, rules: dict[str, Any]) -> dict[str, Any]:
        return self._ask("PUT", self._account(brand, account, "slots"), json=rules)

    def remove_slots(self, brand: str, account: str) -> None:
        self._send("DELETE", self._account(brand, account, "slots"))

    def order(self, brand: str, account: str, post_ids: list[UUID]) -> dict[str, Any]:
        ids = [str(each) for each in post_ids]
        return self._ask("PUT", self._account(brand, account, "queue"), json={"post_ids": ids})

    def repeat(self, place: str, rule: dict[str, Any]) -> dict[str, Any]:
        return self._ask("PUT", f"{place}/repeats", json=rule)

    def repeat_no_more(self, place: str) -> None:
        self._send("DELETE", f"{place}/repeats")

    @staticmethod
    def _account(brand: str, account: str, what: str) -> str:
        return f"/v1/brands/{quote(brand, safe='')}/accounts/{quote(account, safe='')}/{what}"
