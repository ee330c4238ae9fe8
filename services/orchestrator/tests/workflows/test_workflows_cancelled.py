"""Giving up an article: nothing follows from what was under way, and it can be seen who did it."""

import asyncio
from typing import Any

import pytest

from envelope.brand.payloads import ContentRefused
from messaging.testing import write_records
from orchestrator.article_workflow.store import find_content
from tests.fixtures.models.scripted_model import ModelReply


async def cancel(writing: Any) -> Any:
    return await writing.api.post(f"{await writing.path}/cancel")


async def stored(writing: Any, command: Any) -> bool:
    async with writing.database.connection() as connection:
        return await find_content(connection, command.payload.content_id) is not None


@pytest.mark.extended
async def test_what_is_being_written_is_not_stored_and_late_answers_change_nothing(writing: Any) -> None:
    (command,) = await writing.sent()
    record = await writing.begin(command)

    answer = await cancel(writing)

    assert answer.status_code == 200, answer.text
    told = answer.json()["workflow"]
    assert (answer.json()["changed"], told["state"], told["cancelled_by"]) == (True, "cancelled", "service")
    async with writing.database.transaction() as tx:
        await write_records(tx, record)
    await writing.carry_out(command)
    assert not await stored(writing, command)
    assert await writing.sent("content.generated") == []
    await writing.die(command)
    payload = command.payload
    await writing.hear(
        ContentRefused(
            brand_slug="acme",
            content_id=payload.content_id,
            keyword=payload.keyword,
            reason="unsupported_draft",
            detail="too late",
        )
    )
    keyword = await writing.keyword()
    assert (keyword["state"], keyword["reason"]) == ("cancelled", "cancelled by service")
    cycle = (await writing.api.get(writing.cycle)).json()
    assert (cycle["state"], cycle["processing"]) == ("cancelled", 0)
    again = await cancel(writing)
    assert (again.status_code, again.json()["changed"]) == (200, False)
    refused = await writing.api.post(f"{await writing.path}/retry", json={})
    assert (refused.status_code, "cancelled by service" in refused.json()["detail"]) == (409, True)


async def test_no_further_step_is_paid_for(writing: Any) -> None:
    (command,) = await writing.sent()
    answer = writing.model.reply
    loop = asyncio.get_running_loop()

    def reply(question: Any) -> ModelReply:
        if question.shape == "Outline":
            asyncio.run_coroutine_threadsafe(cancel(writing), loop).result(30)
        return answer(question)

    writing.model.reply = reply
    await writing.carry_out(command)

    assert [each.shape for each in writing.model.asked] == ["Brief", "Outline"]
    assert not await stored(writing, command)
    seen = await writing.seen()
    states = {each["name"]: each["state"] for each in seen["steps"]}
    assert (seen["state"], states["model:outline"], states["write_article"]) == (
        "cancelled",
        "done",
        "cancelled",
    )


@pytest.mark.extended
async def test_one_that_was_never_begun_or_failed_can_be_given_up_and_one_that_is_written_cannot(
    make_writing: Any,
) -> None:
    failed = await make_writing("failed")
    await failed.die(*await failed.sent())
    written = await make_writing("written")
    await written.carry_out(*await written.sent())
    waiting = await make_writing("waiting")
    (command,) = await waiting.sent()

    assert (await cancel(failed)).json()["workflow"]["state"] == "cancelled"
    assert (await cancel(waiting)).json()["workflow"]["state"] == "cancelled"
    refused = await cancel(written)
    assert (refused.status_code, "its article is written" in refused.json()["detail"]) == (409, True)
    await waiting.carry_out(command)
    assert (await waiting.seen())["state"] == "cancelled"
