"""The base of all clients of a service's HTTP API, and the options for its address and key.

A command takes `address_option()` of its client, `KeyFile` and, if it prints data, `AsJson`; then it calls the service:

    with MonitorClient.at(monitor_url, key_file) as monitor:
        letter = monitor.full(dead)

A failure raises a `CommandError`. Commands need not catch it: it ends them with its message and exit code.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, ClassVar, Self, TypeVar

import httpx
import typer
from pydantic import BaseModel, ValidationError
from typer.models import OptionInfo

from brandctl.access import ServiceAccess, find_access
from brandctl.errors import CommandError

KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        dir_okay=False,
        help="File that holds the service key, or an API key; else SERVICE_KEY.",
    ),
]
MAX_PAGE = 200
"""The most entries of a service's page."""
AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output, for scripts.")]

_Model = TypeVar("_Model", bound=BaseModel)


class ServiceError(CommandError):
    """A service cannot be reached, refuses the request, or answers like another service.

    Attributes:
        status: the HTTP status of a refusal; None of other errors.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class _ItemsPage(BaseModel):
    items: tuple[dict[str, Any], ...]
    next: int | str | None


class ServiceClient:
    """The base class of the clients; use it as a context manager. Every method that sends a request may raise `ServiceError`."""

    service: ClassVar[str]
    """The service's name; options, variables and messages contain it."""
    option: ClassVar[str | None] = None
    """The option for the address, if it is not `--<service>-url`."""

    def __init__(self, access: ServiceAccess) -> None:
        self._url = access.url.rstrip("/")
        try:
            # A company's proxy cannot reach this machine's own addresses.
            local = httpx.URL(self._url).host in {"127.0.0.1", "::1", "localhost"}
            self._http = httpx.Client(headers=_credentials(access.key), timeout=30, trust_env=not local)
        except (ValueError, httpx.InvalidURL) as error:
            raise ServiceError(
                f"the address of the {self.service} service or its key is malformed: {error}"
            ) from error

    @classmethod
    def at(cls, url: str | None, key_file: Path | None) -> Self:
        """Returns a client of the given service, or of the one that `find_access` finds.

        Raises:
            AccessError: its address or its key is unknown.
            ServiceError: the address or the key is malformed.
        """
        return cls(find_access(url, key_file, service=cls.service, option=cls.option))

    @classmethod
    def address_option(cls) -> OptionInfo:
        option: OptionInfo = typer.Option(
            f"--{cls.service}-url",
            envvar=f"{cls.service.upper()}_URL",
            help=f"Address of the {cls.service} service.",
        )
        return option

    @classmethod
    def help(cls) -> str:
        """The part of the help that all commands of the service share: address, key and exit codes."""
        return (
            f"Each command calls the {cls.service} service. The address comes from --{cls.service}-url or"
            f" {cls.service.upper()}_URL, and the key\nthrough SERVICE_KEY or --key-file; beside a local run,"
            " `.local/endpoints.json` holds both.\n\n"
            "Exit codes: 0 done, 1 nothing found or something failed, 2 wrong usage."
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def _ask(
        self, method: str, path: str, *, params: Mapping[str, Any] | None = None, **request: Any
    ) -> dict[str, Any]:
        """Sends a request and returns the JSON object of the answer, empty for 204. Parameters that are None are left out."""
        return self._object(self._send(method, path, params=params, **request))

    def _send(
        self, method: str, path: str, *, params: Mapping[str, Any] | None = None, **request: Any
    ) -> httpx.Response:
        """Sends a request and returns the successful answer."""
        given = {name: value for name, value in (params or {}).items() if value is not None}
        try:
            response = self._http.request(method, f"{self._url}{path}", params=given, **request)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ServiceError(
                f"the {self.service} service at {self._url} cannot be reached: {error}"
            ) from error
        if not response.is_success:
            raise self._refused(response)
        return response

    @staticmethod
    def _refused(response: httpx.Response) -> ServiceError:
        return ServiceError(f"{_detail(response)} (HTTP {response.status_code})", response.status_code)

    def _object(self, response: httpx.Response) -> dict[str, Any]:
        if response.status_code == httpx.codes.NO_CONTENT:
            return {}
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self._stranger()
        return answer

    def _pages(self, path: str, params: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yields the answers page by page; the parameter `after` says where the first page begins."""
        after = params.get("after")
        while True:
            answer = self._ask("GET", path, params={**params, "after": after})
            yield answer
            if (after := self._read(_ItemsPage, answer).next) is None:
                return

    def _entries(
        self, path: str, params: Mapping[str, Any], *, limit: int, cursor: str = "after"
    ) -> dict[str, Any]:
        """Reads up to `limit` entries page by page and returns them as one answer; `next` is the cursor of the rest."""
        items: list[Any] = []
        following = params.get(cursor)
        while True:
            asked = {**params, cursor: following, "limit": min(limit - len(items), MAX_PAGE)}
            answer = self._ask("GET", path, params=asked)
            page = self._read(_ItemsPage, answer)
            items += page.items
            following = page.next
            if following is None or len(items) >= limit or len(page.items) < asked["limit"]:
                return {**answer, "items": items}

    def _read(self, model: type[_Model], answer: dict[str, Any]) -> _Model:
        """Validates the answer as a model."""
        try:
            return model.model_validate(answer)
        except ValidationError as error:
            raise self._stranger() from error

    def _stranger(self) -> ServiceError:
        return ServiceError(f"{self._url} does not answer like the {self.service} service: check the address")


def _credentials(key: str) -> dict[str, str]:
    """The header for a key: API keys begin with `be_`, any other key is the service key."""
    return {"Authorization": f"Bearer {key}"} if key.startswith("be_") else {"X-Service-Key": key}


def _detail(response: httpx.Response) -> str:
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return response.text[:500] or response.reason_phrase
