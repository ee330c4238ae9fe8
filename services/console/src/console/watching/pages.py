"""The pages that can be watched; each screen names its own in its `routes.py`, as `LIVE`."""

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final, Protocol
from urllib.parse import parse_qsl, urlsplit

from chassis import Connections
from client import ClientError, RefusedError
from console.service_clients import PersonClients, is_away
from console.side_by_side import side_by_side


class PageReading(Protocol):
    """Reads what the page shows, with the fields of its path and its query; the answer has to fit into JSON."""

    def __call__(
        self, clients: PersonClients, fields: Mapping[str, str], query: Mapping[str, str]
    ) -> Awaitable[Any]: ...


class OwnReading(Protocol):
    """Reads what the page shows of the console's own database, with the fields of its path; the answer has to fit into JSON."""

    def __call__(self, connections: Connections, fields: Mapping[str, str]) -> Awaitable[Any]: ...


MOST_COUNTED: Final = 100
_MAX_ADDRESS: Final = 1_000
_MAX_FIELDS: Final = 20


class KeyRevokedError(Exception):
    """The person's key is refused, so the person is out."""


@dataclass(frozen=True, slots=True)
class LivePage:
    """A page that can be watched.

    Args:
        path: such as `/b/{brand}/keywords`; a field stands for one part of the path.
        read: called every few seconds for all tabs on this page of people with the same role and brands.
        read_own: called with it, if the page shows things of the console's own database.
    """

    path: str
    read: PageReading
    read_own: OwnReading | None = None

    def fields(self, path: str) -> dict[str, str] | None:
        """The fields of a path; None if it is another page's."""
        own, given = self.path.split("/"), path.split("/")
        if len(own) != len(given):
            return None
        found: dict[str, str] = {}
        for name, value in zip(own, given, strict=True):
            if name.startswith("{") and value:
                found[name[1:-1]] = value
            elif name != value:
                return None
        return found


@dataclass(frozen=True, slots=True)
class Watched:
    """Something of a page that is read again and again."""

    key: str
    read: Callable[[PersonClients], Awaitable[Any]]
    is_sent: bool = False
    """Whether tabs get what was read, rather than only learn that it is another."""


@dataclass(frozen=True, slots=True)
class WatchedAddress:
    """The things that a tab watches: its page, if that is a live one, and the counts of its brand."""

    brand: str | None
    page: Watched | None
    counts: Watched | None

    @classmethod
    def of(cls, address: str, pages: Iterable[LivePage], connections: Connections) -> "WatchedAddress | None":
        """Reads a path of the console with its query; None for what is no address of a page."""
        parts = urlsplit(address) if address.startswith("/") and not address.startswith("//") else None
        if parts is None or len(address) > _MAX_ADDRESS:
            return None
        try:
            query = dict(parse_qsl(parts.query, max_num_fields=_MAX_FIELDS))
        except ValueError:
            return None
        names = parts.path.split("/")
        brand = names[2] if names[1] == "b" and len(names) > 2 and names[2] else None  # noqa: PLR2004
        return cls(
            brand,
            _page(parts.path, query, pages, connections),
            None
            if brand is None
            else Watched(f"counts {brand}", lambda clients: read_counts(clients, brand), is_sent=True),
        )


def _page(
    path: str, query: Mapping[str, str], pages: Iterable[LivePage], connections: Connections
) -> Watched | None:
    for each in pages:
        fields = each.fields(path)
        if fields is not None:
            key = f"page {path} {json.dumps(query, sort_keys=True)}"
            return Watched(key, partial(_read_page, each, connections, fields, query))
    return None


async def _read_page(
    page: LivePage,
    connections: Connections,
    fields: Mapping[str, str],
    query: Mapping[str, str],
    clients: PersonClients,
) -> Any:
    found = await page.read(clients, fields=fields, query=query)
    if page.read_own is None:
        return found
    return [found, await page.read_own(connections, fields=fields)]


async def read_counts(clients: PersonClients, brand: str) -> dict[str, int]:
    """What waits for a decision, by screen of the navigation; up to MOST_COUNTED of each."""
    drafts, posts = await read_each(
        # The numbers alone: lists have the texts.
        clients.orchestrator.get_draft_count(brand=brand, state="waiting"),
        clients.social.get_post_count(brand, state="waiting"),
    )
    counts = {}
    if "count" in drafts:
        counts["drafts"] = min(drafts["count"], MOST_COUNTED)
    if "count" in posts:
        counts["posts"] = min(posts["count"], MOST_COUNTED)
    return counts


async def read_each(*reads: Awaitable[Any]) -> list[Any]:
    """The answers side by side; a service that is away does not hide what others say.

    Raises:
        KeyRevokedError: the person's key is refused.
    """
    return await side_by_side(read_or_away, reads)


async def read_or_away(read: Awaitable[Any]) -> Any:
    """The answer, or a substitute while the service is away or refuses the call.

    Raises:
        KeyRevokedError: the person's key is refused.
    """
    try:
        return await read
    except RefusedError as error:
        if error.status == HTTPStatus.UNAUTHORIZED:
            raise KeyRevokedError from None
        return {"away": True} if is_away(error) else {"refused": error.status}
    except ClientError:
        return {"away": True}


def fingerprint(state: Any) -> str:
    """A short word that differs for another state, in every process alike."""
    return hashlib.sha256(json.dumps(state, sort_keys=True, default=str).encode()).hexdigest()[:12]
