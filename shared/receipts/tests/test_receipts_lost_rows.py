"""The database has lost receipts: a possible effect is looked up first, or a person is asked; it is never sent blindly."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from messaging import WaitFor
from messaging.storage.server_history import note_server
from receipts import EffectInDoubt, EffectPerformed, Receipts, Step
from receipts.testing import DirectGateway
from shared.receipts.tests.conftest import SETTLED, World


async def lose_rows(world: World) -> Receipts:
    """Nothing is known of receipts any more, at the gateway neither; returns the receipts of a process that begins anew."""
    await world.pool.execute("delete from receipts")
    headers = {"plain": {"Authorization": f"Bearer {world.plain.token}"}}
    return Receipts(
        world.database, DirectGateway({"plain": world.plain.url}, headers=headers), margin_seconds=1.0
    )


async def perform(world: World, receipts: Receipts, steps: list[Step]) -> Any:
    """Until it is known what became of it; waits go by at once."""
    effect = replace(world.effect, may_be_there=True)
    for _ in range(10):
        try:
            return await receipts.perform(effect, steps)
        except WaitFor as wait:
            await world.pass_time((wait.after or timedelta()).total_seconds() + 1)
    raise AssertionError("it waits without end")


async def test_what_is_there_is_found_and_not_sent_again(world: World) -> None:
    await world.receipts.perform(world.effect, world.steps())
    receipts = await lose_rows(world)
    found = await perform(world, receipts, world.steps())
    assert isinstance(found, EffectPerformed)
    assert found.remote["id"]
    assert world.texts == ["Hello"]


async def test_what_is_not_there_is_sent_once_that_is_certain(world: World) -> None:
    receipts = await lose_rows(world)
    assert isinstance(await perform(world, receipts, world.steps()), EffectPerformed)
    assert world.texts == ["Hello"]
    looks = [each for each in world.plain.requests if each.method == "GET"]
    assert looks
    assert world.plain.requests.index(looks[0]) == 0


async def test_steps_that_nobody_sees_are_made_again_before_the_one_that_is_looked_for(world: World) -> None:
    made: list[str] = []

    async def upload(_: Any) -> dict[str, Any]:
        made.append("upload")
        return {}

    steps = [Step("upload", upload, repeatable=True, unseen=True), *world.steps()]
    receipts = await lose_rows(world)
    assert isinstance(await perform(world, receipts, steps), EffectPerformed)
    assert (made, world.texts) == (["upload"], ["Hello"])


@pytest.mark.parametrize("kind", ["no look-up", "a key that was lost", "two posts"])
async def test_what_cannot_be_looked_for_is_in_doubt(world: World, kind: str) -> None:
    steps = {
        "no look-up": world.steps(detect=None),
        "a key that was lost": world.steps(repeatable=True),
        "two posts": [*world.steps(), *world.steps(name="comment")],
    }[kind]
    await world.receipts.perform(world.effect, steps)
    before = len(world.texts)
    receipts = await lose_rows(world)
    doubt = await perform(world, receipts, steps)
    assert isinstance(doubt, EffectInDoubt)
    assert "may be there" in doubt.detail
    assert len(world.texts) == before


async def test_a_receipt_that_is_there_counts_whatever_may_have_been_lost(world: World) -> None:
    await world.receipts.perform(world.effect, world.steps())
    again = await world.receipts.perform(replace(world.effect, may_be_there=True), world.steps())
    assert isinstance(again, EffectPerformed)
    assert world.texts == ["Hello"]


async def test_nothing_is_begun_before_the_service_has_found_out_what_it_has_lost(world: World) -> None:
    async with world.database.transaction() as tx:
        assert await note_server(tx.connection) is None
    await world.pool.execute("update server_history set timeline = '00000000'")
    with pytest.raises(WaitFor) as waits:
        await world.receipts.perform(world.effect, world.steps())
    assert waits.value.after is not None
    assert waits.value.after < timedelta(seconds=SETTLED)
    assert world.texts == []
    async with world.database.transaction() as tx:
        assert await note_server(tx.connection) is not None
    assert isinstance(await world.receipts.perform(world.effect, world.steps()), EffectPerformed)
