"""`brandctl schedules` as a process of its own, beside an orchestrator's API."""

from pathlib import Path

import pytest

from tests.fixtures.commands.brandctl import Operator


@pytest.fixture
def schedules(brandctl: Operator) -> Operator:
    return brandctl.of("schedules")


@pytest.mark.extended
async def test_a_schedule_from_its_making_to_its_end(schedules: Operator) -> None:
    weekly = ("acme", "weekly", "--cron", "0 6 * * SUN", "--time-zone", "Europe/Berlin")
    made = await schedules("set", *weekly, "cold brew", "moka pot")
    chapters = await schedules.json(
        "set", "acme", "chapters", "--cron", "0 9 * * *", "--take", "1", "--file", "-", typed="one\n\n two \n"
    )

    assert made.code == 0, made.err
    assert "weekly is active, next on " in made.err
    assert made.out.count("2 keywords, 0 6 * * SUN Europe/Berlin") == 5
    assert chapters["keyword_list"] == ["one", "two"]
    assert len(chapters["next"]) == 2  # then the list is used up
    rows = [line.split("\t")[:4] for line in (await schedules("list", "acme")).out.splitlines()]
    assert rows == [
        ["name", "state", "when", "keywords"],
        ["chapters", "active", "0 9 * * * UTC", "0/2, 1 a time"],
        ["weekly", "active", "0 6 * * SUN Europe/Berlin", "2"],
    ]

    assert "weekly is due now" in (await schedules("run", "acme", "weekly")).err
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


async def test_a_table_gives_keywords_and_priorities_and_no_header(
    schedules: Operator, tmp_path: Path
) -> None:
    table = tmp_path / "kw.CSV"
    table.write_bytes(
        b'\xef\xbb\xbfkeyword;Priority\r\ncold brew;high\r\n"grind; size";\r\n;\r\nmoka pot;LOW\r\n'
    )
    daily = ("acme", "daily", "--cron", "0 9 * * *", "--take", "1")
    made = await schedules.json("set", *daily, "latte art", "--file", str(table))
    typed = await schedules.json("set", *daily, "--file", "-", "--csv", typed="keyword\nfilter paper\n")

    assert made["keyword_list"] == ["latte art", "cold brew", "grind; size", "moka pot"]
    assert made["priorities"] == {"cold brew": "high", "moka pot": "low"}
    assert (typed["keyword_list"], typed["priorities"]) == (["filter paper"], {})


async def test_a_table_marks_keywords_as_distinct(schedules: Operator) -> None:
    table = "keyword,distinct,priority\nblues guitars,yes,\nblues guitar,no,high\nblues bass,,\n"
    daily = ("acme", "daily", "--cron", "0 9 * * *", "--csv", "--file", "-")
    made = await schedules.json("set", *daily, typed=table)
    others = await schedules.json("set", *daily, "--distinct", "slide guitar", typed=table)
    assert (made["distinct_keywords"], made["priorities"]) == (["blues guitars"], {"blues guitar": "high"})
    assert others["distinct_keywords"] == ["slide guitar", "blues guitars", "blues bass"]


@pytest.mark.extended
@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("cold brew,high\n", "line 1: the first line of a table names its columns, `keyword`"),
        ("keyword,volume\ncold brew,900\n", "it says: keyword, volume"),
        ("keyword,priority\ncold brew\n", "line 2: has 1 cells, the header has 2"),
        (
            "keyword,priority\ncold brew,urgent\n",
            "line 2: the priority 'urgent' is unknown; write high, normal, low",
        ),
        ('keyword\n"cold" brew\n', "line 2: "),
        (
            "keyword,distinct\ncold brew,maybe\n",
            "line 2: 'maybe' in the column `distinct` is neither yes nor no",
        ),
    ],
)
async def test_a_table_that_cannot_be_read_is_refused_with_its_line(
    schedules: Operator, table: str, says: str
) -> None:
    refused = await schedules("set", "acme", "x", "--cron", "0 9 * * *", "--csv", "--file", "-", typed=table)
    assert refused.code == 2
    assert says in " ".join(refused.err.split())
