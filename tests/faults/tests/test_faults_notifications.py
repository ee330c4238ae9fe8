"""The judge of notifications, and that it fails where messages count as sent before they are, or routes wait for each other."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from faults import scenarios
from faults.playing import scenario
from faults.playing.notified import ALIKE, CALM, MUTE, NotificationCounts, RouteDeliveries
from faults.scenarios.services.notifications import judge
from faults.surroundings.servers import ServerAddresses

pytestmark = pytest.mark.extended

_WARNED = (130.0, "", f"Critical: Notifications do not arrive on route {MUTE}")
GOOD = NotificationCounts(
    matters={"GoneAaError": 100.0, "GoneAbError": 105.0},
    routes={
        CALM: RouteDeliveries(received=[(102.0, "1", "GoneAaError"), (107.0, "2", "GoneAbError"), _WARNED]),
        "chat": RouteDeliveries(
            1, [(103.0, "", "GoneAaError"), (104.0, "", "GoneAaError GoneAbError"), _WARNED]
        ),
        MUTE: RouteDeliveries(received=[(200.0, "3", "GoneAaError GoneAbError")]),
    },
    kills=Counter(claimed=2, sent=2),
    struck=7,
    calls=30,
    counts={"GoneAaError": ALIKE, "GoneAbError": ALIKE},
    left_lying=0,
)


def changed(**changes: Any) -> NotificationCounts:
    return replace(GOOD, **changes)


def with_route(name: str, told: RouteDeliveries) -> NotificationCounts:
    return replace(GOOD, routes={**GOOD.routes, name: told})


@pytest.mark.parametrize(
    ("seen", "found"),
    [
        (GOOD, None),
        (
            with_route(MUTE, RouteDeliveries(received=[(200.0, "3", "GoneAaError")])),
            "mute was never told of GoneAbError",
        ),
        (with_route("chat", replace(GOOD.routes["chat"], unknown=0)), "chat was told 2 times of GoneAaError"),
        (
            with_route("chat", RouteDeliveries(1, GOOD.routes["chat"].received[:2])),
            "chat was not told that nothing arrives",
        ),
        (
            with_route(
                MUTE, RouteDeliveries(1, [(9.0, "3", "GoneAaError GoneAbError"), (10.0, "3", "GoneAaError")])
            ),
            "different things under 3",
        ),
        (changed(matters={"GoneAaError": 60.0, "GoneAbError": 105.0}), "was told after 42.0 s"),
        (changed(counts={"GoneAaError": 1, "GoneAbError": ALIKE}), "alike were told as {'GoneAaError': 1}"),
        (changed(kills=Counter(claimed=2)), "nobody was killed at: sent"),
        (changed(struck=0), "no call failed"),
    ],
)
def test_everybody_is_told_and_again_only_in_doubt(seen: NotificationCounts, found: str | None) -> None:
    told = [violation.detail for violation in judge(seen)]
    assert len(told) == (found is not None), told
    assert found is None or found in told[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutation", "found"), [("stored", "was never told of"), ("apart", "was told after")]
)
async def test_somebody_notices(mutation: str, found: str, servers: ServerAddresses, tmp_path: Path) -> None:
    known = scenarios.load()["notifications"]
    result = await scenario.play(known, servers, tmp_path / mutation, seed=11, mutation=mutation)
    assert any(found in violation.detail for violation in result.violations), result
