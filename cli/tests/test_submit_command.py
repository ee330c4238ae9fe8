"""`brandctl submit` as a process of its own, beside an orchestrator's API."""

from datetime import UTC, datetime, timedelta

from tests.fixtures.commands.brandctl import Operator


async def test_keywords_that_come_in_quiet_hours_are_accepted_and_it_is_said_that_they_wait(
    brandctl: Operator,
) -> None:
    now = datetime.now(UTC)
    quiet = f"{now - timedelta(hours=2):%H:%M}-{now + timedelta(hours=2):%H:%M}"
    made = await brandctl("brands", "set", "night", "--name", "Night", "--quiet", quiet)
    assert made.code == 0, made.err

    submitted = await brandctl("submit", "night", "cold brew")
    assert submitted.code == 0
    assert "1 keyword of night accepted" in submitted.err
    assert "they wait: its brand keeps quiet hours until" in submitted.err

    by_day = await brandctl("submit", "acme", "cold brew")
    assert (by_day.code, "they wait" in by_day.err) == (0, False)
