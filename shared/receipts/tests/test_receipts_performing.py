"""What becomes of an effect, judged by what the other side has accepted."""

import pytest

from messaging import WaitFor
from receipts import Performed
from shared.receipts.tests.conftest import World


async def test_it_happens_once_however_often_it_is_asked_for(world: World) -> None:
    first = await world.receipts.perform(world.effect, world.steps())
    again = await world.receipts.perform(world.effect, world.steps())
    assert first == again == Performed({"id": "1", "url": f"{world.plain.url}/items/1"})
    assert world.texts == ["Hello"]
    assert await world.attempts() == ["send", "answered"]


@pytest.mark.parametrize("fault", ["reset_after", "error_after"])
async def test_what_arrived_without_an_answer_is_found(world: World, fault: str) -> None:
    world.plain.faults.inject(fault, "POST /items")
    with pytest.raises(WaitFor):
        await world.receipts.perform(world.effect, world.steps())
    assert await world.state() == "unknown"
    await world.pass_time(11)
    assert isinstance(await world.receipts.perform(world.effect, world.steps()), Performed)
    assert world.texts == ["Hello"]
    assert await world.attempts() == ["send", "lost", "close", "closed", "look", "seen there"]
