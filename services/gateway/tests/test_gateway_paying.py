"""Calls on a real database, made by two instances as by two replicas: caps hold, each is paid once, none leaks."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus

import pytest

from chassis import Connection, Connections
from chassis.testing import eventually
from gateway.calls import Asked, Paying, fingerprint, store
from gateway.calls import paying as paying_module
from gateway.limits import Go, Wait
from gateway.money import Caps, Spending
from gateway.money import store as money
from gateway.outcomes import Failed, Paid
from gateway.problems import Problem, ProblemError

MakeDatabase = Callable[[str], Awaitable[str]]
CAP = 100
NONE = Caps(None, None)


async def at_once(_: Connection) -> Go:
    """A turn at the provider that is there at once."""
    now = datetime.now(UTC)
    return Go(now, now, None)


def asked(
    about: str, *, maximum: int = 10, key: str | None = None, fresh: float = 0, brand: str = "acme"
) -> Asked:
    return Asked(
        brand=brand,
        provider="model",
        subject="a-model",
        fingerprint=fingerprint(brand, about),
        maximum=maximum,
        within=timedelta(seconds=20),
        fresh=timedelta(seconds=fresh),
        key=key,
    )


def costs(amount: int) -> Callable[[], Awaitable[Paid]]:
    async def send() -> Paid:
        await asyncio.sleep(0)
        return Paid({"text": "an answer"}, amount, {"tokens": 3})

    return send


class Provider:
    """Counts what reaches it, and answers when told to."""

    def __init__(self) -> None:
        self.calls = 0
        self.answer = asyncio.Event()

    async def __call__(self) -> Paid:
        self.calls += 1
        await self.answer.wait()
        return Paid(self.calls, 7)


@pytest.fixture
async def url(make_database: MakeDatabase) -> str:
    return await make_database("gateway")


@pytest.fixture
async def connections(url: str) -> AsyncIterator[Connections]:
    opened = Connections(url, name="gateway test", size=4)
    await opened.open()
    yield opened
    await opened.close()


Replica = Callable[..., Awaitable[Paying]]


@pytest.fixture
async def replica(url: str) -> AsyncIterator[Replica]:
    """An instance with connections of its own."""
    opened: list[Connections] = []

    async def make(each: Caps = NONE, together: Caps = NONE) -> Paying:
        opened.append(Connections(url, name="gateway test", size=8))
        await opened[-1].open()
        return Paying(opened[-1], Spending(each, together), ledger=timedelta(days=400))

    yield make
    for each in opened:
        await each.close()


async def accounts(connections: Connections, scope: str = "acme") -> tuple[int, int]:
    """(reserved, spent) of the day."""
    async with connections.connection() as connection:
        row = await connection.fetchrow(
            "select reserved, spent from spend where scope = $1 and period = 'day'", scope
        )
    assert row is not None
    return row["reserved"], row["spent"]


async def states(connections: Connections) -> list[str]:
    async with connections.connection() as connection:
        return [row["state"] for row in await connection.fetch("select state from calls order by began_at")]


async def pass_the_leases(connections: Connections) -> None:
    async with connections.connection() as connection:
        await connection.execute("update calls set lease_until = clock_timestamp() where ended_at is null")


async def test_fifty_calls_at_once_over_two_replicas_spend_the_cap_and_nothing_more(
    replica: Replica, connections: Connections
) -> None:
    replicas = [await replica(Caps(CAP, None)), await replica(Caps(CAP, None))]

    async def call(number: int) -> bool:
        try:
            await replicas[number % 2].once(asked(f"question {number}", maximum=10), costs(10), at_once)
        except ProblemError as error:
            problem = error.problem
            assert problem.type in {"budget.exhausted", "budget.set_aside"}
            assert (problem.status, problem.transient) == (HTTPStatus.PAYMENT_REQUIRED, True)
            return False
        return True

    outcomes = await asyncio.gather(*(call(number) for number in range(50)))
    assert sum(outcomes) == CAP // 10
    assert await accounts(connections) == (0, CAP)
    assert await accounts(connections, "*") == (0, CAP)
    with pytest.raises(ProblemError, match=r"budget\.exhausted") as raised:
        await replicas[0].once(asked("one more", maximum=10), costs(10), at_once)
    retry_at = raised.value.problem.retry_at
    assert retry_at is not None
    assert (retry_at.hour, retry_at.minute) == (0, 0)


async def test_what_was_set_aside_and_not_spent_is_there_for_the_next(
    replica: Replica, connections: Connections
) -> None:
    paying = await replica(Caps(CAP, None))
    for number in range(9):
        await paying.once(asked(f"question {number}", maximum=60), costs(5), at_once)
    assert await accounts(connections) == (0, 45)
    with pytest.raises(ProblemError, match=r"budget\.exhausted"):
        await paying.once(asked("one more", maximum=60), costs(5), at_once)


async def test_all_brands_together_have_a_cap_too(replica: Replica, connections: Connections) -> None:
    paying = await replica(NONE, Caps(None, 15))
    await paying.once(asked("a", brand="acme"), costs(10), at_once)
    with pytest.raises(ProblemError, match="all brands together") as raised:
        await paying.once(asked("b", brand="other"), costs(10), at_once)
    retry_at = raised.value.problem.retry_at
    assert retry_at is not None
    assert retry_at.day == 1
    assert await accounts(connections, "*") == (0, 10)


async def test_the_same_command_five_times_over_two_replicas_is_paid_once(
    replica: Replica, connections: Connections
) -> None:
    replicas = [await replica(), await replica()]
    provider = Provider()
    deliveries = [
        asyncio.create_task(
            replicas[number % 2].once(asked("the article", key="event-1/outline"), provider, at_once)
        )
        for number in range(4)
    ]
    await eventually(lambda: provider.calls == 1)
    provider.answer.set()
    answers = await asyncio.gather(*deliveries)
    answers.append(await replicas[1].once(asked("the article", key="event-1/outline"), provider, at_once))
    assert [answer.value for answer in answers] == [1] * 5
    assert sorted(answer.spent for answer in answers) == [0, 0, 0, 0, 7]
    assert provider.calls == 1
    assert await accounts(connections) == (0, 7)


async def test_an_answer_is_given_to_others_while_it_is_fresh(replica: Replica) -> None:
    paying = await replica()
    provider = Provider()
    provider.answer.set()
    assert not (await paying.once(asked("a", fresh=60), provider, at_once)).kept
    assert (await paying.once(asked("a", fresh=60), provider, at_once)).kept
    assert not (await paying.once(asked("a", fresh=0), provider, at_once)).kept
    assert not (await paying.once(asked("a", fresh=60, brand="other"), provider, at_once)).kept


async def test_a_command_that_was_given_a_kept_answer_is_given_it_again_when_it_is_no_longer_fresh(
    replica: Replica, connections: Connections
) -> None:
    paying = await replica()
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

    assert (await paying.once(asked("a", fresh=7200, key="first"), provider, at_once)).spent == 7
    await grow_older(1)
    assert (await paying.once(asked("a", fresh=7200, key="second"), provider, at_once)).kept
    await grow_older(2)
    for key in ("first", "second"):
        assert (await paying.once(asked("a", fresh=7200, key=key), provider, at_once)).kept
    assert not (await paying.once(asked("a", fresh=7200, key="third"), provider, at_once)).kept
    assert provider.calls == 2


async def test_a_key_stands_for_one_request(replica: Replica) -> None:
    paying = await replica()
    await paying.once(asked("a", key="event-1"), costs(1), at_once)
    with pytest.raises(ProblemError, match=r"key\.used"):
        await paying.once(asked("b", key="event-1"), costs(1), at_once)
    await paying.once(asked("b", key="event-1", brand="other"), costs(1), at_once)


async def test_a_call_that_takes_long_is_not_waited_for_by_others_and_answers_them_later(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process may be dead, and its lease have minutes left: whoever waits keeps others from being served at home."""
    monkeypatch.setattr(paying_module, "_FOLLOWED", timedelta(seconds=0.2))
    one, other = await replica(), await replica()
    provider = Provider()
    making = asyncio.create_task(one.once(asked("a", key="event-1"), provider, at_once))
    await eventually(lambda: provider.calls)

    with pytest.raises(ProblemError) as refused:
        await other.once(asked("a", key="event-1"), provider, at_once)
    assert (refused.value.problem.type, refused.value.problem.after) == (
        "call.under_way",
        timedelta(seconds=15),
    )
    provider.answer.set()
    await making
    assert (await other.once(asked("a", key="event-1"), provider, at_once)).kept
    assert provider.calls == 1


async def test_those_who_wait_for_a_call_that_fails_hear_why_and_the_next_tries_again(
    replica: Replica, connections: Connections
) -> None:
    replicas = [await replica(), await replica()]
    away = Problem("provider.away", "it is away", HTTPStatus.SERVICE_UNAVAILABLE, transient=True)
    begun, fail = asyncio.Event(), asyncio.Event()

    async def send() -> Paid:
        begun.set()
        await fail.wait()
        raise Failed(away)

    calls = [asyncio.create_task(each.once(asked("a", key="k"), send, at_once)) for each in replicas]
    await begun.wait()
    fail.set()
    for call in calls:
        with pytest.raises(ProblemError) as raised:
            await call
        assert raised.value.problem == away
    assert await accounts(connections) == (0, 0)
    assert (await replicas[0].once(asked("a", key="k"), costs(3), at_once)).spent == 3


async def test_a_failure_that_may_have_been_charged_counts_in_full(
    replica: Replica, connections: Connections
) -> None:
    paying = await replica()

    async def send() -> Paid:
        raise Failed(Problem("provider.away", "broke off", HTTPStatus.SERVICE_UNAVAILABLE), spent=None)

    with pytest.raises(ProblemError, match="broke off"):
        await paying.once(asked("a", maximum=9), send, at_once)
    assert (await accounts(connections), await states(connections)) == ((0, 9), ["settled"])


async def test_a_caller_who_goes_away_finds_the_answer_when_he_asks_again(replica: Replica) -> None:
    paying = await replica()
    provider = Provider()
    gone = asyncio.create_task(paying.once(asked("a", key="k"), provider, at_once))
    await eventually(lambda: provider.calls)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    provider.answer.set()
    await paying.finish(20)
    again = await paying.once(asked("a", key="k"), provider, at_once)
    assert (again.value, again.spent, provider.calls) == (1, 0, 1)


async def test_a_call_that_never_had_its_turn_costs_nothing(
    replica: Replica, connections: Connections
) -> None:
    paying = await replica()
    limited = Problem("limit.reached", "later", HTTPStatus.TOO_MANY_REQUESTS, transient=True)

    async def never(_: Connection) -> Wait:
        return Wait(timedelta(hours=1), limited)

    with pytest.raises(ProblemError, match=r"limit\.reached"):
        await paying.once(asked("a"), costs(5), never)
    assert (await accounts(connections), await states(connections)) == ((0, 0), ["released"])


async def test_the_switch_stops_what_is_not_sent_yet(replica: Replica, connections: Connections) -> None:
    paying = await replica()
    async with connections.connection() as connection:
        await connection.execute(
            "insert into caps (scope, stopped_at, stopped_why) values ('*', now(), 'a leak')"
        )
    with pytest.raises(ProblemError, match="a leak"):
        await paying.once(asked("a"), costs(5), at_once)


DYING = """
import asyncio, sys
from datetime import UTC, datetime, timedelta
from chassis import Connections
from gateway.calls import Asked, Paying, fingerprint
from gateway.limits import Go, Wait
from gateway.money import Caps, Spending

async def main():
    connections = Connections(sys.argv[1], name="dying", size=2)
    await connections.open()
    paying = Paying(connections, Spending(Caps(100, None), Caps(None, None)), ledger=timedelta(days=400))

    async def wait(_=None):
        print("here", flush=True)
        await asyncio.Event().wait()

    turns = 0

    async def turn(_):
        nonlocal turns
        turns += 1
        if turns == 1 and sys.argv[2] == "reserved":
            return Wait(timedelta(), None)
        if sys.argv[2] != "sent":
            await wait()
        now = datetime.now(UTC)
        return Go(now, now, None)

    asked = Asked("acme", "model", "a-model", fingerprint("acme", "a"), 60, timedelta(seconds=20), timedelta())
    await paying.once(asked, wait, turn)

asyncio.run(main())
"""


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

    paying = await replica(Caps(100, None))
    await paying.sweep()
    assert await states(connections) == [where], "its lease has not ended yet"
    with pytest.raises(ProblemError, match=r"budget\.set_aside"):
        await paying.once(asked("b", maximum=60), costs(1), at_once)
    await pass_the_leases(connections)
    await asyncio.gather(paying.sweep(), (await replica()).sweep())
    assert (await accounts(connections), await states(connections)) == ((0, spent), [state])
    # Whoever asks for the same again is not told that it is under way.
    again = await (await replica()).once(asked("a", maximum=30), costs(2), at_once)
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
    answer = await (await replica(Caps(60, None))).once(asked("a", maximum=60), costs(2), at_once)
    assert (answer.spent, await accounts(connections)) == (2, (0, 2))


async def test_what_was_answered_while_one_waited_for_the_accounts_is_not_asked_again(
    replica: Replica, connections: Connections
) -> None:
    """And the turn that was taken for it in vain is given back."""
    replicas = [await replica(), await replica()]
    provider = Provider()
    provider.answer.set()
    turns = 0

    async def turn(connection: Connection) -> Go:
        nonlocal turns
        turns += 1
        await connection.execute(
            "insert into hosts (host, next_request_at) values (gen_random_uuid()::text, clock_timestamp())"
        )
        return await at_once(connection)

    await replicas[0].once(asked("first, so that there are accounts"), costs(0), at_once)
    async with connections.connection() as connection:
        async with connection.transaction():
            await connection.execute("select from spend for update")
            both = [asyncio.create_task(each.once(asked("a", fresh=60), provider, turn)) for each in replicas]
            await eventually(lambda: waiting_for_locks(connections, 2))
        answers = await asyncio.gather(*both)
        turns_taken = await connection.fetchval("select count(*) from hosts")
    assert [answer.value for answer in answers] == [1, 1]
    assert sorted(answer.spent for answer in answers) == [0, 7]
    assert (provider.calls, turns, turns_taken) == (1, 2, 1)
    assert await accounts(connections) == (0, 7)


async def waiting_for_locks(connections: Connections, wanted: int) -> bool:
    async with connections.connection() as connection:
        found = await connection.fetchval(
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        )
    return bool(found == wanted)


async def test_a_cap_that_is_set_while_a_call_waits_for_the_accounts_counts(
    replica: Replica, connections: Connections
) -> None:
    paying = await replica()
    await paying.once(asked("first, so that there are accounts"), costs(5), at_once)
    async with connections.connection() as connection:
        async with connection.transaction():
            await connection.execute("select from spend for update")
            call = asyncio.create_task(paying.once(asked("a", maximum=10), costs(1), at_once))
            await eventually(lambda: waiting_for_locks(connections, 1))
            async with connections.connection() as other:
                await other.execute("insert into caps (scope, day) values ('acme', 14)")
        with pytest.raises(ProblemError, match=r"budget\.exhausted"):
            await call
    assert (await accounts(connections), await states(connections)) == ((0, 5), ["settled"])


@pytest.mark.parametrize(("sent", "state", "spent"), [(True, "settled", 7), (False, "released", 0)])
async def test_an_answer_that_waits_for_the_accounts_while_its_call_is_given_up_corrects_that(
    sent: bool, state: str, spent: int, replica: Replica, connections: Connections
) -> None:
    """One that was never sent stays released; in neither case is anything set aside any more, nor counted twice."""
    slow = await replica()
    provider = Provider()
    call = asyncio.create_task(slow.once(asked("a", maximum=60), provider, at_once))
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
        (found,) = await store.overdue(connection, 10)
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
    call = asyncio.create_task(slow.once(asked("a", maximum=60), provider, at_once))
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
    limited = Problem("limit.reached", "later", HTTPStatus.TOO_MANY_REQUESTS, transient=True)
    turns = 0

    async def too_long(_: Connection) -> Go | Wait:
        nonlocal turns
        turns += 1
        if turns == 1:
            return Wait(timedelta(), limited)
        await pass_the_leases(connections)
        await other.sweep()
        return await at_once(_)

    provider = Provider()
    with pytest.raises(ProblemError, match="did not come in time"):
        await slow.once(asked("a"), provider, too_long)
    assert (provider.calls, await accounts(connections)) == (0, (0, 0))
