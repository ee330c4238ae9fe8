"""The quick part of the fault matrix, in its small size; `make faults` plays all of it."""

import asyncio
from collections import defaultdict

import pytest

from faults import scenarios

FAST: dict[str, list[str]] = defaultdict(list)
"""Subject (the module of `faults.scenarios`) → its scenarios."""
for _each in scenarios.load().values():
    if _each.fast and not _each.own_nodes:
        FAST[_each.play.__module__.rpartition(".")[2]].append(_each.name)


@pytest.mark.extended
@pytest.mark.parametrize("subject", sorted(FAST))
async def test_nothing_is_lost_or_done_twice(play, subject: str) -> None:
    results = await asyncio.gather(*(play(name) for name in FAST[subject]))
    assert {result.fault: result.violations for result in results if not result.passed} == {}
    assert [result.fault for result in results if result.skipped is None and not result.fired] == []
