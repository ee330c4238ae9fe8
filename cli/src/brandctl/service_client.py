"""A service's HTTP API, asked with the service key: what the clients of all commands have in common."""

from types import TracebackType
from typing import Any, ClassVar, Self

import httpx

from brandctl.access import Access


class ServiceError(RuntimeError):
    """A service cannot be reached, refused, or is another one; the message is for people."""


class ServiceClient:
    """To be subclassed for each service; use it as a context manager. Every method that asks may raise `error`."""

    service: ClassVar[str]
    """As sentences call it: `the monitor`."""
    error: ClassVar[type[ServiceError]]

    def __init__(self, access: Access) -> None:
        self._url = access.url.rstrip("/")
        try:
            # A proxy of the company cannot reach this machine's own addresses.
            local = httpx.URL(self._url).host in {"127.0.0.1", "::1", "localhost"}
            self._http = httpx.Client(headers={"X-Service-Key": access.key}, timeout=30, trust_env=not local)
        except (ValueError, httpx.InvalidURL) as error:
            raise self.error(f"the address of {self.service} or its key is malformed: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def _ask(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        """The JSON object that is answered; an empty one if there is nothing to say."""
        try:
            response = self._http.request(method, f"{self._url}{path}", **request)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self.error(f"{self.service} at {self._url} cannot be reached: {error}") from error
        if not response.is_success:
            raise self.error(f"{_detail(response)} (HTTP {response.status_code})")
        if response.status_code == httpx.codes.NO_CONTENT:
            return {}
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self._stranger()
        return answer

    def _stranger(self) -> ServiceError:
        return self.error(f"{self._url} does not answer like {self.service}; is the address right?")


def _detail(response: httpx.Response) -> str:
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return response.text[:500] or response.reason_phrase
