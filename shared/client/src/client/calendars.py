"""Joins the calendars that several services write. Pure: no I/O."""

from collections.abc import Iterable
from typing import Final

_BEGIN: Final = "\r\nBEGIN:VEVENT\r\n"
_END: Final = "END:VCALENDAR\r\n"


def join_calendars(name: str, calendars: Iterable[str]) -> str:
    """Returns one iCalendar file with the events of all, in this order.

    Args:
        name: of the joined calendar, without characters that iCalendar escapes, such as a brand's slug.
        calendars: iCalendar files as the services write them.
    """
    head = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Brand Engine//Calendar//EN", "CALSCALE:GREGORIAN"]
    head += [f"NAME:{name}", f"X-WR-CALNAME:{name}", ""]
    return "\r\n".join(head) + "".join(map(_events, calendars)) + _END


def _events(calendar: str) -> str:
    # Lines of a text that somebody wrote begin with its property or, folded, with a blank: this one is no text's.
    _, begin, events = calendar.partition(_BEGIN)
    return (begin + events).removeprefix("\r\n").removesuffix(_END)
