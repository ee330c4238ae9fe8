"""Questions that come while another one is on its way."""

import asyncio
from collections.abc import Sequence

import pytest

from chassis.coalescing import RequestCoalescer


class Oracle:
    """Answers a number by its double when told to go on; negative ones are refused, and 0 breaks everything."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []
        self.may_answer = asyncio.Event()

    async def __call__(self, numbers: Sequence[int]) -> dict[int, int | Exception]:
        self.asked.append(list(numbers))
        await self.may_answer.wait()
        if 0 in numbers:
            raise OSError("away")
        return {number: 2 * number if number > 0 else ValueError(number) for number in numbers}


async def begin(coalescer: RequestCoalescer[int, int], *numbers: int) -> list[asyncio.Task[int]]:
    tasks = [asyncio.create_task(coalescer.get(number)) for number in numbers]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def test_a_lone_question_is_asked_at_once_and_later_ones_together() -> None:
    oracle = Oracle()
    coalescer = RequestCoalescer(oracle, limit=3)
    tasks = [*await begin(coalescer, 1), *await begin(coalescer, 2, 3, 2, 4, 5)]
    oracle.may_answer.set()
    assert await asyncio.gather(*tasks) == [2, 4, 6, 4, 8, 10]
    assert oracle.asked == [[1], [2, 3], [4, 5]]
    assert await coalescer.get(6) == 12


async def test_an_error_reaches_only_the_one_it_is_about() -> None:
    oracle = Oracle()
    oracle.may_answer.set()
    first, bad, good = await begin(RequestCoalescer(oracle, limit=9), 1, -1, 2)
    assert (await first, await good) == (2, 4)
    with pytest.raises(ValueError, match="-1"):
        await bad


async def test_when_nobody_answers_all_are_told_and_the_next_may_ask_again() -> None:
    oracle = Oracle()
    coalescer = RequestCoalescer(oracle, limit=9)
    tasks = [*await begin(coalescer, 1), *await begin(coalescer, 0, 2)]
    oracle.may_answer.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert results[0] == 2
    assert [type(result) for result in results[1:]] == [OSError, OSError]
    assert await coalescer.get(3) == 6


async def test_one_who_gives_up_leaves_the_others_their_answers() -> None:
    oracle = Oracle()
    coalescer = RequestCoalescer(oracle, limit=9)
    impatient, *patient = [*await begin(coalescer, 1), *await begin(coalescer, 2, 3)]
    impatient.cancel()
    oracle.may_answer.set()
    assert await asyncio.gather(*patient) == [4, 6]
