"""Calls on a real database, made by two instances as by two replicas: caps hold."""

import asyncio
from datetime import timedelta
from http import HTTPStatus

import pytest

from chassis import Connection, Connections
from chassis.testing import eventually
from gateway.limits import PermitDelay
from gateway.money import SpendingCaps
from gateway.outcomes import AnsweredCall, FailedCall
from gateway.problems import CallProblem, CallProblemError
from tests.fixtures.paid_calls.calls import (
    CAP,
    NONE,
    Replica,
    accounts,
    asked,
    at_once,
    costs,
    states,
    waiting_for_locks,
)


@pytest.mark.extended
async def test_fifty_calls_at_once_over_two_replicas_spend_the_cap_and_nothing_more(
    replica: Replica, connections: Connections
) -> None:
    replicas = [await replica(SpendingCaps(CAP, None)), await replica(SpendingCaps(CAP, None))]

    async def call(number: int) -> bool:
        try:
            await replicas[number % 2].execute(asked(f"question {number}", maximum=10), costs(10), at_once)
        except CallProblemError as error:
            problem = error.problem
            assert problem.type in {"budget.exhausted", "budget.set_aside"}
            assert (problem.status, problem.transient) == (HTTPStatus.PAYMENT_REQUIRED, True)
            return False
        return True

    outcomes = await asyncio.gather(*(call(number) for number in range(50)))
    assert sum(outcomes) == CAP // 10
    assert await accounts(connections) == (0, CAP)
    assert await accounts(connections, "*") == (0, CAP)
    with pytest.raises(CallProblemError, match=r"budget\.exhausted") as raised:
        await replicas[0].execute(asked("one more", maximum=10), costs(10), at_once)
    retry_at = raised.value.problem.retry_at
    assert retry_at is not None
    assert (retry_at.hour, retry_at.minute) == (0, 0)


async def test_what_was_set_aside_and_not_spent_is_there_for_the_next(
    replica: Replica, connections: Connections
) -> None:
    paid_calls = await replica(SpendingCaps(CAP, None))
    for number in range(9):
        await paid_calls.execute(asked(f"question {number}", maximum=60), costs(5), at_once)
    assert await accounts(connections) == (0, 45)
    with pytest.raises(CallProblemError, match=r"budget\.exhausted"):
        await paid_calls.execute(asked("one more", maximum=60), costs(5), at_once)


async def test_all_brands_together_have_a_cap_too(replica: Replica, connections: Connections) -> None:
    paid_calls = await replica(NONE, SpendingCaps(None, 15))
    await paid_calls.execute(asked("a", brand="acme"), costs(10), at_once)
    with pytest.raises(CallProblemError, match="all brands together") as raised:
        await paid_calls.execute(asked("b", brand="other"), costs(10), at_once)
    retry_at = raised.value.problem.retry_at
    assert retry_at is not None
    assert retry_at.day == 1
    assert await accounts(connections, "*") == (0, 10)


async def test_a_failure_that_may_have_been_charged_counts_in_full(
    replica: Replica, connections: Connections
) -> None:
    paid_calls = await replica()

    async def send() -> AnsweredCall:
        raise FailedCall(
            CallProblem("provider.away", "broke off", HTTPStatus.SERVICE_UNAVAILABLE), spent=None
        )

    with pytest.raises(CallProblemError, match="broke off"):
        await paid_calls.execute(asked("a", maximum=9), send, at_once)
    assert (await accounts(connections), await states(connections)) == ((0, 9), ["settled"])


async def test_a_call_that_never_had_its_turn_costs_nothing(
    replica: Replica, connections: Connections
) -> None:
    paid_calls = await replica()
    limited = CallProblem("limit.reached", "later", HTTPStatus.TOO_MANY_REQUESTS, transient=True)

    async def never(_: Connection) -> PermitDelay:
        return PermitDelay(timedelta(hours=1), limited)

    with pytest.raises(CallProblemError, match=r"limit\.reached"):
        await paid_calls.execute(asked("a"), costs(5), never)
    assert (await accounts(connections), await states(connections)) == ((0, 0), ["released"])


async def test_the_switch_stops_what_is_not_sent_yet(replica: Replica, connections: Connections) -> None:
    paid_calls = await replica()
    async with connections.connection() as connection:
        await connection.execute(
            "insert into caps (scope, stopped_at, stopped_why) values ('*', now(), 'a leak')"
        )
    with pytest.raises(CallProblemError, match="a leak"):
        await paid_calls.execute(asked("a"), costs(5), at_once)


async def test_a_cap_that_is_set_while_a_call_waits_for_the_accounts_counts(
    replica: Replica, connections: Connections
) -> None:
    paid_calls = await replica()
    await paid_calls.execute(asked("first, so that there are accounts"), costs(5), at_once)
    async with connections.connection() as connection:
        async with connection.transaction():
            await connection.execute("select from spend for update")
            call = asyncio.create_task(paid_calls.execute(asked("a", maximum=10), costs(1), at_once))
            await eventually(lambda: waiting_for_locks(connections, 1))
            async with connections.connection() as other:
                await other.execute("insert into caps (scope, day) values ('acme', 14)")
        with pytest.raises(CallProblemError, match=r"budget\.exhausted"):
            await call
    assert (await accounts(connections), await states(connections)) == ((0, 5), ["settled"])
