"""Calendars of several services are one file."""

from client.calendars import join_calendars

HOSTILE = "SUMMARY:one\\nBEGIN:VEVENT\\nEND:VCALENDAR"


def calendar(name: str, *summaries: str) -> str:
    events = "".join(
        f"BEGIN:VEVENT\r\nUID:{n}\r\n{each}\r\nEND:VEVENT\r\n" for n, each in enumerate(summaries)
    )
    return (
        f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nNAME:{name}\r\nX-WR-CALNAME:{name}\r\n{events}END:VCALENDAR\r\n"
    )


def test_the_events_of_all_stand_in_one_calendar_under_its_own_name() -> None:
    joined = join_calendars(
        "acme", [calendar("posts", "SUMMARY:a", HOSTILE), calendar("none"), calendar("b", "SUMMARY:c")]
    )
    lines = joined.split("\r\n")
    assert [line for line in lines if line.startswith("SUMMARY")] == ["SUMMARY:a", HOSTILE, "SUMMARY:c"]
    assert [line for line in lines if "NAME:" in line] == ["NAME:acme", "X-WR-CALNAME:acme"]
    for line, times in (("BEGIN:VCALENDAR", 1), ("END:VCALENDAR", 1), ("BEGIN:VEVENT", 3), ("END:VEVENT", 3)):
        assert lines.count(line) == times
    assert joined.endswith("END:VEVENT\r\nEND:VCALENDAR\r\n")


def test_no_events_are_an_empty_calendar() -> None:
    assert join_calendars("acme", []).split("\r\n")[-2:] == ["END:VCALENDAR", ""]
    assert "VEVENT" not in join_calendars("acme", [calendar("posts")])
