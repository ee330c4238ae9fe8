"""`brandctl schedules` as a process of its own, beside an orchestrator's API."""

import pytest

from tests.fixtures.commands.brandctl import Operator


@pytest.fixture
def schedules(brandctl: Operator) -> Operator:
    return brandctl.of("schedules")


async def test_a_schedule_from_its_making_to_its_end(schedules: Operator) -> None:
    weekly = ("acme", "weekly", "--cron", "0 6 * * SUN", "--time-zone", "Europe/Berlin")
    made = await schedules("set", *weekly, "cold brew", "moka pot")
    chapters = await schedules.json(
        "set", "acme", "chapters", "--cron", "0 9 * * *", "--take", "1", "--file", "-", typed="one\n\n two \n"
    )

    assert made.code == 0, made.err
    assert "weekly is active, next on " in made.err
    assert made.out.count("2 keywords, 0 6 * * SUN Europe/Berlin") == 3
    assert chapters["keyword_list"] == ["one", "two"]
    assert len(chapters["next"]) == 2  # then the list is used up
    rows = [line.split("\t")[:4] for line in (await schedules("list", "acme")).out.splitlines()]
    assert rows == [
        ["name", "state", "when", "keywords"],
        ["chapters", "active", "0 9 * * * UTC", "0/2, 1 a time"],
        ["weekly", "active", "0 6 * * SUN Europe/Berlin", "2"],
    ]

    assert "weekly is paused" in (await schedules("pause", "acme", "weekly")).err
    assert "weekly is active, next on" in (await schedules("resume", "acme", "weekly")).err
    assert (await schedules.json("show", "acme", "weekly"))["state"] == "active"
    assert (await schedules.json("firings", "acme", "weekly"))["items"] == []
    assert (await schedules("remove", "acme", "weekly")).code == 0
    assert [each["name"] for each in await schedules.json("list", "acme")] == ["chapters"]


async def test_what_cannot_be_planned_ends_the_command_with_a_sentence(schedules: Operator) -> None:
    wrong = await schedules("set", "acme", "weekly", "--cron", "every sunday", "cold brew")
    nobody = await schedules("list", "nobody")

    assert (wrong.code, "a cron expression has 5 fields" in wrong.err) == (1, True)
    assert (nobody.code, "there is no brand 'nobody'" in nobody.err) == (1, True)
