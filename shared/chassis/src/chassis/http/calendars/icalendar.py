"""Writes iCalendar files (RFC 5545), as far as our calendars need it. Pure: no I/O, no clock, no randomness."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

MEDIA_TYPE: Final = "text/calendar"
Status = Literal["TENTATIVE", "CONFIRMED", "CANCELLED"]
_LINE: Final = 75
"""Bytes of a line, without its end (section 3.1)."""
_CONTINUES: Final = 0b1000_0000
"""The first two bits of a byte that continues a character of UTF-8 (RFC 3629)."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Characters that a text must not contain (section 3.1); there is no escape for them."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event at a moment.

    Args:
        uid: a globally unique id that stays the same for the life of the event.
        sequence: grows with each move or cancellation.
        changed_at: time of its last change.
        url: a page about it, if any.
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
    """Return the calendar `name` as a file: lines of at most 75 bytes that end with CR and LF."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Brand Engine//Calendar//EN", "CALSCALE:GREGORIAN"]
    # Names by RFC 7986, and by what calendars have read for longer.
    lines += [f"NAME:{_text(name)}", f"X-WR-CALNAME:{_text(name)}"]
    for event in events:
        lines += _lines(event)
    lines.append("END:VCALENDAR")
    return "".join(folded(line) for line in lines)


def folded(line: str) -> str:
    """Fold a line into pieces of at most 75 bytes, without splitting characters, and end it."""
    encoded = line.encode()
    pieces, begin, room = [], 0, _LINE
    while len(encoded) - begin > room:
        end = begin + room
        while _is_inside_a_character(encoded[end]):
            end -= 1
        pieces.append(encoded[begin:end])
        # The blank that marks a continuation is one of the 75.
        begin, room = end, _LINE - 1
    return b"\r\n ".join([*pieces, encoded[begin:]]).decode() + "\r\n"


def _is_inside_a_character(byte: int) -> bool:
    """Return whether a byte of UTF-8 continues a character."""
    return byte & 0b1100_0000 == _CONTINUES


def _lines(event: Event) -> Iterator[str]:
    yield "BEGIN:VEVENT"
    yield f"UID:{_text(event.uid)}"
    # Without a METHOD, this is the time of the last change (section 3.8.7.2).
    yield f"DTSTAMP:{_moment(event.changed_at)}"
    yield f"LAST-MODIFIED:{_moment(event.changed_at)}"
    yield f"SEQUENCE:{event.sequence}"
    yield f"DTSTART:{_moment(event.starts_at)}"
    yield f"SUMMARY:{_text(event.summary)}"
    yield f"STATUS:{event.status}"
    # It does not block time in anyone's calendar.
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
    """Escape a value of the type TEXT (section 3.3.11)."""
    for char in "\\;,":
        text = text.replace(char, f"\\{char}")
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")).replace(
        "\n", "\\n"
    )


def _control_free(url: str) -> str:
    return re.sub(r"[\x00-\x20\x7f]", "", url)
