"""The judge of posts at their times, and that it fails where posts are claimed without locks, or sent again everywhere for one channel's failure."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakes import Kind
from fakes.serving.faults import KINDS
from faults import scenarios
from faults.playing import scenario
from faults.scenarios.services.scheduled_posts import (
    TICK_SECONDS,
    ChannelCalls,
    PlannedPost,
    SendAttempt,
    judge,
    judge_course,
)
from faults.surroundings.servers import ServerAddresses

OUT = PlannedPost(
    "x",
    "5f0c",
    due=100.0,
    state="posted",
    address="https://x.com/i/web/status/7",
    shown_at=["7"],
    claims=1,
    tries=[SendAttempt(100.5, 102.0, 1.0), SendAttempt(103.5, 104.0, 30.0), SendAttempt(134.5, 135.0, None)],
)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, None),
        ({"shown_at": ["7", "8"]}, "twice"),
        ({"shown_at": []}, "not out"),
        ({"state": "in_doubt"}, "not out"),
        ({"address": "https://x.com/i/web/status/9"}, "seen at"),
        ({"address": ""}, "seen at"),
        ({"claims": 2}, "claimed 2 times"),
        ({"claims": 0}, "claimed 0 times"),
        ({"due": 101.0}, "early"),
        ({"due": 100.4 - TICK_SECONDS}, "late"),
        (
            {"tries": [SendAttempt(100.5, 102.0, 1.0), SendAttempt(108.5, 109.0, None)]},
            "later than it was to be",
        ),
        ({"tries": [SendAttempt(100.5, 102.0, None), SendAttempt(103.5, 104.0, None)]}, "after it was out"),
    ],
)
def test_it_is_out_once_where_its_row_says_and_in_time(changes: dict[str, Any], found: str | None) -> None:
    told = [violation.detail for violation in judge([replace(OUT, **changes)])]
    assert len(told) == (found is not None), told
    assert found is None or found in told[0]


def test_enough_calls_fail_in_every_way_and_both_replicas_take_part() -> None:
    every: Counter[Kind] = Counter(dict.fromkeys(set(KINDS) - {"expired"}, 10))
    both = {"social-1": Counter(claimed=1, tried=1), "social-2": Counter(claimed=1, tried=1)}
    assert list(judge_course(ChannelCalls(450, every), both)) == []
    told = [
        violation.detail
        for violation in judge_course(
            ChannelCalls(450, every - Counter({"late": 10})), {**both, "social-2": Counter(claimed=3)}
        )
    ]
    assert told == [
        "only 80 of 450 calls failed",
        "no call failed like this: late",
        "social-2 claimed 3 posts and tried 0 times",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutation", "found"), [("claims", "claimed 2 times"), ("channels", "tried again after it was out")]
)
async def test_somebody_notices(mutation: str, found: str, servers: ServerAddresses, tmp_path: Path) -> None:
    known = scenarios.load()["scheduled posts"]
    result = await scenario.play(known, servers, tmp_path / mutation, seed=7, mutation=mutation)
    assert any(found in violation.detail for violation in result.violations), result
    if mutation == "channels":
        assert any("twice" in violation.detail for violation in result.violations), result
