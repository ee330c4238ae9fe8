"""Reads new events once for all live streams of the process."""

import asyncio
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

import structlog

from chassis import Connections
from chassis.database.pool import DatabaseUnavailableError
from events.cloud_events import as_json
from events.log import store
from events.log.domain import EventFilter, LoggedEvent

log = structlog.get_logger(__name__)

PAUSE_SECONDS: Final = 0.2
"""Between two looks for new events, while anybody watches."""
HEARTBEAT_SECONDS: Final = 15.0
"""How often a quiet stream sends a comment, so that no proxy takes it for dead."""
LIFETIME_SECONDS: Final = 600.0
"""After this a stream ends; the client comes again with its place, and its key is checked anew."""
_TAIL: Final = 2_000
"""The newest events that are kept in memory for streams."""
_PAGE: Final = 200
_RETRY: Final = "retry: 2000\n\n"
_EVERYTHING: Final = EventFilter()


class NoRoomError(Exception):
    """The process has as many streams as it may, or is ending."""


@dataclass(eq=False, slots=True)
class _Remembered:
    """An event of the tail, with its text once a stream has sent it: that is the same for all."""

    event: LoggedEvent
    text: str = ""

    def as_text(self) -> str:
        self.text = self.text or _as_text(self.event)
        return self.text


def _as_text(event: LoggedEvent) -> str:
    return f"id: {event.position}\nevent: {event.type}\ndata: {as_json(event)}\n\n"


@dataclass(eq=False, slots=True)
class EventStream:
    """The stream of one reader."""

    wanted: EventFilter
    position: int
    woken: asyncio.Event = field(default_factory=asyncio.Event)


class EventFollower:
    """The open streams of the process, and the newest events.

    Args:
        connections: of the database.
        most: streams of the process.
    """

    def __init__(self, connections: Connections, *, most: int) -> None:
        self._connections = connections
        self._most = most
        self._streams: set[EventStream] = set()
        self._tail: deque[_Remembered] = deque(maxlen=_TAIL)
        self._tail_begins = 0
        """All events after this position, up to the newest seen, are in the tail."""
        self._newest: int | None = None
        self._watched = asyncio.Event()
        self._is_stopping = False

    async def prepare(self, wanted: EventFilter, after: int | None) -> EventStream:
        """Returns a stream of what follows the position `after`; None: of what comes from now on. It takes a place with its first text.

        Raises:
            NoRoomError: no further stream is taken now.
        """
        if self._is_stopping or len(self._streams) >= self._most:
            raise NoRoomError
        if after is None:
            async with self._connections.connection() as connection:
                after = (await store.read_head(connection)).position
        return EventStream(wanted, after)

    def stop(self) -> None:
        """Ends all streams."""
        self._is_stopping = True
        for stream in self._streams:
            stream.woken.set()

    async def follow(self) -> None:
        """Looks for new events while anybody watches, until it is cancelled."""
        while True:
            await self._watched.wait()
            try:
                await self._look()
            except DatabaseUnavailableError as error:
                log.warning("live_events_unavailable", error=str(error))
            await asyncio.sleep(PAUSE_SECONDS)

    async def _look(self) -> None:
        async with self._connections.connection() as connection:
            head = await store.read_head(connection)
            if self._newest is None or head.position - self._newest > _TAIL:
                # More than fits: streams read it from the log.
                self._tail.clear()
                self._newest = self._tail_begins = head.position
            while self._newest < head.position:
                page = await store.read(connection, _EVERYTHING, after=self._newest, limit=_TAIL)
                self._remember(page.events)
                # At once: what is remembered must not be read again if the next page fails.
                self._newest = page.position if page.is_more else max(page.position, head.position)
        for stream in self._streams:
            if stream.position < self._newest:
                stream.woken.set()

    def _remember(self, events: Sequence[LoggedEvent]) -> None:
        for event in events:
            if len(self._tail) == _TAIL:
                self._tail_begins = self._tail[0].event.position
            self._tail.append(_Remembered(event))

    async def texts(self, stream: EventStream) -> AsyncGenerator[str, None]:
        """What is sent to the reader, until the stream has lasted its time or the process ends.

        Only from here on the stream has a place: a reader that leaves before takes none.
        """
        self._streams.add(stream)
        self._watched.set()
        try:
            async with aclosing(self._texts(stream)) as texts:
                async for text in texts:
                    yield text
        finally:
            self._streams.discard(stream)
            if not self._streams:
                self._watched.clear()

    async def _texts(self, stream: EventStream) -> AsyncGenerator[str, None]:
        ends = asyncio.get_running_loop().time() + LIFETIME_SECONDS
        yield _RETRY
        while not self._is_stopping and asyncio.get_running_loop().time() < ends:
            stream.woken.clear()
            texts, is_more = await self._next(stream)
            for text in texts:
                yield text
            if is_more:
                continue
            try:
                await asyncio.wait_for(stream.woken.wait(), HEARTBEAT_SECONDS)
            except TimeoutError:
                yield ": quiet\n\n"

    async def _next(self, stream: EventStream) -> tuple[list[str], bool]:
        """The next events of a stream as it sends them, and whether others may follow at once."""
        if self._newest is None:
            return [], False
        if stream.position >= self._tail_begins:
            start = bisect_right(self._tail, stream.position, key=lambda each: each.event.position)
            found = [self._tail[place] for place in range(start, min(len(self._tail), start + _PAGE))]
            if found:
                stream.position = found[-1].event.position
            return [each.as_text() for each in found if stream.wanted.matches(each.event)], bool(found)
        tail_begins = self._tail_begins
        async with self._connections.connection() as connection:
            page = await store.read(connection, stream.wanted, after=stream.position, limit=_PAGE)
        # What matches up to where the tail began is read then; on the rest of the way nothing does.
        stream.position = page.position if page.is_more else max(page.position, tail_begins)
        return list(map(_as_text, page.events)), True
