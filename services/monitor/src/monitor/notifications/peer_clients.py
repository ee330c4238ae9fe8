"""Clients of the other services: they read JSON, page by page where a list is long."""

import json
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from chassis.http.client import JsonAnswer, Peer, ServiceClient, UnusableAnswerError

_SECONDS: Final = 20.0
_MAX_BYTES: Final = 2_000_000
_PAGE: Final = 200


class PeerClient:
    """Reads from one service; one object for each process."""

    def __init__(self, peer: Peer, *, seconds: float = _SECONDS) -> None:
        self.name = peer.name
        self._http = ServiceClient(peer, timeout_seconds=seconds, max_bytes=_MAX_BYTES)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def read(self, path: str, about: str) -> Mapping[str, Any]:
        """The JSON object at this path; `about` is what it tells of, for errors.

        Raises:
            chassis.http.client.PassingError: the service does not answer, for a reason that may pass.
            chassis.http.client.NotThereError: it knows no such thing.
            UnusableAnswerError: the answer is not a JSON object.
        """
        answer = await self._http.get(path, about=about)
        assert isinstance(answer, JsonAnswer), "no entity tag was sent"
        try:
            document = json.loads(answer.body)
        except ValueError as error:
            raise UnusableAnswerError(f"{self.name} answers no JSON about {about}") from error
        if not isinstance(document, dict):
            raise UnusableAnswerError(f"{self.name} answers no JSON object about {about}")
        return document


class ActivityClient(PeerClient):
    """Reads the activity of brands from the orchestrator, or that of posts from social."""

    async def activity(self, since: datetime | None = None) -> AsyncIterator[Mapping[str, Any]]:
        """Yields the activity of each brand, as the service's `GET /v1/activity` returns it. Raises what `read` raises."""
        asked: dict[str, Any] = {"limit": _PAGE} | ({} if since is None else {"since": since.isoformat()})
        after: str | None = ""
        while after is not None:
            page = await self.read(f"/v1/activity?{urlencode(asked)}", "the activity of brands")
            for brand in page["items"]:
                yield brand
            asked["after"] = after = page["next"]
