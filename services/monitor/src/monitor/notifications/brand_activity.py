"""Client of the orchestrator for the activity of brands."""

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


class BrandActivityClient:
    """HTTP client of the orchestrator; one for each process."""

    def __init__(self, url: str, key: SecretStr) -> None:
        self._http = ServiceClient(
            Peer("the orchestrator", url, "ORCHESTRATOR_URL", key),
            timeout_seconds=_SECONDS,
            max_bytes=_MAX_BYTES,
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def activity(self, since: datetime | None = None) -> AsyncIterator[Mapping[str, Any]]:
        """Yields the activity of each brand, as `GET /v1/activity` returns it.

        Raises:
            chassis.http.client.PassingError: the orchestrator does not answer.
            chassis.http.client.UnusableAnswerError: its answer is invalid.
        """
        asked: dict[str, Any] = {"limit": _PAGE} | ({} if since is None else {"since": since.isoformat()})
        after: str | None = None
        while True:
            page = asked if after is None else asked | {"after": after}
            document = await read_json(
                self._http, f"/v1/activity?{urlencode(page)}", "the activity of brands"
            )
            for brand in document["items"]:
                yield brand
            after = document["next"]
            if after is None:
                return
