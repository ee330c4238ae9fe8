"""The judge of effects on other people's servers, and that it fails where receipts, or their fences, are missing."""

from collections import Counter
from pathlib import Path
from uuid import uuid4

import pytest

from faults import scenarios
from faults.judging.effects import TAKEN, EffectCounts, EffectRecord, FailurePoint, doubts, judge, tally
from faults.playing import scenario
from faults.surroundings.servers import ServerAddresses

pytestmark = pytest.mark.extended

_POINT = FailurePoint("x", "post", "", TAKEN)


def post(state: str, *, posts: int, comments: int = 0, struck: bool = True) -> EffectRecord:
    seen = +Counter(post=posts, comment=comments)
    whole = {"post": 1, "comment": 1}
    return EffectRecord("x", "acme", uuid4(), uuid4(), _POINT, "reset", struck, state, seen, whole)


@pytest.mark.parametrize(
    ("state", "posts", "comments", "found"),
    [
        ("confirmed", 1, 1, None),
        ("in_doubt", 0, 0, None),
        ("in_doubt", 1, 0, None),
        ("in_doubt", 1, 1, None),
        ("confirmed", 0, 0, "not all"),
        ("confirmed", 1, 0, "not all"),
        ("confirmed", 2, 1, "twice"),
        ("confirmed", 1, 2, "twice"),
        ("in_doubt", 2, 0, "twice"),
        ("ready", 1, 0, "nobody is asked"),
        ("refused", 0, 0, "nobody is asked"),
        ("", 0, 0, "nobody is asked"),
        ("unknown", 1, 0, "left behind"),
    ],
)
def test_it_is_there_once_or_in_doubt(state: str, posts: int, comments: int, found: str | None) -> None:
    told = [violation.detail for violation in judge([post(state, posts=posts, comments=comments)])]
    assert len(told) == (found is not None)
    assert found is None or found in told[0]


def test_what_was_struck_is_counted_by_what_the_other_side_shows() -> None:
    posts = [
        post("confirmed", posts=1, comments=1),
        post("in_doubt", posts=1),
        post("in_doubt", posts=0),
        post("confirmed", posts=2, comments=1),
        post("confirmed", posts=1, comments=1, struck=False),
    ]
    assert tally(posts) == {_POINT: EffectCounts(injected=4, one=1, one_in_doubt=1, none_in_doubt=1, two=1)}
    assert doubts(posts) == {"x": (2, 4)}


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
    name: str, mutation: str, servers: ServerAddresses, tmp_path: Path
) -> None:
    known = scenarios.load()
    told = []
    for seed in range(4):
        result = await scenario.play(known[name], servers, tmp_path / str(seed), seed=seed, mutation=mutation)
        told += [violation.detail for violation in result.violations]
        if any("twice" in each for each in told):
            return
    pytest.fail(f"nobody noticed: {told}")
