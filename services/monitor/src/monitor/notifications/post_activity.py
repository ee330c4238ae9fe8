"""Social, asked how posts fare."""

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
    """One for the life of the process."""

    def __init__(self, url: str, key: SecretStr) -> None:
        self._http = ServiceClient(
            Peer("social", url, "SOCIAL_URL", key), timeout_seconds=_SECONDS, max_bytes=_MAX_BYTES
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def activity(self, since: datetime) -> AsyncIterator[Mapping[str, Any]]:
        """Each brand that has posts, as `GET /v1/activity` of social has it.

        Raises:
            chassis.http.client.PassingError: social does not answer.
            chassis.http.client.NotThereError: it is of a version that does not tell.
            chassis.http.client.UnusableAnswerError: it answers something else.
        """
        asked: dict[str, Any] = {"since": since.isoformat(), "limit": _PAGE}
        after: str | None = ""
        while after is not None:
            page = await read_json(
                self._http, f"/v1/activity?{urlencode(asked | {'after': after})}", "how posts fare"
            )
            for brand in page["items"]:
                yield brand
            after = page["next"]
