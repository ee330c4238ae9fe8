"""What becomes of an effect, judged by what the other side has accepted."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

import pytest

from chassis.testing import ServerProxy, eventually
from messaging import RetryLater, Unprocessable, WaitFor
from receipts import (
    EffectAbsent,
    EffectFound,
    EffectInDoubt,
    EffectPerformed,
    EffectRefused,
    EffectUnclear,
    NotSent,
    ReceiptDecidedError,
    Refused,
    Step,
    StepInHand,
    UnknownReceiptError,
    forget,
)
from shared.receipts.tests.conftest import SETTLED, World


async def test_it_happens_once_however_often_it_is_asked_for(world: World) -> None:
    first = await world.receipts.perform(world.effect, world.steps())
    again = await world.receipts.perform(world.effect, world.steps())
    assert first == again == EffectPerformed({"id": "1", "url": f"{world.plain.url}/items/1"})
    assert world.texts == ["Hello"]
    assert await world.attempts() == ["send", "answered"]


@pytest.mark.parametrize("fault", ["reset_after", "cut_after", "error_after"])
async def test_what_arrived_without_an_answer_is_found(world: World, fault: str) -> None:
    world.plain.faults.inject(fault, "POST /items")
    with pytest.raises(WaitFor):
        await world.receipts.perform(world.effect, world.steps())
    assert await world.state() == "unknown"
    await world.pass_time(11)  # it is there, and looked for soon
    assert isinstance(await world.receipts.perform(world.effect, world.steps()), EffectPerformed)
    assert world.texts == ["Hello"]
    assert await world.attempts() == ["send", "lost", "close", "closed", "look", "seen there"]


@pytest.mark.parametrize("fault", ["reset_before", "error_before"])
async def test_what_never_arrived_is_sent_again_once_it_is_certain(world: World, fault: str) -> None:
    world.plain.faults.inject(fault, "POST /items")
    with pytest.raises(WaitFor) as waits:
        await world.receipts.perform(world.effect, world.steps())
    # It may still show up: nobody looks before it must have.
    assert waits.value.after is not None
    assert timedelta() < waits.value.after <= timedelta(seconds=10)
    await world.pass_time(SETTLED)
    with pytest.raises(RetryLater):  # it failed, which was an attempt
        await world.receipts.perform(world.effect, world.steps())
    assert isinstance(await world.receipts.perform(world.effect, world.steps()), EffectPerformed)
    assert world.texts == ["Hello"]


async def test_what_nobody_can_look_up_is_in_doubt_until_a_person_has_confirmed_it(world: World) -> None:
    blind = world.steps(detect=None)
    world.plain.faults.inject("reset_after", "POST /items")
    doubt = await world.receipts.perform(world.effect, blind)
    assert isinstance(doubt, EffectInDoubt)
    assert await world.receipts.perform(world.effect, blind) == doubt
    await world.receipts.confirm(world.effect.receipt_id, {"url": "https://example.com/1"}, by="ann")
    assert world.settled.told == [(world.effect.receipt_id, {"url": "https://example.com/1"})]
    assert await world.receipts.perform(world.effect, blind) == EffectPerformed(
        {"url": "https://example.com/1"}
    )
    assert world.texts == ["Hello"]


async def test_what_a_person_has_repeated_is_sent_again(world: World) -> None:
    blind = world.steps(detect=None)
    world.plain.faults.inject("reset_before", "POST /items")
    assert isinstance(await world.receipts.perform(world.effect, blind), EffectInDoubt)
    await world.receipts.repeat(world.effect.receipt_id, by="ann")
    assert world.settled.told == [(world.effect.receipt_id, None)]
    assert isinstance(await world.receipts.perform(world.effect, blind), EffectPerformed)
    assert world.texts == ["Hello"]


async def test_a_person_decides_once(world: World) -> None:
    with pytest.raises(UnknownReceiptError):
        await world.receipts.repeat(world.effect.receipt_id, by="ann")
    world.plain.faults.inject("reset_before", "POST /items")
    await world.receipts.perform(world.effect, world.steps(detect=None))
    with pytest.raises(UnknownReceiptError):
        await world.receipts.repeat(world.effect.receipt_id, by="bob", brands=frozenset({"other"}))
    await world.receipts.repeat(world.effect.receipt_id, by="ann")
    with pytest.raises(ReceiptDecidedError, match="is ready"):
        await world.receipts.repeat(world.effect.receipt_id, by="bob")
    with pytest.raises(ReceiptDecidedError, match="is ready"):
        await world.receipts.confirm(world.effect.receipt_id, {"url": "https://example.com/"}, by="bob")
    assert len(world.settled.told) == 1


async def test_what_may_be_repeated_is_never_in_doubt(world: World) -> None:
    async def put(work: StepInHand) -> dict[str, Any]:
        answer = await work.account.request("PUT", "/items/7", json={"text": "Hello"})
        assert answer.status in {200, 201}
        return {"id": answer.json["id"]}

    steps = [Step("put", put, repeatable=True)]
    world.plain.faults.inject("reset_after", "PUT /items/*")
    with pytest.raises(RetryLater):
        await world.receipts.perform(world.effect, steps)
    assert await world.receipts.perform(world.effect, steps) == EffectPerformed({"id": "7"})
    assert world.texts == ["Hello"]


async def test_a_limit_is_kept_without_counting_an_attempt(world: World) -> None:
    world.plain.faults.inject("limited", "POST /items")
    for _ in range(2):
        with pytest.raises(WaitFor):
            await world.receipts.perform(world.effect, world.steps())
    assert await world.attempts() == ["send", "held back"]  # the second has not even asked
    await world.pass_time(3600)
    assert isinstance(await world.receipts.perform(world.effect, world.steps()), EffectPerformed)


async def test_what_was_refused_may_be_asked_for_in_another_form(world: World) -> None:
    async def refused(_: StepInHand) -> dict[str, Any]:
        raise Refused("text_missing", "the text is missing: write one")

    empty = replace(world.effect, prepared={"text": ""})
    with pytest.raises(EffectRefused, match="write one") as error:
        await world.receipts.perform(empty, [Step("make", refused)])
    assert isinstance(error.value, Unprocessable)
    assert (error.value.reason, error.value.remote) == ("text_missing", {})
    assert isinstance(await world.receipts.perform(world.effect, world.steps()), EffectPerformed)
    assert world.texts == ["Hello"]


async def test_what_was_sent_with_one_text_is_looked_up_and_sent_again_with_that(world: World) -> None:
    world.plain.faults.inject("reset_before", "POST /items")
    with pytest.raises(WaitFor):
        await world.receipts.perform(world.effect, world.steps())
    await world.pass_time(SETTLED)
    other = replace(world.effect, prepared={"text": "Another text"})
    with pytest.raises(RetryLater):
        await world.receipts.perform(other, world.steps())
    await world.receipts.perform(other, world.steps())
    assert world.texts == ["Hello"]


async def test_steps_go_on_where_they_were(world: World) -> None:
    seen: list[str] = []

    async def comment(work: StepInHand) -> dict[str, Any]:
        seen.append(work.remote["id"])
        if len(seen) == 1:
            raise NotSent("unreachable", "no connection")
        return {"comment": "c1"}

    steps = [*world.steps(), Step("comment", comment)]
    with pytest.raises(RetryLater) as failed:
        await world.receipts.perform(world.effect, steps)
    assert not isinstance(failed.value, WaitFor)
    performed = await world.receipts.perform(world.effect, steps)
    assert performed == EffectPerformed({"id": "1", "url": f"{world.plain.url}/items/1", "comment": "c1"})
    assert seen == ["1", "1"]
    assert world.texts == ["Hello"]


async def test_confirming_a_step_has_the_effect_go_on_with_the_next(world: World) -> None:
    async def comment(work: StepInHand) -> dict[str, Any]:
        return {"comment": f"on {work.remote['id']}"}

    steps = [*world.steps(detect=None), Step("comment", comment)]
    world.plain.faults.inject("reset_after", "POST /items")
    assert isinstance(await world.receipts.perform(world.effect, steps), EffectInDoubt)
    await world.receipts.confirm(world.effect.receipt_id, {"id": "1"}, by="ann")
    assert world.settled.told == [(world.effect.receipt_id, None)]
    assert await world.receipts.perform(world.effect, steps) == EffectPerformed(
        {"id": "1", "comment": "on 1"}
    )
    assert world.texts == ["Hello"]


async def test_two_at_once_send_it_once(world: World) -> None:
    results = await asyncio.gather(
        *(world.receipts.perform(world.effect, world.steps()) for _ in range(8)), return_exceptions=True
    )
    assert sum(isinstance(result, EffectPerformed) for result in results) >= 1
    assert all(isinstance(result, EffectPerformed | WaitFor) for result in results)
    assert world.texts == ["Hello"]


async def test_an_answer_that_comes_after_the_lease_is_believed(world: World) -> None:
    """The one who sent was paused over the end of his lease; another has asked a person already."""
    sent, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(work: StepInHand) -> dict[str, Any]:
        remote = await world.make(work)
        sent.set()
        await go_on.wait()
        return remote

    slow = [Step("make", slowly, seconds=60)]
    paused = asyncio.create_task(world.receipts.perform(world.effect, slow))
    await sent.wait()
    await world.pass_time(62)
    assert isinstance(await world.receipts.perform(world.effect, slow), EffectInDoubt)
    go_on.set()
    assert isinstance(await paused, EffectPerformed)
    ((_, remote),) = world.settled.told
    assert remote["id"] == "1"
    assert await world.state() == "confirmed"
    assert world.texts == ["Hello"]


async def test_whoever_comes_to_send_after_his_lease_sends_nothing(world: World) -> None:
    began, go_on = asyncio.Event(), asyncio.Event()

    async def late(work: StepInHand) -> dict[str, Any]:
        began.set()
        await go_on.wait()
        return await world.make(work)

    paused = asyncio.create_task(world.receipts.perform(world.effect, world.steps(send=late, seconds=60)))
    await began.wait()
    await world.pass_time(62)
    with pytest.raises(WaitFor):  # the fence is closed; what had been sent may still show up
        await world.receipts.perform(world.effect, world.steps())
    go_on.set()
    with pytest.raises(WaitFor):
        await paused
    assert world.texts == []
    await world.pass_time(SETTLED)
    # Nothing has failed: it is looked up and sent at once.
    assert isinstance(await world.receipts.perform(world.effect, world.steps()), EffectPerformed)
    assert world.texts == ["Hello"]


async def test_what_is_cut_short_is_looked_up_at_once(world: World) -> None:
    world.plain.faults.inject("hang_after", "POST /items")
    performing = asyncio.create_task(world.receipts.perform(world.effect, world.steps()))
    await eventually(lambda: world.texts)
    performing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await performing
    assert await world.state() == "unknown"
    with pytest.raises(WaitFor):
        await world.receipts.perform(world.effect, world.steps())
    await world.pass_time(SETTLED)
    assert isinstance(await world.receipts.perform(world.effect, world.steps()), EffectPerformed)
    assert world.texts == ["Hello"]


async def test_a_look_up_that_cannot_be_made_is_made_later_and_in_the_end_left_to_a_person(
    world: World,
) -> None:
    async def away(_: StepInHand) -> EffectFound | EffectAbsent | EffectUnclear:
        raise NotSent("unreachable", "no connection")

    steps = world.steps(detect=away)
    world.plain.faults.inject("reset_after", "POST /items")
    pauses: list[float] = []
    while True:
        try:
            result = await world.receipts.perform(world.effect, steps)
            break
        except WaitFor as wait:
            pauses.append(round(wait.after.total_seconds() if wait.after else 0))
            await world.pass_time(700)
    assert isinstance(result, EffectInDoubt)
    assert "could not be looked up" in result.detail
    assert pauses == [10, 20, 40, 80, 160, 320, 600, 600]
    assert world.texts == ["Hello"]


async def test_an_answer_survives_the_loss_of_the_database(
    open_world: Callable[..., Any], make_database: Callable[[str], Any]
) -> None:
    """It goes away between the answer and its being written down, for longer than the handler is given."""
    database = await make_database("receipts")
    answered = asyncio.Event()
    async with ServerProxy(database) as proxy, open_world(database, through=proxy.url) as world:

        async def losing(work: StepInHand) -> dict[str, Any]:
            remote = await world.make(work)
            proxy.cut()
            answered.set()
            return remote

        performing = asyncio.create_task(world.receipts.perform(world.effect, world.steps(send=losing)))
        await asyncio.wait_for(answered.wait(), 60)
        performing.cancel()
        await asyncio.gather(performing, return_exceptions=True)
        proxy.mend()
        await eventually(world.is_confirmed)
        assert isinstance(
            await world.receipts.perform(world.effect, world.steps(detect=None)), EffectPerformed
        )
        assert world.texts == ["Hello"]


async def test_answers_are_kept_whatever_they_consist_of(world: World) -> None:
    async def strange(_: StepInHand) -> dict[str, Any]:
        return {
            "id": "a\x00b\ud800",
            "at": datetime(2027, 3, 1, tzinfo=UTC),
            "n": float("nan"),
            "in": [{"x": {1}}],
        }

    performed = await world.receipts.perform(world.effect, [Step("make", strange)])
    assert isinstance(performed, EffectPerformed)
    assert performed.remote["at"] == "2027-03-01 00:00:00+00:00"
    assert performed.remote["id"].startswith("a\N{REPLACEMENT CHARACTER}b")


async def test_a_version_without_the_step_asks_a_person(world: World) -> None:
    world.plain.faults.inject("reset_after", "POST /items")
    with pytest.raises(WaitFor):
        await world.receipts.perform(world.effect, world.steps())
    doubt = await world.receipts.perform(world.effect, world.steps(name="create"))
    assert isinstance(doubt, EffectInDoubt)
    assert "make" in doubt.detail


async def test_a_receipt_is_of_one_brand(world: World) -> None:
    await world.receipts.perform(world.effect, world.steps())
    with pytest.raises(Unprocessable, match="another brand"):
        await world.receipts.perform(replace(world.effect, brand_slug="other"), world.steps())


async def test_what_was_erased_while_it_was_sent_is_not_sent_again(world: World) -> None:
    async def erased_meanwhile(work: StepInHand) -> dict[str, Any]:
        await world.make(work)
        async with world.database.connection() as connection:
            await forget(connection, ["acme"])
        raise TimeoutError

    with pytest.raises(Unprocessable, match="erased"):
        await world.receipts.perform(world.effect, world.steps(send=erased_meanwhile))
    assert world.texts == ["Hello"]


async def test_what_is_left_of_a_step_has_to_be_enough_for_the_gateway_to_take_a_request(
    world: World,
) -> None:
    """It would refuse what has no time to be sent, and that looks like a refusal for good."""

    async def late(work: StepInHand) -> dict[str, Any]:
        assert work.account.fence is not None
        left = replace(work.account.fence, until=monotonic() + 0.05)
        await work.account.fenced(left).request("POST", "/items", json={"text": "Hello"})
        raise AssertionError("it was sent")

    with pytest.raises(RetryLater):
        await world.receipts.perform(world.effect, world.steps(send=late))
    assert world.texts == []
    assert isinstance(await world.receipts.perform(world.effect, world.steps()), EffectPerformed)
