"""Conditions from the gateway: accounts that lose access, and budgets that run out."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from monitor.notifications.domain import Condition, NotificationKind, Severity
from monitor.notifications.gateway import NotifierAccount, NotifierGateway

NEAR: Final = 0.8
"""Spent share of a budget that causes a warning, before work has to wait."""
_MICROS: Final = 1_000_000


async def account_conditions(gateway: NotifierGateway) -> Sequence[Condition]:
    accounts = await gateway.accounts()
    return [condition for each in accounts.values() for condition in _of_account(each)]


def _of_account(account: NotifierAccount) -> list[Condition]:
    if account.state not in {"expiring", "needs_reconnecting"}:
        return []
    over = account.state == "needs_reconnecting"
    who = f"{account.name} ({account.kind}{f', {account.label}' if account.label else ''})"
    ends = "" if account.expires_at is None else f"; its access ends {_day(account.expires_at)}"
    return [
        Condition(
            NotificationKind.ACCOUNTS,
            key=account.name,
            severity=Severity.CRITICAL if over else Severity.WARNING,
            title=f"Account {who} {'has to be connected again' if over else 'will have to be connected again'}",
            detail=account.detail or f"nothing goes out on it{ends}" if over else f"all is well so far{ends}",
            command=f"brandctl accounts show {account.name}",
            # A shared account causes one notification for each brand, without the names of the others.
            brand=brand,
        )
        for brand in ([None] if "*" in account.brands else account.brands)
    ]


def _day(moment: str) -> str:
    return f"on {datetime.fromisoformat(moment):%Y-%m-%d}"


async def budget_conditions(gateway: NotifierGateway) -> Sequence[Condition]:
    spend = await gateway.spend()
    return [condition for scope in spend["scopes"] for condition in _of_scope(scope)]


def _of_scope(scope: Mapping[str, Any]) -> list[Condition]:
    brand = None if scope["scope"] == "*" else scope["scope"]
    whose = "of all brands together" if brand is None else "of the brand"
    command = "brandctl spend" if brand is None else f"brandctl spend --brand {brand}"
    found = []
    if scope["stopped"] is not None:
        found.append(
            Condition(
                NotificationKind.BUDGETS,
                key="stopped",
                severity=Severity.WARNING,
                title=f"Spending {whose} is stopped by hand",
                detail=scope["stopped"],
                command=command,
                brand=brand,
            )
        )
    for period in ("day", "month"):
        taken = scope[period]
        if taken["cap"] is None or taken["spent"] < NEAR * taken["cap"]:
            continue
        reached = taken["spent"] >= taken["cap"]
        found.append(
            Condition(
                NotificationKind.BUDGETS,
                key=period,
                severity=Severity.CRITICAL if reached else Severity.WARNING,
                title=f"The {period}'s budget {whose} is {'used up' if reached else 'nearly used up'}",
                detail=f"{dollars(taken['spent'])} of {dollars(taken['cap'])}; a new {period} begins"
                f" {datetime.fromisoformat(taken['ends_at']):%Y-%m-%d %H:%M} UTC",
                command=command,
                brand=brand,
            )
        )
    return found


def dollars(micros: int) -> str:
    """The amount in dollars, rounded up to cents."""
    cents = -(-micros // (_MICROS // 100))
    return f"${cents // 100}.{cents % 100:02d}"
