"""Client of social for the activity of posts."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from pydantic import SecretStr

from chassis.http.client import Peer, ServiceClient
from monitor.notifications.service_json import read_json

_PAGE: Final = 200
_SECONDS: Final = 20.0
_MAX_BYTES: Final = 2_000_000


class PostActivityClient:
    """HTTP client of social; one for each process."""

    def __init__(self, url: str, key: SecretStr) -> None:
        self._http = ServiceClient(
            Peer("social", url, "SOCIAL_URL", key), timeout_seconds=_SECONDS, max_bytes=_MAX_BYTES
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def activity(self, since: datetime) -> AsyncIterator[Mapping[str, Any]]:
        """Yields the post activity of each brand with posts, as social's `GET /v1/activity` returns it.

        Raises:
            chassis.http.client.PassingError: social does not answer.
            chassis.http.client.NotThereError: its version has no such route.
            chassis.http.client.UnusableAnswerError: its answer is invalid.
        """
        asked: dict[str, Any] = {"since": since.isoformat(), "limit": _PAGE}
        after: str | None = ""
        while after is not None:
            page = await read_json(
                self._http, f"/v1/activity?{urlencode(asked | {'after': after})}", "the activity of posts"
            )
            for brand in page["items"]:
                yield brand
            after = page["next"]
