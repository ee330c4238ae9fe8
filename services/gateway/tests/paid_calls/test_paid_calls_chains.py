"""Chains with a limit, on a real database and two instances: no call passes it, and the books are right."""

import asyncio
from http import HTTPStatus

import pytest

from chassis import Connections
from chassis.http import chain_headers
from chassis.http.chain_headers import ChainContext
from chassis.testing import eventually
from gateway.calls import CallAnswer, PaidCalls
from gateway.outcomes import FailedCall
from gateway.problems import CallProblem, CallProblemError
from tests.fixtures.paid_calls.calls import (
    CAP,
    Provider,
    Replica,
    accounts,
    asked,
    at_once,
    costs,
    pass_the_leases,
    states,
)

CHAIN = ChainContext("chain-1", CAP)


async def spent(connections: Connections, chain: str = "chain-1") -> tuple[int, int]:
    """(reserved, spent) of the chain."""
    async with connections.connection() as connection:
        row = await connection.fetchrow(
            "select reserved, spent from chain_spend where brand = 'acme' and chain = $1", chain
        )
    assert row is not None
    return row["reserved"], row["spent"]


async def call(
    paid_calls: PaidCalls, about: str, cost: int, chain: ChainContext | None = CHAIN
) -> CallAnswer:
    with chain_headers.within(chain):
        return await paid_calls.execute(asked(about, maximum=10), costs(cost), at_once)


async def test_calls_at_once_over_two_replicas_spend_what_the_chain_may_cost_and_nothing_more(
    replica: Replica, connections: Connections
) -> None:
    replicas = [await replica(), await replica()]
    refused: set[str] = set()

    async def tried(number: int) -> bool:
        try:
            await call(replicas[number % 2], f"question {number}", 10)
        except CallProblemError as error:
            refused.add(error.problem.type)
            return False
        return True

    outcomes = await asyncio.gather(*(tried(number) for number in range(30)))

    assert sum(outcomes) == CAP // 10
    assert refused <= {"cost.reached", "budget.set_aside"}
    assert await spent(connections) == (0, CAP)
    with pytest.raises(CallProblemError) as raised:
        await call(replicas[0], "one more", 10)
    problem = raised.value.problem
    assert (problem.type, problem.status, problem.transient) == (
        "cost.reached",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        False,
    )
    assert problem.detail == (
        "0.00 of the 0.0001 dollars that the request may cost are left, and this call may cost 0.00001"
    )
    # Neither another chain nor work without one is concerned.
    await call(replicas[0], "of another", 10, ChainContext("chain-2", CAP))
    await call(replicas[1], "of none", 10, None)
    assert await accounts(connections) == (0, CAP + 20)


async def test_what_was_not_spent_is_there_for_the_next_and_a_raised_limit_holds(
    replica: Replica, connections: Connections
) -> None:
    paid_calls = await replica()
    for number in range(9):
        await call(paid_calls, f"question {number}", 1, ChainContext("chain-1", 18))
    with pytest.raises(CallProblemError, match=r"cost\.reached"):
        await call(paid_calls, "one more", 1, ChainContext("chain-1", 18))

    await call(paid_calls, "one more", 1, ChainContext("chain-1", 20))

    assert await spent(connections) == (0, 10)


async def test_a_kept_answer_and_a_call_that_costs_nothing_are_given_after_the_limit(
    replica: Replica,
) -> None:
    paid_calls = await replica()
    with chain_headers.within(ChainContext("chain-1", 10)):
        await paid_calls.execute(asked("a", maximum=10, key="step"), costs(10), at_once)
        again = await paid_calls.execute(asked("a", maximum=10, key="step"), costs(10), at_once)
        free = await paid_calls.execute(asked("b", maximum=0), costs(0), at_once)
    assert (again.kept, again.spent) == (True, 0)
    assert free.spent == 0


async def test_a_refusal_costs_the_chain_nothing_and_a_call_of_a_dead_process_its_maximum(
    replica: Replica, connections: Connections
) -> None:
    paid_calls = await replica()

    async def refused() -> None:
        raise FailedCall(
            CallProblem("provider.refused_request", "no", HTTPStatus.UNPROCESSABLE_ENTITY), spent=0
        )

    with chain_headers.within(CHAIN):
        with pytest.raises(CallProblemError, match=r"provider\.refused_request"):
            await paid_calls.execute(asked("a", maximum=10), refused, at_once)  # type: ignore[arg-type]
        assert await spent(connections) == (0, 0)
        provider = Provider()
        calling = asyncio.create_task(paid_calls.execute(asked("b", maximum=10), provider, at_once))
        await eventually(lambda: provider.calls)
    assert await spent(connections) == (10, 0)
    await pass_the_leases(connections)

    await paid_calls.sweep()

    assert await spent(connections) == (0, 10)
    assert await states(connections) == ["released", "presumed"]
    # The process was merely slow, and corrects it.
    provider.answer.set()
    await calling
    assert await spent(connections) == (0, 7)
    assert await accounts(connections) == (0, 7)
