"""Calls of processes that were killed, slow or late: none leaks, and the books are right."""

import asyncio
import os
import signal
import sys
from datetime import timedelta
from http import HTTPStatus

import pytest

from chassis import Connection, Connections
from chassis.testing import eventually
from gateway.calls import store
from gateway.limits import Permit, PermitDelay
from gateway.money import SpendingCaps
from gateway.money import store as money
from gateway.problems import CallProblem, CallProblemError
from tests.fixtures.paid_calls.calls import (
    Provider,
    Replica,
    accounts,
    asked,
    at_once,
    costs,
    pass_the_leases,
    states,
    waiting_for_locks,
)

DYING = """
import asyncio, sys
from datetime import UTC, datetime, timedelta
from chassis import Connections
from gateway.calls import CallRequest, PaidCalls, fingerprint
from gateway.limits import Permit, PermitDelay
from gateway.money import SpendingCaps, SpendingControl

async def main():
    connections = Connections(sys.argv[1], name="dying", size=2)
    await connections.open()
    paid_calls = PaidCalls(connections, SpendingControl(SpendingCaps(100, None), SpendingCaps(None, None)), ledger=timedelta(days=400))

    async def wait(_=None):
        print("here", flush=True)
        await asyncio.Event().wait()

    turns = 0

    async def turn(_):
        nonlocal turns
        turns += 1
        if turns == 1 and sys.argv[2] == "reserved":
            return PermitDelay(timedelta(), None)
        if sys.argv[2] != "sent":
            await wait()
        now = datetime.now(UTC)
        return Permit(now, now, None)

    request = CallRequest("acme", "model", "a-model", fingerprint("acme", "a"), 60, timedelta(seconds=20), timedelta())
    await paid_calls.execute(request, wait, turn)

asyncio.run(main())
"""


@pytest.mark.extended
@pytest.mark.parametrize(("where", "state", "spent"), [("reserved", "released", 0), ("sent", "presumed", 60)])
async def test_a_process_killed_in_the_midst_of_a_call_leaves_no_leak(
    where: str, state: str, spent: int, url: str, replica: Replica, connections: Connections
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DYING, url, where, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"here\n"
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()
    assert (await accounts(connections), await states(connections)) == ((60, 0), [where])

    paid_calls = await replica(SpendingCaps(100, None))
    await paid_calls.sweep()
    assert await states(connections) == [where], "its lease has not ended yet"
    with pytest.raises(CallProblemError, match=r"budget\.set_aside"):
        await paid_calls.execute(asked("b", maximum=60), costs(1), at_once)
    await pass_the_leases(connections)
    await asyncio.gather(paid_calls.sweep(), (await replica()).sweep())
    assert (await accounts(connections), await states(connections)) == ((0, spent), [state])
    # Whoever asks for the same again is not told that it is under way.
    again = await (await replica()).execute(asked("a", maximum=30), costs(2), at_once)
    assert (again.spent, await accounts(connections)) == (2, (0, spent + 2))


async def test_a_process_killed_before_a_call_is_written_leaves_nothing(
    url: str, replica: Replica, connections: Connections
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DYING, url, "turn", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"here\n"
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()
    assert await states(connections) == []
    answer = await (await replica(SpendingCaps(60, None))).execute(asked("a", maximum=60), costs(2), at_once)
    assert (answer.spent, await accounts(connections)) == (2, (0, 2))


@pytest.mark.parametrize(("sent", "state", "spent"), [(True, "settled", 7), (False, "released", 0)])
async def test_an_answer_that_waits_for_the_accounts_while_its_call_is_given_up_corrects_that(
    sent: bool, state: str, spent: int, replica: Replica, connections: Connections
) -> None:
    """One that was never sent stays released; in neither case is anything set aside any more, nor counted twice."""
    slow = await replica()
    provider = Provider()
    call = asyncio.create_task(slow.execute(asked("a", maximum=60), provider, at_once))
    await eventually(lambda: provider.calls)
    if not sent:
        async with connections.connection() as connection:
            await connection.execute("update calls set state = 'reserved'")
    await pass_the_leases(connections)
    async with connections.connection() as connection, connection.transaction():
        # As `give_up` does it, slowly.
        await connection.execute("select from spend order by scope, period for update")
        provider.answer.set()
        await eventually(lambda: waiting_for_locks(connections, 1))
        (found,) = await store.list_overdue(connection, 10)
        presumed = await store.give_up(connection, found.id)
        counted = 60 if presumed == "presumed" else 0
        await money.add(connection, found.charge, reserved=-60, spent=counted)
    await call
    assert presumed == ("presumed" if sent else "released")
    assert (await accounts(connections), await states(connections)) == ((0, spent), [state])
    assert await accounts(connections, "*") == (0, spent)


async def test_a_process_that_was_only_slow_corrects_what_was_presumed(
    replica: Replica, connections: Connections
) -> None:
    slow, other = await replica(), await replica()
    provider = Provider()
    call = asyncio.create_task(slow.execute(asked("a", maximum=60), provider, at_once))
    await eventually(lambda: provider.calls)
    await pass_the_leases(connections)
    await other.sweep()
    assert await accounts(connections) == (0, 60)
    provider.answer.set()
    await call
    assert (await accounts(connections), await states(connections)) == ((0, 7), ["settled"])


async def test_whoever_waited_too_long_for_his_turn_does_not_send(
    replica: Replica, connections: Connections
) -> None:
    slow, other = await replica(), await replica()
    limited = CallProblem("limit.reached", "later", HTTPStatus.TOO_MANY_REQUESTS, transient=True)
    rate_limiter = 0

    async def too_long(_: Connection) -> Permit | PermitDelay:
        nonlocal rate_limiter
        rate_limiter += 1
        if rate_limiter == 1:
            return PermitDelay(timedelta(), limited)
        await pass_the_leases(connections)
        await other.sweep()
        return await at_once(_)

    provider = Provider()
    with pytest.raises(CallProblemError, match="did not come in time"):
        await slow.execute(asked("a"), provider, too_long)
    assert (provider.calls, await accounts(connections)) == (0, (0, 0))
