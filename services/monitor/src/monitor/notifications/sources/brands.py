"""Conditions of brands from the orchestrator: drafts and posts that wait for review, and finished audits."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from monitor.notifications.domain import Condition, NotificationKind, Severity
from monitor.notifications.peer_clients import ActivityClient

NEWS_FOR: Final = timedelta(days=3)
"""Age up to which an audit is reported; longer than usual outages."""


async def brand_conditions(orchestrator: ActivityClient) -> Sequence[Condition]:
    now = datetime.now(UTC)
    found: list[Condition] = []
    async for brand in orchestrator.activity():
        found += _waiting(brand)
        audit = brand["audit"]
        if audit is not None and now - datetime.fromisoformat(audit["made_at"]) < NEWS_FOR:
            found.append(_audit(brand["brand_slug"], audit))
    return found


def _waiting(brand: Mapping[str, Any]) -> list[Condition]:
    slug, drafts, posts = brand["brand_slug"], brand["drafts_waiting"], brand["posts_waiting"]
    found = []
    if drafts:
        held_up = brand["held_up"]
        found.append(
            Condition(
                NotificationKind.WAITING,
                key="drafts",
                severity=Severity.WARNING if held_up else Severity.INFO,
                title="Drafts wait for a person",
                detail="the brand begins no further articles until a person reviews them" if held_up else "",
                command=f"brandctl drafts list --brand {slug}",
                brand=slug,
                count=drafts,
            )
        )
    if posts:
        found.append(
            Condition(
                NotificationKind.WAITING,
                key="posts",
                severity=Severity.INFO,
                title="Articles whose posts wait for a person",
                command=f"brandctl posts list --brand {slug}",
                brand=slug,
                count=posts,
            )
        )
    return found


def _audit(slug: str, audit: Mapping[str, Any]) -> Condition:
    counts = {kind: count for kind, count in audit["counts"].items() if count}
    told = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(counts.items()))
    return Condition(
        NotificationKind.AUDITS,
        key=audit["audit_id"],
        severity=Severity.INFO,
        title="An audit found " + (told or "nothing to do"),
        command=f"brandctl audits {slug}",
        brand=slug,
        is_event=True,
    )
