"""From when a post may be a lost one, by the clock of its platform."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from receipts import AccountClient, AccountResponse, ClockOffset, Effect, EffectUnclear, StepInHand
from social.channels.lost import LookupWindow, RelativeTime


def _work(begun: datetime) -> StepInHand:
    async def nobody(*_: Any) -> AccountResponse:
        raise AssertionError

    account = AccountClient("account", "acme", nobody, clock=lambda: begun + timedelta(minutes=1))
    return StepInHand(
        Effect(uuid4(), "x", "account", "acme", "a post", {"since": begun.isoformat()}), account, {}
    )


def test_a_window_opens_by_the_clock_of_the_platform() -> None:
    begun = datetime(2027, 3, 1, 9, tzinfo=UTC)
    quarter = timedelta(minutes=15)
    window = LookupWindow.of(_work(begun), ClockOffset(-quarter, -quarter))
    made = {minutes: window.place(begun + timedelta(minutes=minutes)) for minutes in (-81, -79, -21, -19, 0)}
    assert made == {
        -81: RelativeTime.BEFORE,
        -79: RelativeTime.NEAR,
        -21: RelativeTime.NEAR,
        -19: RelativeTime.SINCE,
        0: RelativeTime.SINCE,
    }
    assert isinstance(window.missing(is_near=True), EffectUnclear)
    hours = LookupWindow.of(_work(begun), ClockOffset(4 * quarter, 5 * quarter)).missing(is_near=False)
    assert isinstance(hours, EffectUnclear)
    assert "75 minutes" in hours.detail
