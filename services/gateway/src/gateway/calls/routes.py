"""Routes with which operators see spending and set caps."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

from chassis import Connections
from chassis.http.api import Moment, View, needs, router
from chassis.http.calendars import clocks
from chassis.http.callers import Scope
from chassis.http.conventions.pages import AFTER, DEFAULT_PAGE, FORMER_AFTER, FormerlyLargerLimit
from gateway.calls import store
from gateway.money import ALL, SpendingCaps, SpendingControl, micros
from gateway.money import store as money
from gateway.money.domain import BudgetPeriod, following
from gateway.requests import BRAND_PATTERN, Brand

_MOST: Final = Decimal(1_000_000)
_DAYS: Final = 92
"""The most days of which one request tells."""

Spender = Annotated[str, StringConstraints(pattern=rf"^\*$|{BRAND_PATTERN}", max_length=63)]
"""A brand's slug, or `*` for all of them together."""


def _dollars(amount: Decimal) -> Decimal:
    micros(amount)
    if amount > _MOST:
        raise ValueError(f"must be at most {_MOST:,}")
    return amount


Dollars = Annotated[Decimal, AfterValidator(_dollars)]


class PeriodView(View):
    """Amounts in micro-dollars, a millionth of a dollar."""

    spent: int
    reserved: int
    """Set aside for calls under way."""
    cap: int | None
    """null: there is none."""
    ends_at: datetime


class ScopeView(View):
    scope: str
    """A brand's slug, or `*` for all of them together."""
    day: PeriodView
    month: PeriodView
    stopped: str | None
    """Why spending is stopped; null: it is not. May be empty."""
    since: int | None = None
    """Micro-dollars spent since the day `since`; null: the request named no day."""


class ProviderSpendView(View):
    brand: str
    provider: str
    calls: int
    spent: int


class SpendView(View):
    """Of the current day and month in UTC."""

    today: date
    scopes: list[ScopeView]
    providers: list[ProviderSpendView]
    """Cost of the month's calls, by brand and provider."""
    all_stopped: str | None = None
    """Why spending of all brands is stopped; null: it is not. May be empty."""


class DaySpendView(View):
    """Cost of the calls that began on a day, at a provider."""

    day: date
    provider: str
    calls: int
    spent: int
    presumed: int
    """Of it, what counts at its maximum, because the process died before the answer."""


class DaysView(View):
    """Amounts in micro-dollars, a millionth of a dollar."""

    begins: date
    """The first of the days, in the requested zone."""
    today: date
    items: list[DaySpendView]
    """By day and provider; days without calls are left out."""


class CallView(View):
    """An entry of the ledger; amounts in micro-dollars."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    brand: str
    provider: str
    subject: str
    state: Literal["reserved", "sent", "settled", "released", "presumed"]
    """`presumed`: the process died before the answer, so the call counts at its maximum."""
    maximum: int
    spent: int
    usage: dict[str, int]
    day: date
    began_at: datetime
    ended_at: datetime | None
    problem: str | None


class CallList(View):
    items: list[CallView]
    next: datetime | None
    """Send it as `after` to get the next page."""


class CapsRequest(BaseModel):
    """Dollars; null, or left out: the setting's cap."""

    model_config = ConfigDict(extra="forbid")

    day: Dollars | None = None
    month: Dollars | None = None


class StopRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    scope: Spender = ALL
    why: Annotated[str, StringConstraints(strip_whitespace=True, max_length=500)] = ""


class ResumeRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    scope: Spender = ALL


def spend_routes(connections: Connections, spending: SpendingControl) -> APIRouter:
    routes = router("/spend", tags=["Money"])

    async def view(brand: str | None, since: date | None = None) -> SpendView:
        async with connections.connection() as connection:
            today = await money.today(connection)
            accounts = await money.accounts(connection, today, brand)
            own = await money.own_caps(connection)
            providers = await store.by_provider(connection, today, brand)
            recently = None if since is None else await money.spent_since(connection, since, brand)
        found = {(each.scope, each.period): each for each in accounts}
        scopes = {brand} if brand else {ALL, *own, *(each.scope for each in accounts), *(recently or ())}
        return SpendView(
            today=today,
            all_stopped=spending.caps_of(ALL, own.get(ALL)).stopped,
            scopes=[
                _scope_view(scope, today, found, spending.caps_of(scope, own.get(scope)), recently)
                for scope in sorted(scopes)
            ],
            providers=[
                ProviderSpendView(brand=brand, provider=provider, calls=calls, spent=spent)
                for brand, provider, calls, spent in providers
            ],
        )

    @routes.get(
        "", dependencies=[needs(Scope.READ)], summary="What was spent today and this month, and what may be"
    )
    async def get_spend(
        brand: Annotated[Brand | None, Query()] = None,
        since: Annotated[
            date | None, Query(description="Tell also what was spent from this day of UTC on.")
        ] = None,
    ) -> SpendView:
        return await view(brand, since)

    @routes.get("/days", dependencies=[needs(Scope.READ)], summary="What was spent on each of the last days")
    async def summarize_daily_spend(
        brand: Annotated[Brand | None, Query()] = None,
        days: Annotated[int, Query(description="Number of days, today included.", ge=1, le=_DAYS)] = 30,
        zone: Annotated[
            str,
            Query(description="Time zone in which days begin; those of caps are UTC's.", max_length=64),
        ] = "UTC",
    ) -> DaysView:
        clock = clocks(zone)
        async with connections.connection() as connection:
            now: datetime = await connection.fetchval("select clock_timestamp()")
            today = now.astimezone(clock).date()
            found = [today - timedelta(days=back) for back in reversed(range(days))]
            midnights = [datetime.combine(day, time(), clock).astimezone(UTC) for day in found]
            rows = await store.by_day(connection, midnights, brand)
        return DaysView(
            begins=found[0],
            today=today,
            items=[
                DaySpendView(day=found[place], provider=provider, calls=calls, spent=spent, presumed=presumed)
                for place, provider, calls, spent, presumed in rows
            ],
        )

    @routes.get(
        "/calls",
        dependencies=[needs(Scope.READ)],
        summary="The ledger: every call that may have cost something, newest first",
    )
    async def list_spend_calls(
        brand: Annotated[Brand | None, Query()] = None,
        after: Annotated[Moment | None, Query(description=AFTER)] = None,
        limit: FormerlyLargerLimit = DEFAULT_PAGE,
        before: Annotated[Moment | None, Query(description=FORMER_AFTER, deprecated=True)] = None,
    ) -> CallList:
        async with connections.connection() as connection:
            entries = await store.entries(connection, brand, after or before, limit + 1)
        shown = [CallView.model_validate(entry) for entry in entries[:limit]]
        return CallList(items=shown, next=shown[-1].began_at if len(entries) > limit else None)

    @routes.put(
        "/caps/{scope}",
        dependencies=[needs(Scope.ADMIN)],
        summary="Say how much a brand, or all together (*), may spend",
    )
    async def set_spend_cap(scope: Annotated[Spender, Path()], request: CapsRequest) -> SpendView:
        async with connections.connection() as connection:
            await money.set_caps(connection, scope, _micros(request.day), _micros(request.month))
        return await view(None if scope == ALL else scope)

    @routes.post(
        "/stop",
        dependencies=[needs(Scope.OPERATE)],
        summary="Spend nothing from now on, for a brand or at all",
    )
    async def stop_spending(request: StopRequest) -> SpendView:
        async with connections.connection() as connection:
            await money.stop(connection, request.scope, request.why)
        return await view(None if request.scope == ALL else request.scope)

    @routes.post("/resume", dependencies=[needs(Scope.OPERATE)], summary="Spend again")
    async def resume_spending(request: ResumeRequest) -> SpendView:
        async with connections.connection() as connection:
            await money.resume(connection, request.scope)
        return await view(None if request.scope == ALL else request.scope)

    return routes


def _scope_view(
    scope: str,
    today: date,
    accounts: dict[tuple[str, BudgetPeriod], money.BudgetAccount],
    caps: SpendingCaps,
    recently: dict[str, int] | None,
) -> ScopeView:
    def period_view(period: BudgetPeriod) -> PeriodView:
        account = accounts.get((scope, period))
        return PeriodView(
            spent=account.spent if account else 0,
            reserved=account.reserved if account else 0,
            cap=caps.of(period),
            ends_at=following(period, today),
        )

    return ScopeView(
        scope=scope,
        day=period_view(BudgetPeriod.DAY),
        month=period_view(BudgetPeriod.MONTH),
        stopped=caps.stopped,
        since=None if recently is None else recently.get(scope, 0),
    )


def _micros(amount: Decimal | None) -> int | None:
    return None if amount is None else micros(amount)
