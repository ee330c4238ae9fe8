"""Calls on a real database, made by two instances as by two replicas: each is paid once."""

import asyncio
from datetime import timedelta
from http import HTTPStatus

import pytest

from chassis import Connection, Connections
from chassis.testing import eventually
from gateway.calls import paid_calls as paying_module
from gateway.limits import Permit
from gateway.outcomes import AnsweredCall, FailedCall
from gateway.problems import CallProblem, CallProblemError
from tests.fixtures.paid_calls.calls import (
    Provider,
    Replica,
    accounts,
    asked,
    at_once,
    costs,
    waiting_for_locks,
)


async def test_the_same_command_five_times_over_two_replicas_is_paid_once(
    replica: Replica, connections: Connections
) -> None:
    replicas = [await replica(), await replica()]
    provider = Provider()
    deliveries = [
        asyncio.create_task(
            replicas[number % 2].execute(asked("the article", key="event-1/outline"), provider, at_once)
        )
        for number in range(4)
    ]
    await eventually(lambda: provider.calls == 1)
    provider.answer.set()
    answers = await asyncio.gather(*deliveries)
    answers.append(await replicas[1].execute(asked("the article", key="event-1/outline"), provider, at_once))
    assert [answer.value for answer in answers] == [1] * 5
    assert sorted(answer.spent for answer in answers) == [0, 0, 0, 0, 7]
    assert provider.calls == 1
    assert await accounts(connections) == (0, 7)


async def test_an_answer_is_given_to_others_while_it_is_fresh(replica: Replica) -> None:
    paid_calls = await replica()
    provider = Provider()
    provider.answer.set()
    assert not (await paid_calls.execute(asked("a", fresh=60), provider, at_once)).kept
    assert (await paid_calls.execute(asked("a", fresh=60), provider, at_once)).kept
    assert not (await paid_calls.execute(asked("a", fresh=0), provider, at_once)).kept
    assert not (await paid_calls.execute(asked("a", fresh=60, brand="other"), provider, at_once)).kept


async def test_a_command_that_was_given_a_kept_answer_is_given_it_again_when_it_is_no_longer_fresh(
    replica: Replica, connections: Connections
) -> None:
    paid_calls = await replica()
    provider = Provider()
    provider.answer.set()

    async def grow_older(hours: int) -> None:
        async with connections.connection() as connection:
            await connection.execute(
                "update calls set ended_at = ended_at - make_interval(hours => $1)", hours
            )
            await connection.execute(
                "update idempotency_keys set began_at = began_at - make_interval(hours => $1)", hours
            )

    assert (await paid_calls.execute(asked("a", fresh=7200, key="first"), provider, at_once)).spent == 7
    await grow_older(1)
    assert (await paid_calls.execute(asked("a", fresh=7200, key="second"), provider, at_once)).kept
    await grow_older(2)
    for key in ("first", "second"):
        assert (await paid_calls.execute(asked("a", fresh=7200, key=key), provider, at_once)).kept
    assert not (await paid_calls.execute(asked("a", fresh=7200, key="third"), provider, at_once)).kept
    assert provider.calls == 2


async def test_a_key_stands_for_one_request(replica: Replica) -> None:
    paid_calls = await replica()
    await paid_calls.execute(asked("a", key="event-1"), costs(1), at_once)
    with pytest.raises(CallProblemError, match=r"key\.used"):
        await paid_calls.execute(asked("b", key="event-1"), costs(1), at_once)
    await paid_calls.execute(asked("b", key="event-1", brand="other"), costs(1), at_once)


async def test_a_call_that_takes_long_is_not_waited_for_by_others_and_answers_them_later(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process may be dead, and its lease have minutes left: a caller that waits keeps others from being served at home."""
    monkeypatch.setattr(paying_module, "_FOLLOWED", timedelta(seconds=0.2))
    one, other = await replica(), await replica()
    provider = Provider()
    making = asyncio.create_task(one.execute(asked("a", key="event-1"), provider, at_once))
    await eventually(lambda: provider.calls)

    with pytest.raises(CallProblemError) as refused:
        await other.execute(asked("a", key="event-1"), provider, at_once)
    assert (refused.value.problem.type, refused.value.problem.after) == (
        "call.under_way",
        timedelta(seconds=15),
    )
    provider.answer.set()
    await making
    assert (await other.execute(asked("a", key="event-1"), provider, at_once)).kept
    assert provider.calls == 1


async def test_those_who_wait_for_a_call_that_fails_hear_why_and_the_next_tries_again(
    replica: Replica, connections: Connections
) -> None:
    replicas = [await replica(), await replica()]
    away = CallProblem("provider.away", "it is away", HTTPStatus.SERVICE_UNAVAILABLE, transient=True)
    begun, fail = asyncio.Event(), asyncio.Event()

    async def send() -> AnsweredCall:
        begun.set()
        await fail.wait()
        raise FailedCall(away)

    calls = [asyncio.create_task(each.execute(asked("a", key="k"), send, at_once)) for each in replicas]
    await begun.wait()
    fail.set()
    for call in calls:
        with pytest.raises(CallProblemError) as raised:
            await call
        assert raised.value.problem == away
    assert await accounts(connections) == (0, 0)
    assert (await replicas[0].execute(asked("a", key="k"), costs(3), at_once)).spent == 3


async def test_a_caller_who_goes_away_finds_the_answer_when_he_asks_again(replica: Replica) -> None:
    paid_calls = await replica()
    provider = Provider()
    gone = asyncio.create_task(paid_calls.execute(asked("a", key="k"), provider, at_once))
    await eventually(lambda: provider.calls)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    provider.answer.set()
    await paid_calls.finish(20)
    again = await paid_calls.execute(asked("a", key="k"), provider, at_once)
    assert (again.value, again.spent, provider.calls) == (1, 0, 1)


async def test_what_was_answered_while_one_waited_for_the_accounts_is_not_asked_again(
    replica: Replica, connections: Connections
) -> None:
    """And the turn that was taken for it in vain is given back."""
    replicas = [await replica(), await replica()]
    provider = Provider()
    provider.answer.set()
    rate_limiter = 0

    async def turn(connection: Connection) -> Permit:
        nonlocal rate_limiter
        rate_limiter += 1
        await connection.execute(
            "insert into hosts (host, next_request_at) values (gen_random_uuid()::text, clock_timestamp())"
        )
        return await at_once(connection)

    await replicas[0].execute(asked("first, so that there are accounts"), costs(0), at_once)
    async with connections.connection() as connection:
        async with connection.transaction():
            await connection.execute("select from spend for update")
            both = [
                asyncio.create_task(each.execute(asked("a", fresh=60), provider, turn)) for each in replicas
            ]
            await eventually(lambda: waiting_for_locks(connections, 2))
        answers = await asyncio.gather(*both)
        turns_taken = await connection.fetchval("select count(*) from hosts")
    assert [answer.value for answer in answers] == [1, 1]
    assert sorted(answer.spent for answer in answers) == [0, 7]
    assert (provider.calls, rate_limiter, turns_taken) == (1, 2, 1)
    assert await accounts(connections) == (0, 7)
