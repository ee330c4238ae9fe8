"""What is written as iCalendar is read by another's parser as it was meant."""

from datetime import UTC, datetime
from typing import Any

import icalendar
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.http.calendars.icalendar import Event, folded, written

NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
EVIL = "Tea; milk, \\n and “cups”\r\nEND:VEVENT\nBEGIN:VALARM\x00\x1b " + "☕" * 60


def parsed(text: str) -> Any:
    return icalendar.Calendar.from_ical(text)


def test_every_part_of_an_event_arrives() -> None:
    event = Event(
        uid="0197a3c4@posts",
        starts_at=datetime.fromisoformat("2027-03-01T09:00+01:00"),
        summary="Pour-over coffee on Mastodon",
        changed_at=NOON,
        sequence=3,
        status="CANCELLED",
        description="One.\nTwo, three; four.",
        url="https://acme.example/pour-over?a=1,2",
        categories=("acme", "a,b"),
    )

    calendar = parsed(written("Acme", [event, event]))

    assert (calendar["VERSION"], str(calendar["NAME"])) == ("2.0", "Acme")
    first, _ = calendar.walk("VEVENT")
    assert first.decoded("DTSTART") == datetime(2027, 3, 1, 8, tzinfo=UTC)
    assert first.decoded("DTSTAMP") == first.decoded("LAST-MODIFIED") == NOON
    assert (str(first["UID"]), first["SEQUENCE"], str(first["STATUS"])) == ("0197a3c4@posts", 3, "CANCELLED")
    assert str(first["SUMMARY"]) == "Pour-over coffee on Mastodon"
    assert str(first["DESCRIPTION"]) == "One.\nTwo, three; four."
    assert str(first["URL"]) == "https://acme.example/pour-over?a=1,2"
    assert [str(each) for each in first["CATEGORIES"].cats] == ["acme", "a,b"]


def test_no_text_ends_the_event_that_it_stands_in() -> None:
    text = written(EVIL, [Event("1", NOON, EVIL, NOON, description=EVIL, url="https://a.example/\r\nX:1")])

    calendar = parsed(text)
    (event,) = calendar.walk("VEVENT")
    assert not calendar.walk("VALARM")
    assert "X" not in event
    assert str(event["SUMMARY"]) == EVIL.replace("\r\n", "\n").replace("\x00\x1b", "")


@pytest.mark.extended
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_lines_have_75_bytes_at_most_and_none_ends_within_a_character(line: str) -> None:
    line = line.replace("\r", "").replace("\n", "")

    pieces = folded(line).removesuffix("\r\n").split("\r\n ")

    assert all(len((" " * (place > 0) + each).encode()) <= 75 for place, each in enumerate(pieces))
    assert "".join(pieces) == line
