"""Conditions for receipts in doubt at social or publisher: posts and publications that a person has to check."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import SecretStr

from chassis.http.client import NotThereError, Peer, ServiceClient
from monitor.notifications.domain import Condition, NotificationKind, Severity
from monitor.notifications.service_json import read_json

_MOST: Final = 100
"""Only the newest; with more, a person has to read the list anyway."""
_SECONDS: Final = 15.0
_MAX_BYTES: Final = 2_000_000


class ReceiptsSource:
    """Reports the receipts in doubt of one service; one object for each process."""

    def __init__(self, service: str, url: str, key: SecretStr) -> None:
        self.service = service
        self._http = ServiceClient(
            Peer(service, url, f"{service.upper()}_URL", key),
            timeout_seconds=_SECONDS,
            max_bytes=_MAX_BYTES,
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def fetch_conditions(self) -> Sequence[Condition]:
        try:
            page = await read_json(
                self._http, f"/v1/receipts?state=in_doubt&limit={_MOST}", "receipts in doubt"
            )
        except NotThereError:
            return []  # a version without receipts
        return [_in_doubt(each) for each in page["items"]]


def _in_doubt(receipt: Mapping[str, Any]) -> Condition:
    return Condition(
        NotificationKind.IN_DOUBT,
        key=receipt["receipt_id"],
        severity=Severity.WARNING,
        title=f"In doubt, look whether it is there: {receipt['subject']}",
        detail=f"account {receipt['account']} ({receipt['kind']}); it is not sent again automatically",
        command=f"brandctl receipts show {receipt['receipt_id']}",
        brand=receipt["brand_slug"],
    )
