"""Sets money aside before a call and charges it afterwards, within caps that hold over all replicas."""

from dataclasses import replace
from datetime import timedelta
from http import HTTPStatus
from typing import assert_never

from chassis import Connection
from chassis.http.chain_headers import ChainContext
from gateway.money import store
from gateway.money.domain import (
    ALL,
    BudgetExhausted,
    BudgetReserved,
    BudgetTooSmall,
    ChainCostReached,
    ChainReserved,
    Charge,
    SpendingCaps,
    SpendingStopped,
    chain_refusal,
    dollars,
    refusal,
)
from gateway.problems import CallProblem, CallProblemError

_UNTIL_RESUMED = timedelta(minutes=10)
"""Suggested retry delay while spending is stopped."""
_UNTIL_SETTLED = timedelta(seconds=30)
"""Suggested retry delay while calls under way hold the rest of a budget."""


class SpendingControl:
    """Admits calls under row locks, so concurrent calls cannot exceed a cap together.

    Call `admit` in the transaction that records the call. All such transactions lock the budget before they write a
    call, so they cannot deadlock.

    Args:
        each: default caps of each brand.
        together: default caps of all brands together.
    """

    def __init__(self, each: SpendingCaps, together: SpendingCaps) -> None:
        self._each = each
        self._together = together

    async def admit(
        self, connection: Connection, brand: str, amount: int, chain: ChainContext | None = None
    ) -> Charge:
        """Checks the caps, and the limit of the `chain`, and returns the charge. Its accounts stay locked until the transaction ends, which must set it aside.

        Raises:
            CallProblemError: `cost.reached`, `budget.exhausted`, `budget.set_aside`, `budget.too_small` or `spending.stopped`.
        """
        charge, taken = await store.lock(connection, brand, amount)
        # Read after the lock, so caps that changed during the wait count.
        own = await store.own_caps(connection, (charge.brand, ALL))
        caps = [
            (charge.brand, store.effective(own.get(charge.brand), self._each)),
            (ALL, store.effective(own.get(ALL), self._together)),
        ]
        if (refused := refusal(charge, taken, caps)) is not None:
            raise CallProblemError(_problem(refused, charge))
        if chain is None or chain.max_cost is None:
            return charge
        spent = await store.lock_chain(connection, brand, chain.id)
        if (reached := chain_refusal(amount, spent, chain.max_cost)) is not None:
            raise CallProblemError(_chain_problem(reached, charge))
        return replace(charge, chain=chain.id)

    def caps_of(self, scope: str, own: store.OperatorCaps | None) -> SpendingCaps:
        """The effective caps of a scope."""
        return store.effective(own, self._together if scope == ALL else self._each)


def _problem(
    refused: SpendingStopped | BudgetExhausted | BudgetReserved | BudgetTooSmall, charge: Charge
) -> CallProblem:
    match refused:
        case SpendingStopped(scope, why):
            return CallProblem(
                "spending.stopped",
                f"spending {_by(scope)} is stopped{f': {why}' if why else ''}; `brandctl spend resume` lets it go on",
                HTTPStatus.PAYMENT_REQUIRED,
                transient=True,
                after=_UNTIL_RESUMED,
            )
        case BudgetExhausted(scope, period, cap, left, next_begins):
            return CallProblem(
                "budget.exhausted",
                f"{dollars(left)} of the {dollars(cap)} dollars that may be spent {_by(scope)} this {period.value} are"
                f" left, and this may cost {dollars(charge.amount)}; the next {period.value} begins at"
                f" {next_begins:%Y-%m-%d %H:%M} UTC, and `brandctl spend cap` raises the cap before",
                HTTPStatus.PAYMENT_REQUIRED,
                transient=True,
                retry_at=next_begins,
            )
        case BudgetReserved(scope, period):
            return CallProblem(
                "budget.set_aside",
                f"what may still be spent {_by(scope)} this {period.value} is set aside for calls under way; some of it is"
                " free again when they have ended",
                HTTPStatus.PAYMENT_REQUIRED,
                transient=True,
                after=_UNTIL_SETTLED,
            )
        case BudgetTooSmall(scope, period, cap):
            return CallProblem(
                "budget.too_small",
                f"this may cost {dollars(charge.amount)} dollars, and no more than {dollars(cap)} may be spent"
                f" {_by(scope)} in any {period.value}: `brandctl spend cap` raises that",
                HTTPStatus.UNPROCESSABLE_ENTITY,
            )
        case other:
            assert_never(other)


def _chain_problem(refused: ChainCostReached | ChainReserved, charge: Charge) -> CallProblem:
    match refused:
        case ChainCostReached(max_cost, left):
            return CallProblem(
                "cost.reached",
                f"{dollars(left)} of the {dollars(max_cost)} dollars that the request may cost are left, and this call may cost"
                f" {dollars(charge.amount)}",
                HTTPStatus.UNPROCESSABLE_ENTITY,
            )
        case ChainReserved():
            return CallProblem(
                "budget.set_aside",
                "what the request may still cost is set aside for its calls under way; some of it is free again when they have"
                " ended",
                HTTPStatus.PAYMENT_REQUIRED,
                transient=True,
                after=_UNTIL_SETTLED,
            )
        case other:
            assert_never(other)


def _by(scope: str) -> str:
    return "by all brands together" if scope == ALL else f"by the brand {scope}"
