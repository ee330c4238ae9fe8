"""What the gateway shows of calls and money under `/metrics`.

Accounts are few and get a label of their own. Brands may be many: of them only how many are near their caps is shown, and which
they are `brandctl spend` says.
"""

from collections.abc import Iterator
from typing import Final

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from chassis import Connection
from chassis.observing.metrics import Families
from gateway.accounts import KINDS, State, count_accounts
from gateway.calls import store as calls
from gateway.calls.counting import ANSWERED, PRESUMED, CallCounts
from gateway.credentials import Accounts
from gateway.limits import closed
from gateway.money import ALL, MICROS, Spending
from gateway.money import store as money
from gateway.money.domain import Period

NEAR: Final = 0.8
"""Of a cap: from there on somebody should know."""
_OUTCOMES: Final = (
    ANSWERED,
    PRESUMED,
    "provider.away",
    "provider.no_answer",
    "provider.limited",
    "limit.reached",
)
_REFUSALS: Final = ("budget.exhausted", "budget.set_aside", "spending.stopped")
"""Shown from the start: a rate needs something to begin with."""


class CallMetrics(Collector):
    """How calls and money of the installation fare; what is read from tables is the same on every replica."""

    def __init__(
        self, families: Families, counts: CallCounts, spending: Spending, accounts: Accounts
    ) -> None:
        self._families = families
        self._counts = counts
        self._spending = spending
        self._accounts = accounts
        self._connected: tuple[str, ...] = ()

    async def sample(self, connection: Connection) -> list[Metric]:
        """What the tables say right now."""
        self._connected = tuple(each.name for each in await self._accounts.described())
        return [
            *await self._money(connection),
            *await self._calls(connection),
            await self._brands_accounts(connection),
        ]

    async def _brands_accounts(self, connection: Connection) -> Metric:
        shown = self._families.gauge(
            "accounts", "Accounts of brands with others, by how they stand.", "kind", "state"
        )
        counted = await count_accounts(connection)
        for kind in sorted(KINDS):
            for state in State:
                shown.add_metric((kind, state), counted.get((kind, state), 0))
        return shown

    async def _money(self, connection: Connection) -> list[Metric]:
        today = await money.today(connection)
        found = await money.accounts(connection, today, None)
        own = await money.own_caps(connection)
        amounts = self._families.gauge(
            "spend_dollars", "Of all brands together in the running day and month of UTC.", "period", "state"
        )
        caps = self._families.gauge("spend_cap_dollars", "What all brands together may spend.", "period")
        near = self._families.gauge(
            "brands_near_cap",
            "Brands that have spent four fifths of a cap of theirs, or all of it.",
            "period",
        )
        together = {each.period: each for each in found if each.scope == ALL}
        for period in Period:
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
            "spending_stopped", "Brands that an operator has stopped; 1 for all at once.", "of"
        )
        stops = [each.scope for each in own.values() if each.stopped_at is not None]
        stopped.add_metric(("all",), float(ALL in stops))
        stopped.add_metric(("brands",), float(len(set(stops) - {ALL})))
        return [amounts, caps, near, stopped]

    async def _calls(self, connection: Connection) -> list[Metric]:
        open_calls = self._families.gauge(
            "calls_open",
            "Calls that wait for their turn at the provider, or are under way.",
            "provider",
            "state",
        )
        counted = await calls.open_by_state(connection)
        for provider in sorted({*self._connected, *(name for name, _ in counted)}):
            for state, shown in (("reserved", "waiting"), ("sent", "under_way")):
                open_calls.add_metric((provider, shown), counted.get((provider, state), 0))
        gates = self._families.gauge(
            "provider_closed",
            "1 while nobody asks the provider, because it failed or asked for a rest.",
            "provider",
            "why",
        )
        shut = await closed(connection)
        for provider in sorted({*self._connected, *shut}):
            for why in ("failing", "limited"):
                gates.add_metric((provider, why), float(shut.get(provider) == why))
        return [open_calls, gates]

    def collect(self) -> Iterator[Metric]:
        counts = self._counts
        ended = self._families.counter("calls", "Calls that have ended, by how.", "provider", "outcome")
        refused = self._families.counter(
            "calls_refused", "Requests for which no call was begun.", "provider", "problem"
        )
        spent = self._families.counter("spent_dollars", "What calls have cost.", "provider")
        connected = self._connected
        for pair in sorted({*counts.ended, *((name, each) for name in connected for each in _OUTCOMES)}):
            ended.add_metric(pair, counts.ended[pair])
        for pair in sorted({*counts.refused, *((name, each) for name in connected for each in _REFUSALS)}):
            refused.add_metric(pair, counts.refused[pair])
        for name in sorted({*counts.spent, *connected}):
            spent.add_metric((name,), counts.spent[name] / MICROS)
        yield from (ended, refused, spent)
