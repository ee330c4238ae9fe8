"""The judge of effects on other people's servers, and that it fails where receipts, or their fences, are missing."""

from collections import Counter
from pathlib import Path
from uuid import uuid4

import pytest

from faults import scenarios
from faults.playing import scenario
from faults.playing.outside import Post
from faults.scenarios.services.effects import judge
from faults.surroundings.servers import Servers


def post(state: str, seen: int) -> Post:
    return Post("x", uuid4(), uuid4(), state, Counter({"post": seen}))


@pytest.mark.parametrize(
    ("state", "seen", "found"),
    [
        ("confirmed", 1, None),
        ("in_doubt", 0, None),
        ("in_doubt", 1, None),
        ("refused", 0, None),
        ("confirmed", 0, "none"),
        ("confirmed", 2, "twice"),
        ("in_doubt", 2, "twice"),
        ("ready", 1, "not done"),
        ("unknown", 1, "left behind"),
    ],
)
def test_it_is_there_once_or_in_doubt(state: str, seen: int, found: str | None) -> None:
    told = [violation.detail for violation in judge([post(state, seen)])]
    assert len(told) == (found is not None)
    assert found is None or found in told[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "mutation"),
    [
        ("outside effects, requests struck", "receipts"),
        ("outside effects, worker killed", "receipts"),
        ("outside effects, worker paused", "fencing"),
    ],
)
async def test_without_receipts_or_fences_something_is_there_twice(
    name: str, mutation: str, servers: Servers, tmp_path: Path
) -> None:
    known = scenarios.load()
    for seed in range(4):
        result = await scenario.play(known[name], servers, tmp_path / str(seed), seed=seed, mutation=mutation)
        if any("twice" in violation.detail for violation in result.violations):
            return
    pytest.fail(f"nobody noticed: {result}")
