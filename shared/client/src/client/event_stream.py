"""Server-sent events: reads them from the bytes of a response, and says where to continue. Pure: no I/O, no clock."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from client.errors import StrangeAnswerError

MAX_EVENT_BYTES: Final = 5_000_000
"""Of one event; a server that sends a longer one is none of ours."""
FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 30.0


@dataclass
class EventStreamReader:
    """Takes parts of a response as they come. `last_id` is the place after which a new connection continues."""

    last_id: str | None = None
    _next_id: str | None = field(init=False, default=None)
    _rest: bytes = b""
    _data: list[str] = field(default_factory=list)
    _size: int = 0

    def feed(self, part: bytes) -> Iterator[dict[str, Any]]:
        """Yields the CloudEvents that the part completes; `last_id` is that of the event that was yielded last.

        Raises:
            StrangeAnswerError: an event does not end, or its data are no JSON object.
        """
        self._rest += part
        *lines, self._rest = self._rest.split(b"\n")
        if len(self._rest) + self._size > MAX_EVENT_BYTES:
            raise StrangeAnswerError(f"the stream has an event of more than {MAX_EVENT_BYTES:,} bytes")
        for line in lines:
            event = self._take(line.rstrip(b"\r").decode(errors="replace"))
            if event is not None:
                yield event

    def _take(self, line: str) -> dict[str, Any] | None:
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                self._data.append(value)
                self._size += len(value)
            elif name == "id" and "\0" not in value:
                self._next_id = value
            return None
        if not self._data:
            return None
        text, self._data, self._size = "\n".join(self._data), [], 0
        event = _read(text)
        if not isinstance(event, dict):
            raise StrangeAnswerError("the stream has an event whose data are no JSON object")
        self.last_id = self._next_id
        return event

    def reconnect(self) -> None:
        """Forgets what the broken connection sent of an event."""
        self._rest, self._data, self._size = b"", [], 0

    def __post_init__(self) -> None:
        self._next_id = self.last_id


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def pause_before(attempt: int) -> float:
    """Seconds before the next connection, after so many attempts without an event."""
    return float(min(FIRST_PAUSE_SECONDS * 2 ** max(attempt - 1, 0), LONGEST_PAUSE_SECONDS))
