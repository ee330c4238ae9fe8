"""The line of the log that tells of a keyword's end, where it ends with another one's article or as another one."""

from typing import Any

import structlog

Desk = Any
"""See conftest.py."""


def ends(lines: list[Any]) -> list[tuple[Any, ...]]:
    told = [each for each in lines if each["event"] == "keyword_ended"]
    assert all(each["brand"] == "daily-grind" for each in told)
    return [
        (each["keyword"], each["correlation_id"], each["state"], each["content_id"], each["url"])
        for each in told
    ]


async def test_a_keyword_whose_article_stands_has_a_line_of_its_end(desk: Desk) -> None:
    content_id, url = await desk.publish(await desk.hand_in("cold brew"), "cold brew")

    with structlog.testing.capture_logs() as lines:
        again = await desk.hand_in("Cold-Brews", "pour over")

    assert ends(lines) == [("Cold-Brews", again.correlation_id, "completed", str(content_id), url)]
    (line,) = (each for each in lines if each["event"] == "keyword_ended")
    assert line["cycle_id"] == str(again.cycle_id)
    assert line["reason"].endswith(f"its article stands already ({url})")


async def test_who_waited_for_another_keyword_has_a_line_of_its_end(desk: Desk) -> None:
    first = await desk.hand_in("cold brew", "moka pot")
    second = await desk.hand_in("cold brew", "moka pot")

    with structlog.testing.capture_logs() as lines:
        content_id, url = await desk.publish(first, "cold brew")
        await desk.refuse(first, "moka pot")

    assert ends(lines) == [
        ("cold brew", first.correlation_id, "completed", str(content_id), url),
        ("cold brew", second.correlation_id, "completed", str(content_id), url),
        ("moka pot", first.correlation_id, "refused", None, None),
        ("moka pot", second.correlation_id, "refused", None, None),
    ]
