"""Writing a failed or stuck article again: paid answers are used, and no second process writes it."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from envelope import new_event_id
from messaging import RetryLater
from tests.fixtures.models.scripted_model import SECTIONS, ModelReply

BROKEN = ModelReply(status=500, body={"error": {"message": "it is broken"}})


async def fail(writing: Any, at: str = "Outline") -> Any:
    """The command, of which the model has answered what comes before this, and which is a dead letter."""
    (command,) = await writing.sent()
    writing.model.replies[at] = [BROKEN]
    with pytest.raises(RetryLater):
        await writing.begin(command, attempt=5)
    await writing.die(command)
    return command


async def retry(writing: Any, **body: Any) -> Any:
    return await writing.api.post(f"{await writing.path}/retry", json=body)


def asked(writing: Any) -> Counter[str]:
    return Counter(each.shape for each in writing.model.asked)


@pytest.mark.extended
async def test_one_that_failed_goes_on_behind_its_last_answer_and_pays_for_none_twice(writing: Any) -> None:
    command = await fail(writing)
    assert (await writing.seen())["state"] == "failed"
    cycle = (await writing.api.get(writing.cycle)).json()
    assert (cycle["failed"], cycle["processing"]) == (1, 0)
    calls = len(writing.model.asked)

    answer = await retry(writing)

    assert answer.status_code == 200, answer.text
    assert answer.json()["changed"]
    told = answer.json()["workflow"]
    assert (told["state"], told["retries"], told["retried_by"], told["starts"]) == (
        "running",
        1,
        "service",
        0,
    )
    cycle = (await writing.api.get(writing.cycle)).json()
    assert (cycle["failed"], cycle["processing"]) == (0, 1)
    (again,) = await writing.sent()
    assert again.event_id != command.event_id
    assert (again.payload, again.correlation_id) == (command.payload, writing.correlation_id)
    await writing.carry_out(again)
    assert asked(writing)["Brief"] == 1
    assert asked(writing)["SectionDraft"] == SECTIONS
    outlines = [each.key for each in writing.model.asked if each.shape == "Outline"]
    # The one that failed is asked for under the key that it had: whoever counts money takes it once.
    assert len(outlines) == 2
    assert len(set(outlines)) == 1
    assert len(writing.fetched) == 1
    assert calls == 2
    seen = await writing.seen()
    assert seen["state"] == "done"
    assert [each["name"] for each in seen["steps"]].count("model:brief") == 1
    refused = await retry(writing)
    assert refused.status_code == 409
    assert "its article is written" in refused.json()["detail"]


@pytest.mark.extended
async def test_it_begins_anew_if_that_is_asked_for(writing: Any) -> None:
    await fail(writing)

    await retry(writing, anew=True)

    (again,) = await writing.sent()
    await writing.carry_out(again)
    assert asked(writing)["Brief"] == 2


async def test_of_several_retries_at_once_one_sends_a_command(writing: Any) -> None:
    await fail(writing)
    await writing.sent()

    answers = await asyncio.gather(*(retry(writing) for _ in range(5)))

    assert [each.status_code for each in answers] == [200] * 5
    assert sum(each.json()["changed"] for each in answers) == 1
    assert len(await writing.sent()) == 1
    assert (await writing.seen())["retries"] == 1


@pytest.mark.extended
async def test_what_was_thought_lost_and_comes_after_all_stands_back(writing: Any) -> None:
    (lost,) = await writing.sent()
    under_way = await retry(writing)
    assert (under_way.status_code, under_way.json()["changed"]) == (200, False)
    assert await writing.sent() == []
    await writing.an_hour_passes()
    assert (await writing.seen())["state"] == "stuck"

    assert (await retry(writing)).json()["changed"]
    (again,) = await writing.sent()
    await writing.carry_out(lost)

    assert asked(writing) == Counter()
    assert await writing.sent("content.generated") == []
    await writing.carry_out(again)
    assert len(await writing.sent("content.generated")) == 1
    # Its steps are under the id of the first, which the reaper and a replay know it by.
    assert all(each.key.startswith(str(lost.event_id)) for each in writing.model.asked)


@pytest.mark.extended
async def test_whoever_was_frozen_begins_no_further_step_once_another_has_taken_over(writing: Any) -> None:
    (frozen,) = await writing.sent()
    answer = writing.model.reply

    def reply(question: Any) -> ModelReply:
        if question.shape == "Brief":
            asyncio.run_coroutine_threadsafe(take_over(), loop).result(30)
        return answer(question)

    async def take_over() -> None:
        await writing.an_hour_passes()
        assert (await retry(writing)).json()["changed"]

    loop = asyncio.get_running_loop()
    writing.model.reply = reply
    await writing.carry_out(frozen)
    writing.model.reply = answer

    assert asked(writing) == {"Brief": 1}
    (again,) = await writing.sent()
    await writing.carry_out(again)
    assert asked(writing)["Brief"] == 1
    assert (await writing.seen())["state"] == "done"


@pytest.mark.extended
async def test_a_dead_letter_of_it_that_is_replayed_waits_while_it_is_in_hand(writing: Any) -> None:
    command = await fail(writing)
    await retry(writing)
    (again,) = await writing.sent()
    await writing.begin(again)
    replay = command.model_copy(update={"event_id": type(again.event_id)(int=again.event_id.int + 1)})

    with pytest.raises(RetryLater, match="is in hand"):
        await writing.begin(replay)


async def test_nothing_is_sent_for_a_brand_that_is_paused(writing: Any) -> None:
    await fail(writing)
    (await writing.api.post("/v1/brands/acme/pause")).raise_for_status()

    refused = await retry(writing)

    assert refused.status_code == 409
    assert "it cannot begin now" in refused.json()["detail"]
    assert await writing.sent() == []


async def settled_letters(writing: Any) -> list[tuple[Any, ...]]:
    return [
        (each.payload.dead_event_id, each.payload.replay_event_id, each.payload.queue)
        for each in await writing.sent("dead_letter.resolved")
    ]


@pytest.mark.extended
async def test_success_settles_the_dead_letters_of_all_commands_that_it_replaces(writing: Any) -> None:
    first = await fail(writing)
    assert (await retry(writing)).json()["changed"]
    second = await fail(writing)
    assert second.event_id != first.event_id
    assert await settled_letters(writing) == []

    assert (await retry(writing)).json()["changed"]
    (third,) = await writing.sent()
    await writing.carry_out(third)

    assert await settled_letters(writing) == [
        (former.event_id, third.event_id, "orchestrator-commands") for former in (first, second)
    ]
    await writing.carry_out(third)
    assert await settled_letters(writing) == []


@pytest.mark.extended
async def test_a_command_that_another_one_replaces_unasked_is_settled_too(writing: Any) -> None:
    first = await fail(writing)
    again = first.model_copy(update={"event_id": new_event_id()})

    await writing.carry_out(again)

    assert [dead for dead, *_ in await settled_letters(writing)] == [first.event_id]


@pytest.mark.extended
async def test_success_at_once_settles_nothing(writing: Any) -> None:
    (command,) = await writing.sent()
    await writing.carry_out(command)
    assert await settled_letters(writing) == []
