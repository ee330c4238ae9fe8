"""The monitor's HTTP API, as an operator's command uses it."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import quote
from uuid import UUID

import httpx
from pydantic import BaseModel, ConfigDict, JsonValue

ENDPOINTS: Final = Path(".local/endpoints.json")
"""Where a local run tells its addresses: `{"monitor_url": …, "service_key_file": …}`."""

MAX_BULK: Final = 500


class AccessError(RuntimeError):
    """It is not known where the monitor is, or with which key it may be asked; the message says what to give."""


class MonitorError(RuntimeError):
    """The monitor cannot be reached or refused; the message is for people."""


class DeadLetter(BaseModel):
    """One dead message as the API shows it; fields that only `show` needs stay in the raw answer."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: UUID
    queue: str
    type: str | None
    reason: str
    exception_type: str | None
    detail: str
    attempts: int
    failed_at: datetime
    state: str
    replayable: bool
    replay_event_id: UUID | None
    replaced_by: UUID | None
    resolution: str | None

    @property
    def died_again(self) -> bool:
        return self.replaced_by is not None


@dataclass(frozen=True, slots=True)
class Page:
    items: list[dict[str, JsonValue]]
    next: str | None
    matching: int
    open: int
    now: str

    def dead_letters(self) -> list[DeadLetter]:
        return [DeadLetter.model_validate(item) for item in self.items]


@dataclass(frozen=True, slots=True)
class Access:
    url: str
    key: str


def find_access(given_url: str | None, key_file: Path | None, *, service: str = "monitor") -> Access:
    """Where to ask and with which key: options first, then the environment, then the file of a local run.

    Raises:
        AccessError: neither names it.
    """
    told = _read_endpoints()
    url = given_url or told.get(f"{service}_url")
    if not url:
        raise AccessError(
            f"where is the {service}? Give --{service}-url or set {service.upper()}_URL"
            f" (no {ENDPOINTS} of a local run here)"
        )
    if key_file is not None:
        return Access(url, _read_key(key_file))
    if key := os.environ.get("SERVICE_KEY"):
        return Access(url, key.strip())
    # The key of the local run is for the local run: it must not reach a server that somebody else has named.
    if (told_file := told.get("service_key_file")) and url == told.get(f"{service}_url"):
        return Access(url, _read_key(ENDPOINTS.parent / told_file))
    raise AccessError("with which key? Set SERVICE_KEY, or give --key-file with a file that holds it")


def _read_endpoints() -> dict[str, str]:
    try:
        told = json.loads(ENDPOINTS.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise AccessError(f"{ENDPOINTS} cannot be read: {error}") from error
    if not isinstance(told, dict):
        raise AccessError(f"{ENDPOINTS} holds no JSON object")
    return {name: value for name, value in told.items() if isinstance(value, str)}


def _read_key(path: Path) -> str:
    try:
        key = path.read_text().strip()
    except (OSError, ValueError) as error:
        raise AccessError(f"the key file {path} cannot be read: {error}") from error
    if not key:
        raise AccessError(f"the key file {path} is empty")
    return key


class Monitor:
    """A client; use it as a context manager. Every method may raise `MonitorError`."""

    def __init__(self, access: Access) -> None:
        self._url = access.url.rstrip("/")
        try:
            # A proxy of the company cannot reach this machine's own addresses.
            local = httpx.URL(self._url).host in {"127.0.0.1", "::1", "localhost"}
            self._http = httpx.Client(headers={"X-Service-Key": access.key}, timeout=30, trust_env=not local)
        except (ValueError, httpx.InvalidURL) as error:
            raise MonitorError(f"the monitor's address or its key is malformed: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def page(self, **filters: str | int | bool | None) -> Page:
        given = {name: value for name, value in filters.items() if value is not None}
        answer = self._call("GET", "", params=given)
        return Page(answer["items"], answer["next"], answer["matching"], answer["open"], answer["now"])

    def summary(self, **filters: str | None) -> list[dict[str, Any]]:
        given = {name: value for name, value in filters.items() if value is not None}
        groups: list[dict[str, Any]] = self._call("GET", "/summary", params=given)["groups"]
        return groups

    def full(self, dead: str) -> dict[str, Any]:
        return self._call("GET", f"/{quote(dead, safe='')}")

    def get(self, dead: str) -> DeadLetter:
        return DeadLetter.model_validate(self.full(dead))

    def replay(self, dead: str) -> DeadLetter:
        return DeadLetter.model_validate(self._call("POST", f"/{quote(dead, safe='')}/replay"))

    def replay_many(self, *, queue: str | None, type_name: str | None, until: str, limit: int) -> list[str]:
        """Replays matching open ones that were recorded by `until`, oldest first; returns their ids."""
        body = {"queue": queue, "type": type_name, "until": until, "limit": min(limit, MAX_BULK)}
        given = {name: value for name, value in body.items() if value is not None}
        replays: Sequence[Mapping[str, str]] = self._call("POST", "/replay", json=given)["replays"]
        return [replay["id"] for replay in replays]

    def discard(self, dead: str, reason: str) -> DeadLetter:
        answer = self._call("POST", f"/{quote(dead, safe='')}/discard", json={"reason": reason})
        return DeadLetter.model_validate(answer)

    def _call(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        try:
            response = self._http.request(method, f"{self._url}/v1/dead-letters{path}", **request)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise MonitorError(f"the monitor at {self._url} cannot be reached: {error}") from error
        if not response.is_success:
            raise MonitorError(f"{_detail(response)} (HTTP {response.status_code})")
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise MonitorError(f"{self._url} does not answer like a monitor; is the address right?")
        return answer


def _detail(response: httpx.Response) -> str:
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return response.text[:500] or response.reason_phrase
