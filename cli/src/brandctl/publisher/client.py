"""Client of the publisher's API for operators."""

from typing import IO, Annotated, Any
from urllib.parse import quote
from uuid import UUID

import httpx

from brandctl.asking import ServiceClient, ServiceError


class SitesClient(ServiceClient):
    """A client of the publisher; use it as a context manager. Every method may raise `ServiceError`."""

    service = "publisher"

    def site(self, brand: str) -> dict[str, Any]:
        return self._ask("GET", _site(brand))

    def decide(self, brand: str, changes: dict[str, Any]) -> dict[str, Any]:
        return self._ask("PATCH", _site(brand), json=changes)

    def export(self, brand: str, to: IO[bytes], address: str | None) -> None:
        """Streams the archive into a file. The publisher draws missing pictures for it, which takes time."""
        params = {} if address is None else {"address": address}
        try:
            with self._http.stream("GET", f"{self._url}{_site(brand)}/export", params=params) as response:
                if not response.is_success:
                    response.read()
                    raise self._refused(response)
                for part in response.iter_bytes():
                    to.write(part)
        except httpx.HTTPError as error:
            raise ServiceError(f"the site of {brand} was not exported completely: {error}") from error

    def newsletter(self, brand: str, article: str) -> str:
        path = f"{_brand(brand)}/articles/{quote(article, safe='')}/newsletter"
        return self._send("GET", path).text

    def preview(self, brand: str, content_id: UUID, hours: int) -> dict[str, Any]:
        return self._ask(
            "POST", f"{_brand(brand)}/previews", json={"content_id": str(content_id), "hours": hours}
        )

    def reset(self, brand: str) -> None:
        self._ask("DELETE", _site(brand))

    def views(self, brand: str, days: int) -> dict[str, Any]:
        return self._ask("GET", f"{_brand(brand)}/views", params={"days": days})

    def indexnow(self, brand: str) -> dict[str, Any]:
        return self._ask("GET", f"{_site(brand)}/indexnow")

    def turn_indexnow(self, brand: str, *, on: bool) -> None:
        self._ask("PUT" if on else "DELETE", f"{_site(brand)}/indexnow")

    def targets(self, brand: str) -> dict[str, Any]:
        return self._ask("GET", f"{_brand(brand)}/targets")

    def target(self, brand: str, target: str) -> dict[str, Any]:
        return self._ask("GET", _target(brand, target))

    def set_target(self, brand: str, target: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Replaces the settings; those left out take their defaults."""
        return self._ask("PUT", _target(brand, target), json=settings)

    def reset_target(self, brand: str, target: str) -> None:
        self._ask("DELETE", _target(brand, target))

    def publications(self, brand: str, *, after: int | None, limit: int) -> dict[str, Any]:
        return self._ask("GET", f"{_brand(brand)}/publications", params={"after": after, "limit": limit})

    def logo(self, brand: str) -> dict[str, Any]:
        return self._ask("GET", f"{_brand(brand)}/logo")

    def set_logo(self, brand: str, picture: bytes) -> dict[str, Any]:
        return self._ask("PUT", f"{_brand(brand)}/logo", content=picture)

    def remove_logo(self, brand: str) -> None:
        self._ask("DELETE", f"{_brand(brand)}/logo")

    def measures(self, brand: str, **query: str | int | None) -> dict[str, Any]:
        return self._ask("GET", f"{_brand(brand)}/measures", params=query)


def _brand(brand: str) -> str:
    return f"/v1/brands/{quote(brand, safe='')}"


def _site(brand: str) -> str:
    return f"{_brand(brand)}/site"


def _target(brand: str, target: str) -> str:
    return f"{_brand(brand)}/targets/{quote(target, safe='')}"


PublisherUrl = Annotated[str | None, SitesClient.address_option()]
