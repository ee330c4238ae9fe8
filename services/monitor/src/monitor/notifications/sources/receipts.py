"""Conditions for receipts in doubt at social or publisher: posts and publications that a person has to check."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from chassis.http.client import NotThereError
from monitor.notifications.domain import Condition, NotificationKind, Severity
from monitor.notifications.peer_clients import PeerClient

_MOST: Final = 100
"""Only the newest; with more, a person has to read the list anyway."""


async def receipt_conditions(service: PeerClient) -> Sequence[Condition]:
    try:
        page = await service.read(f"/v1/receipts?state=in_doubt&limit={_MOST}", "receipts in doubt")
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
