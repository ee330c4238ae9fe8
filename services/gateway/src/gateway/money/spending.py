"""Setting money aside before it is spent, and counting it afterwards, within caps that hold on any number of replicas."""

from datetime import timedelta
from http import HTTPStatus
from typing import assert_never

from chassis import Connection
from gateway.money import store
from gateway.money.domain import (
    ALL,
    Caps,
    Charge,
    Exhausted,
    SetAside,
    Stopped,
    TooLarge,
    dollars,
    refusal,
)
from gateway.problems import Problem, ProblemError

_UNTIL_RESUMED = timedelta(minutes=10)
"""Until whoever was refused by the kill switch asks again."""
_UNTIL_SETTLED = timedelta(seconds=30)
"""Until calls under way have ended, or some of them."""


class Spending:
    """Decides under row locks: of callers at the same moment, one after the other sees what is left.

    `admit` belongs into the transaction that writes the call it is for. In such a transaction the accounts are locked before any
    call is written, by everybody, so that nobody waits in a circle.

    Args:
        each: the caps of a brand that an operator has set none for.
        together: the caps of all brands together, likewise.
    """

    def __init__(self, each: Caps, together: Caps) -> None:
        self._each = each
        self._together = together

    async def admit(self, connection: Connection, brand: str, amount: int) -> Charge:
        """What a call of now is to be charged; its accounts stay locked until the transaction ends, in which it must be set aside.

        Raises:
            ProblemError: `budget.exhausted`, `budget.set_aside`, `budget.too_small` or `spending.stopped`.
        """
        charge, taken = await store.lock(connection, brand, amount)
        # Read after the lock: caps that were set while this one waited count.
        own = await store.own_caps(connection, (charge.brand, ALL))
        caps = [
            (charge.brand, store.effective(own.get(charge.brand), self._each)),
            (ALL, store.effective(own.get(ALL), self._together)),
        ]
        if (refused := refusal(charge, taken, caps)) is not None:
            raise ProblemError(_problem(refused, charge))
        return charge

    def caps_of(self, scope: str, own: store.OwnCaps | None) -> Caps:
        """What holds for a scope now."""
        return store.effective(own, self._together if scope == ALL else self._each)


def _problem(refused: Stopped | Exhausted | SetAside | TooLarge, charge: Charge) -> Problem:
    match refused:
        case Stopped(scope, why):
            return Problem(
                "spending.stopped",
                f"spending {_by(scope)} is stopped{f': {why}' if why else ''}; `brandctl spend resume` lets it go on",
                HTTPStatus.PAYMENT_REQUIRED,
                transient=True,
                after=_UNTIL_RESUMED,
            )
        case Exhausted(scope, period, cap, left, next_begins):
            return Problem(
                "budget.exhausted",
                f"{dollars(left)} of the {dollars(cap)} dollars that may be spent {_by(scope)} this {period.value} are"
                f" left, and this may cost {dollars(charge.amount)}; the next {period.value} begins at"
                f" {next_begins:%Y-%m-%d %H:%M} UTC, and `brandctl spend cap` raises the cap before",
                HTTPStatus.PAYMENT_REQUIRED,
                transient=True,
                retry_at=next_begins,
            )
        case SetAside(scope, period):
            return Problem(
                "budget.set_aside",
                f"what may still be spent {_by(scope)} this {period.value} is set aside for calls under way; some of it is"
                " free again when they have ended",
                HTTPStatus.PAYMENT_REQUIRED,
                transient=True,
                after=_UNTIL_SETTLED,
            )
        case TooLarge(scope, period, cap):
            return Problem(
                "budget.too_small",
                f"this may cost {dollars(charge.amount)} dollars, and no more than {dollars(cap)} may be spent"
                f" {_by(scope)} in any {period.value}: `brandctl spend cap` raises that",
                HTTPStatus.UNPROCESSABLE_ENTITY,
            )
        case other:
            assert_never(other)


def _by(scope: str) -> str:
    return "by all brands together" if scope == ALL else f"by the brand {scope}"
