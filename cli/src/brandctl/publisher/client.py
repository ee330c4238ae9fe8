"""The publisher's HTTP API, as far as operators need it."""

from typing import IO, Annotated, Any
from urllib.parse import quote
from uuid import UUID

import httpx

from brandctl.asking import ServiceClient, ServiceError


class Sites(ServiceClient):
    """A client of the publisher; use it as a context manager. Every method may raise `ServiceError`."""

    service = "publisher"

    def site(self, brand: str) -> dict[str, Any]:
        return self._ask("GET", _site(brand))

    def decide(self, brand: str, changes: dict[str, Any]) -> dict[str, Any]:
        return self._ask("PATCH", _site(brand), json=changes)

    def export(self, brand: str, to: IO[bytes], address: str | None) -> None:
        """Writes the archive as it comes. Pictures that nobody has asked for yet are drawn for it, which takes its time."""
        params = {} if address is None else {"address": address}
        try:
            with self._http.stream("GET", f"{self._url}{_site(brand)}/export", params=params) as response:
                if not response.is_success:
                    response.read()
                    raise self._refused(response)
                for part in response.iter_bytes():
                    to.write(part)
        except httpx.HTTPError as error:
            raise ServiceError(f"the site of {brand} could not be exported to its end: {error}") from error

    def newsletter(self, brand: str, article: str) -> str:
        path = f"/v1/brands/{quote(brand, safe='')}/articles/{quote(article, safe='')}/newsletter"
        return self._send("GET", path).text

    def preview(self, brand: str, content_id: UUID, hours: int) -> dict[str, Any]:
        path = f"/v1/brands/{quote(brand, safe='')}/previews"
        return self._ask("POST", path, json={"content_id": str(content_id), "hours": hours})

    def reset(self, brand: str) -> None:
        self._ask("DELETE", _site(brand))

    def views(self, brand: str, days: int) -> dict[str, Any]:
        return self._ask("GET", f"/v1/brands/{quote(brand, safe='')}/views", params={"days": days})


def _site(brand: str) -> str:
    return f"/v1/brands/{quote(brand, safe='')}/site"


PublisherUrl = Annotated[str | None, Sites.address_option()]
