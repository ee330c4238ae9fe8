"""The publisher's HTTP API, as far as operators need it."""

from typing import Annotated, Any
from urllib.parse import quote

from brandctl.asking import ServiceClient


class Sites(ServiceClient):
    """A client of the publisher; use it as a context manager. Every method may raise `ServiceError`."""

    service = "publisher"

    def site(self, brand: str) -> dict[str, Any]:
        return self._ask("GET", _site(brand))

    def decide(self, brand: str, changes: dict[str, Any]) -> dict[str, Any]:
        return self._ask("PATCH", _site(brand), json=changes)

    def reset(self, brand: str) -> None:
        self._ask("DELETE", _site(brand))

    def views(self, brand: str, days: int) -> dict[str, Any]:
        return self._ask("GET", f"/v1/brands/{quote(brand, safe='')}/views", params={"days": days})


def _site(brand: str) -> str:
    return f"/v1/brands/{quote(brand, safe='')}/site"


PublisherUrl = Annotated[str | None, Sites.address_option()]
