"""Unanswered requests: never sent again too soon, never called refused, never made for another user."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from messaging import RetryLater, WaitFor
from receipts import (
    AccountResponse,
    AccountSummary,
    ClockOffset,
    EffectInDoubt,
    EffectPerformed,
    EffectRefused,
    Step,
    StepInHand,
    UnknownOutcome,
)
from receipts.answers import expect
from receipts.errors import DoubtfulOutcome
from shared.receipts.tests.conftest import SETTLED, World

ANN, BOB = ("user:ann", "connection:1"), ("user:bob", "connection:2")


def connected(*identities: str) -> tuple[AccountSummary, ...]:
    return (AccountSummary("plain", "plain", "@acme", "ok", identities=identities),)


async def _put(work: StepInHand) -> dict[str, Any]:
    answer = expect(await work.account.request("PUT", "/items/7", json={"text": work.prepared["text"]}))
    return {"id": answer.json["id"]}


async def _lose(world: World, steps: list[Step]) -> None:
    with pytest.raises((RetryLater, WaitFor)):
        await world.receipts.perform(world.effect, steps)


# -- late commits ------------------------------------------------------------------------------------------------------


async def test_what_is_done_45_seconds_after_the_request_is_found(world: World) -> None:
    world.plain.faults.inject("reset_before", "POST /items")
    await _lose(world, world.steps())
    await world.pass_time(11)
    with pytest.raises(WaitFor) as waits:
        await world.receipts.perform(world.effect, world.steps())
    assert waits.value.after is not None
    assert waits.value.after > timedelta(seconds=100)
    world.plain.answer(next(each for each in world.plain.requests if each.method == "POST"))
    await world.pass_time(SETTLED)
    assert isinstance(await world.receipts.perform(world.effect, world.steps()), EffectPerformed)
    assert world.texts == ["Hello"]


# -- refused after a lost answer -----------------------------------------------------------------------------------------


async def test_what_may_be_there_is_in_doubt_when_the_account_is_refused(world: World) -> None:
    steps = [Step("put", _put, repeatable=True)]
    world.plain.faults.inject("reset_after", "PUT /items/*")
    world.plain.faults.inject("expired", "PUT /items/*")
    await _lose(world, steps)
    doubt = await world.receipts.perform(world.effect, steps)
    assert isinstance(doubt, EffectInDoubt)
    assert "may be there" in doubt.detail
    assert world.texts == ["Hello"]


async def test_what_nobody_sees_is_refused_all_the_same(world: World) -> None:
    steps = [Step("put", _put, repeatable=True, unseen=True)]
    world.plain.faults.inject("reset_after", "PUT /items/*")
    world.plain.faults.inject("expired", "PUT /items/*")
    await _lose(world, steps)
    with pytest.raises(EffectRefused):
        await world.receipts.perform(world.effect, steps)


async def test_what_was_held_back_after_a_lost_answer_is_not_forgotten(world: World) -> None:
    steps = [Step("put", _put, repeatable=True)]
    for fault in ("reset_after", "limited", "expired"):
        world.plain.faults.inject(fault, "PUT /items/*")  # type: ignore[arg-type]
    await _lose(world, steps)
    await _lose(world, steps)
    await world.pass_time(SETTLED)
    assert isinstance(await world.receipts.perform(world.effect, steps), EffectInDoubt)


async def test_what_a_receipt_of_before_has_lost_is_in_doubt_too(world: World) -> None:
    """As a replica of the version before leaves it: without the new columns."""
    steps = [Step("put", _put, repeatable=True)]
    world.plain.faults.inject("reset_after", "PUT /items/*")
    await _lose(world, steps)
    await world.pool.execute("update receipts set identity = null, unanswered = null")
    world.plain.faults.inject("expired", "PUT /items/*")
    assert isinstance(await world.receipts.perform(world.effect, steps), EffectInDoubt)


async def test_a_redirect_after_a_post_says_nothing_about_it(world: World) -> None:
    for status in (302, 303):
        with pytest.raises(UnknownOutcome):
            expect(AccountResponse(status))
    world.plain.faults.inject("error_after", "POST /items", status=303)
    await _lose(world, world.steps())
    await world.pass_time(SETTLED)
    assert isinstance(await world.receipts.perform(world.effect, world.steps()), EffectPerformed)
    assert world.texts == ["Hello"]


async def test_whoever_gives_up_asks_a_person_about_what_may_be_there(world: World) -> None:
    steps = [Step("put", _put, repeatable=True)]
    world.plain.faults.inject("error_after", "PUT /items/*")
    await _lose(world, steps)
    assert isinstance(await world.receipts.give_up(world.effect, steps), EffectInDoubt)
    assert await world.state() == "in_doubt"
    await world.receipts.repeat(world.effect.receipt_id, by="ann")
    assert isinstance(await world.receipts.perform(world.effect, steps), EffectPerformed)


async def test_whoever_gives_up_on_what_was_never_sent_asks_nobody(world: World) -> None:
    steps = [Step("put", _put, repeatable=True)]
    world.plain.faults.inject("limited", "PUT /items/*")
    await _lose(world, steps)
    assert await world.receipts.give_up(world.effect, steps) is None


async def test_what_no_look_up_can_tell_is_in_doubt_at_once(world: World) -> None:
    async def send(_: StepInHand) -> dict[str, Any]:
        raise DoubtfulOutcome("it says that it has it already, and shows none")

    assert isinstance(await world.receipts.perform(world.effect, world.steps(send=send)), EffectInDoubt)


# -- connected as another user -------------------------------------------------------------------------------------------


async def test_what_may_be_there_for_one_user_is_not_made_for_another(world: World) -> None:
    world.door.reconnect(connected(*ANN))
    world.plain.faults.inject("reset_before", "POST /items")
    await _lose(world, world.steps())
    world.door.reconnect(connected(*BOB))
    await world.pass_time(SETTLED)
    doubt = await world.receipts.perform(world.effect, world.steps())
    assert isinstance(doubt, EffectInDoubt)
    assert "another user" in doubt.detail
    assert world.texts == []
    await world.receipts.repeat(world.effect.receipt_id, by="ann")
    assert isinstance(await world.receipts.perform(world.effect, world.steps()), EffectPerformed)


async def test_the_same_user_connected_again_goes_on(world: World) -> None:
    world.door.reconnect(connected(*ANN))
    world.plain.faults.inject("reset_after", "POST /items")
    await _lose(world, world.steps())
    await world.pass_time(SETTLED)
    world.door.reconnect(connected("connection:2"))  # nobody has looked at it yet
    with pytest.raises(WaitFor, match="does not know yet"):
        await world.receipts.perform(world.effect, world.steps())
    world.door.reconnect(connected("user:ann", "connection:2"))
    assert isinstance(await world.receipts.perform(world.effect, world.steps()), EffectPerformed)
    assert world.texts == ["Hello"]


async def test_what_never_was_is_made_for_whoever_is_connected_now(world: World) -> None:
    world.door.reconnect(connected(*ANN))
    world.plain.faults.inject("limited", "POST /items")
    await _lose(world, world.steps())
    world.door.reconnect(connected(*BOB))
    await world.pass_time(SETTLED)
    assert isinstance(await world.receipts.perform(world.effect, world.steps()), EffectPerformed)
    assert await world.pool.fetchval("select identity from receipts") == "user:bob"


async def test_a_request_says_for_whom_it_is(world: World) -> None:
    """A person reconnects the account between the question who it is and the request."""
    world.door.reconnect(connected(*ANN))

    async def send(work: StepInHand) -> dict[str, Any]:
        world.door.reconnect(connected(*BOB))
        return await world.make(work)

    with pytest.raises(WaitFor):
        await world.receipts.perform(world.effect, world.steps(send=send))
    assert world.texts == []


async def test_a_receipt_that_knows_no_user_goes_on(world: World) -> None:
    """Of the version before, or with a gateway of before."""
    world.plain.faults.inject("reset_after", "POST /items")
    await _lose(world, world.steps())
    world.door.reconnect(connected(*BOB))
    await world.pass_time(SETTLED)
    assert isinstance(await world.receipts.perform(world.effect, world.steps()), EffectPerformed)
    assert world.texts == ["Hello"]


# -- clocks ------------------------------------------------------------------------------------------------------------


async def test_answers_tell_how_far_the_other_clock_is_ahead(world: World) -> None:
    world.plain.set_clock(timedelta(minutes=-15))
    seen: list[ClockOffset | None] = []

    async def send(work: StepInHand) -> dict[str, Any]:
        answer = await work.account.request("GET", "/items")
        seen.append(answer.clock)
        return {}

    await world.receipts.perform(world.effect, world.steps(send=send))
    (clock,) = seen
    assert clock is not None
    assert clock.least <= timedelta(minutes=-15) <= clock.most
    assert clock.most - clock.least < timedelta(seconds=60)


def test_a_clock_is_known_within_the_time_of_the_exchange() -> None:
    asked = datetime(2027, 3, 1, 9, 0, 0, tzinfo=UTC)
    answered = asked + timedelta(seconds=4)
    headers = {"date": "Mon, 01 Mar 2027 08:45:02 GMT"}
    measured = ClockOffset.measured(headers, asked, answered)
    assert measured == ClockOffset(timedelta(minutes=-15, seconds=-2), timedelta(minutes=-15, seconds=3))
    assert measured.largest == timedelta(minutes=15, seconds=2)
    for without in ({}, {"date": "yesterday"}, {**headers, "age": "90"}):
        assert ClockOffset.measured(without, asked, answered) is None
