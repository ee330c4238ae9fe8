"""Conditions for webhooks that events has turned off, since nothing arrives there."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from chassis.http.client import NotThereError
from monitor.notifications.domain import Condition, NotificationKind, Severity
from monitor.notifications.peer_clients import PeerClient

_MOST: Final = 200
"""With more, a person has to read the list anyway."""


async def webhook_conditions(events: PeerClient) -> Sequence[Condition]:
    try:
        page = await events.read(f"/v1/webhooks?state=failed&limit={_MOST}", "webhooks that are off")
    except NotThereError:
        return []  # a version without webhooks
    return [_turned_off(each) for each in page["items"]]


def _turned_off(webhook: Mapping[str, Any]) -> Condition:
    return Condition(
        NotificationKind.WEBHOOKS,
        key=webhook["name"],
        severity=Severity.WARNING,
        title=f"Webhook {webhook['name']} is off, since nothing arrives there",
        # Without the problem: it may quote the receiver.
        detail=f"account {webhook['account']}; its events wait for 30 days",
        command=f"brandctl webhooks show {webhook['brand']} {webhook['name']}",
        brand=webhook["brand"],
    )
