"""The quick part of the fault matrix, in its small size; `make faults` plays all of it."""

import asyncio

from faults import scenarios

FAST = [each.name for each in scenarios.load().values() if each.fast and not each.own_nodes]


async def test_nothing_is_lost_or_done_twice(play) -> None:
    results = await asyncio.gather(*(play(name) for name in FAST))
    assert {result.fault: result.violations for result in results if not result.passed} == {}
    assert [result.fault for result in results if result.skipped is None and not result.fired] == []
