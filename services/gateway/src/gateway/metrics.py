"""Metrics of calls and money under `/metrics`.

Accounts are few and have labels. Brands may be many: the metrics count those near their caps, and `brandctl spend`
names them.
"""

from typing import Final

from prometheus_client.core import Metric

from chassis import Connection
from chassis.observing.metrics import Families
from gateway.accounts import KINDS, AccountState, count_accounts
from gateway.calls import store as calls
from gateway.calls.counts import CallCounts
from gateway.credentials import ProviderAccounts
from gateway.limits import list_closed
from gateway.money import ALL, MICROS, SpendingControl
from gateway.money import store as money
from gateway.money.domain import BudgetPeriod

NEAR: Final = 0.8
"""The share of a cap from which a brand counts as near it."""


class CallMetrics:
    """Figures from tables, which are the same on every replica."""

    def __init__(
        self, families: Families, counts: CallCounts, spending: SpendingControl, accounts: ProviderAccounts
    ) -> None:
        self._families = families
        self._counts = counts
        self._spending = spending
        self._accounts = accounts
        self._connected: tuple[str, ...] = ()

    async def sample(self, connection: Connection) -> list[Metric]:
        """Reads the figures from the tables."""
        self._connected = tuple(each.name for each in await self._accounts.described())
        self._counts.begin(self._connected)
        return [
            *await self._money(connection),
            *await self._calls(connection),
            await self._brands_accounts(connection),
        ]

    async def _brands_accounts(self, connection: Connection) -> Metric:
        shown = self._families.gauge("accounts", "Connected accounts of brands, by state.", "kind", "state")
        counted = await count_accounts(connection)
        for kind in sorted(KINDS):
            for state in AccountState:
                shown.add_metric((kind, state), counted.get((kind, state), 0))
        return shown

    async def _money(self, connection: Connection) -> list[Metric]:
        today = await money.today(connection)
        found = await money.accounts(connection, today, None)
        own = await money.own_caps(connection)
        amounts = self._families.gauge(
            "spend_dollars",
            "Spending of all brands together in the current day and month in UTC.",
            "period",
            "state",
        )
        caps = self._families.gauge("spend_cap_dollars", "Cap of all brands together.", "period")
        near = self._families.gauge(
            "brands_near_cap",
            "Brands that have spent at least four fifths of one of their caps.",
            "period",
        )
        together = {each.period: each for each in found if each.scope == ALL}
        for period in BudgetPeriod:
            account = together.get(period)
            amounts.add_metric((period, "spent"), (account.spent if account else 0) / MICROS)
            amounts.add_metric((period, "set_aside"), (account.reserved if account else 0) / MICROS)
            cap = self._spending.caps_of(ALL, own.get(ALL)).of(period)
            if cap is not None:
                caps.add_metric((period,), cap / MICROS)
            brands = [each for each in found if each.scope != ALL and each.period is period]
            limits = (
                (each, self._spending.caps_of(each.scope, own.get(each.scope)).of(period)) for each in brands
            )
            near.add_metric(
                (period,), sum(limit is not None and each.spent >= NEAR * limit for each, limit in limits)
            )
        stopped = self._families.gauge(
            "spending_stopped",
            "Brands whose spending an operator has stopped; 1 if all spending is stopped.",
            "of",
        )
        stops = [each.scope for each in own.values() if each.stopped_at is not None]
        stopped.add_metric(("all",), float(ALL in stops))
        stopped.add_metric(("brands",), float(len(set(stops) - {ALL})))
        return [amounts, caps, near, stopped]

    async def _calls(self, connection: Connection) -> list[Metric]:
        open_calls = self._families.gauge(
            "calls_open",
            "Calls waiting for their turn at the provider, or under way.",
            "provider",
            "state",
        )
        counted = await calls.open_by_state(connection)
        for provider in sorted({*self._connected, *(name for name, _ in counted)}):
            for state, shown in (("reserved", "waiting"), ("sent", "under_way")):
                open_calls.add_metric((provider, shown), counted.get((provider, state), 0))
        limiter = self._families.gauge(
            "provider_closed",
            "1 while requests to the provider pause, because it failed or limits them.",
            "provider",
            "why",
        )
        shut = await list_closed(connection)
        for provider in sorted({*self._connected, *shut}):
            for why in ("failing", "limited"):
                limiter.add_metric((provider, why), float(shut.get(provider) == why))
        return [open_calls, limiter]
