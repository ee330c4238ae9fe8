"""Calendars as programs take them in: iCalendar (RFC 5545), only as much of it as our own need. Pure: no I/O, no clock, no randomness."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

MEDIA_TYPE: Final = "text/calendar"
Status = Literal["TENTATIVE", "CONFIRMED", "CANCELLED"]
_LINE: Final = 75
"""Bytes of a line, its end not counted (section 3.1)."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""What a text may not have (section 3.1), which could not be escaped either."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens at a moment.

    Args:
        uid: the same for as long as it is the same event, whatever becomes of it, and no other's anywhere.
        sequence: larger whenever it was moved or called off.
        changed_at: when it became as it is now.
        url: where more of it is to be seen, if anywhere.
    """

    uid: str
    starts_at: datetime
    summary: str
    changed_at: datetime
    sequence: int = 0
    status: Status = "CONFIRMED"
    description: str = ""
    url: str | None = None
    categories: tuple[str, ...] = ()


def written(name: str, events: Iterable[Event]) -> str:
    """The calendar called `name`, as a file has it: lines of 75 bytes at most that end with CR and LF."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Brand Engine//Calendar//EN", "CALSCALE:GREGORIAN"]
    # Names by RFC 7986, and by what calendars have read for longer.
    lines += [f"NAME:{_text(name)}", f"X-WR-CALNAME:{_text(name)}"]
    for event in events:
        lines += _lines(event)
    lines.append("END:VCALENDAR")
    return "".join(folded(line) for line in lines)


def folded(line: str) -> str:
    """A line with its end, in pieces of 75 bytes at most, none of which ends within a character."""
    pieces, piece, room = [], "", _LINE
    for char in line:
        size = len(char.encode())
        if size > room:
            pieces.append(piece)
            # The blank that says that it goes on is one of the 75.
            piece, room = "", _LINE - 1
        piece += char
        room -= size
    return "\r\n ".join([*pieces, piece]) + "\r\n"


def _lines(event: Event) -> Iterator[str]:
    yield "BEGIN:VEVENT"
    yield f"UID:{_text(event.uid)}"
    # Without a METHOD, this is when what is told of it last changed (section 3.8.7.2).
    yield f"DTSTAMP:{_moment(event.changed_at)}"
    yield f"LAST-MODIFIED:{_moment(event.changed_at)}"
    yield f"SEQUENCE:{event.sequence}"
    yield f"DTSTART:{_moment(event.starts_at)}"
    yield f"SUMMARY:{_text(event.summary)}"
    yield f"STATUS:{event.status}"
    # It takes no one's time.
    yield "TRANSP:TRANSPARENT"
    if event.description:
        yield f"DESCRIPTION:{_text(event.description)}"
    if event.url is not None:
        yield f"URL:{_control_free(event.url)}"
    if event.categories:
        yield f"CATEGORIES:{','.join(map(_text, event.categories))}"
    yield "END:VEVENT"


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _text(text: str) -> str:
    """As a value of the type TEXT (section 3.3.11)."""
    for char in "\\;,":
        text = text.replace(char, f"\\{char}")
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")).replace(
        "\n", "\\n"
    )


def _control_free(url: str) -> str:
    return re.sub(r"[\x00-\x20\x7f]", "", url)
