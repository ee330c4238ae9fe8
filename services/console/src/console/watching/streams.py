"""The open streams of the process. A page is read once for all people who see the same."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, TypeAlias
from uuid import UUID

import structlog

from chassis import Connections
from chassis.database.pool import DatabaseUnavailableError
from console.people.domain import Person, Role
from console.service_clients import PersonClients
from console.sessions import store
from console.watching.pages import KeyRevokedError, Watched, WatchedAddress, fingerprint, read_or_away

log = structlog.get_logger(__name__)
HEARTBEAT_SECONDS: Final = 15.0
"""How often a quiet stream sends a comment, so that no proxy takes it for dead."""
RETRY_MILLISECONDS: Final = 2_000


_Sight: TypeAlias = tuple[Role, frozenset[str] | None, str]
"""A role, the brands that a person may see, and what is read: it is the same for all people with the same three."""


class TooManyStreamsError(Exception):
    """The person has as many streams as one may."""


class NoRoomError(Exception):
    """The process has as many streams as it may, or is ending."""


@dataclass(eq=False, slots=True)
class LiveStream:
    """The stream of one tab."""

    person: Person
    session: UUID
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    ended: str = ""
    """Why it ends: `session`, `stop`, or `left` by its tab; empty while it goes on."""

    def end(self, why: str) -> None:
        self.ended = why
        self.woken.set()


class SharedPoll:
    """Reads one thing while a tab watches it, with the keys of its people in turn: all of them see the same."""

    def __init__(self, watched: Watched, pause: Callable[[], Awaitable[None]]) -> None:
        self._watched = watched
        self._pause = pause
        self.streams: dict[LiveStream, PersonClients] = {}
        self.state: Any = None
        """What tabs get."""
        self.fingerprint = ""
        self.task = asyncio.create_task(self._run(), name="live poll")

    async def _run(self) -> None:
        while True:
            stream = next((each for each in self.streams if not each.ended), None)
            if stream is None:
                return
            clients = self.streams.pop(stream)
            self.streams[stream] = clients  # the last one in turn
            try:
                # No variable holds the state through the pause: it can be a list of hundreds of entries.
                self._note(await read_or_away(self._watched.read(clients)))
            except KeyRevokedError:
                for each in self.streams:
                    if each.person.key_id == stream.person.key_id:
                        each.end("session")
                continue
            except DatabaseUnavailableError as error:
                log.warning("live_read_failed", error=str(error))
            except Exception:
                # The streams go on: the page is as it was when it was loaded.
                log.exception("live_read_failed", watched=self._watched.key.partition(" ")[0])
            await self._pause()

    def _note(self, state: Any) -> None:
        found = fingerprint(state)
        if found != self.fingerprint:
            self.fingerprint = found
            if self._watched.is_sent:
                self.state = state
            for stream in self.streams:
                stream.woken.set()


class LiveStreams:
    """Opens, bounds and ends the streams.

    Args:
        every: interval of reading what tabs watch.
        reads: the most readings a second; with more to read, each comes later.
        of_person: the most streams of one person.
        of_process: the most streams in all.
    """

    def __init__(
        self,
        *,
        every: float,
        reads: float,
        of_person: int,
        of_process: int,
        idle: timedelta,
        age: timedelta,
    ) -> None:
        self._every = every
        self._apart = 1 / reads
        self._next_reading = 0.0
        """Time of the event loop before which no reading begins again."""
        self._of_person = of_person
        self._of_process = of_process
        self._idle = idle
        self._age = age
        self._streams: set[LiveStream] = set()
        self._polls: dict[_Sight, SharedPoll] = {}
        self._is_stopping = False

    @property
    def polls(self) -> int:
        """How many things are being read."""
        return len(self._polls)

    def open(self, person: Person, session: UUID) -> LiveStream:
        """Raises NoRoomError, TooManyStreamsError."""
        if self._is_stopping or len(self._streams) >= self._of_process:
            raise NoRoomError
        if sum(each.person.id == person.id for each in self._streams) >= self._of_person:
            raise TooManyStreamsError
        stream = LiveStream(person, session)
        self._streams.add(stream)
        return stream

    async def events(
        self, stream: LiveStream, address: WatchedAddress, clients: PersonClients, seen: str
    ) -> AsyncGenerator[str, None]:
        """The text of a stream, until the tab leaves, the session ends or the process stops.

        `seen` is the id of the last event that the tab has, `<page>.<counts>`; empty for a new tab.
        """
        page = self._watch(stream, address.page, clients)
        counts = self._watch(stream, address.counts, clients)
        seen_page, _, seen_counts = seen.partition(".")
        try:
            yield f"retry: {RETRY_MILLISECONDS}\n\n"
            while not stream.ended:
                stream.woken.clear()
                now_page, now_counts = _fingerprint(page), _fingerprint(counts)
                mark = f"{now_page or seen_page}.{now_counts or seen_counts}"
                if now_counts and now_counts != seen_counts and counts is not None:
                    seen_counts = now_counts
                    yield f"id: {mark}\nevent: counts\ndata: {json.dumps(counts.state)}\n\n"
                if now_page and now_page != seen_page:
                    seen_page = now_page
                    yield f"id: {mark}\nevent: changed\ndata: page\n\n"
                try:
                    async with asyncio.timeout(HEARTBEAT_SECONDS):
                        await stream.woken.wait()
                except TimeoutError:
                    yield ":\n\n"
            if stream.ended == "session":
                yield "event: ended\ndata: session\n\n"
        finally:
            self.close(stream)

    def _watch(
        self, stream: LiveStream, watched: Watched | None, clients: PersonClients
    ) -> SharedPoll | None:
        if watched is None:
            return None
        key = stream.person.role, stream.person.brands, watched.key
        poll = self._polls.get(key)
        if poll is None or poll.task.done():
            poll = self._polls[key] = SharedPoll(watched, self._pause)
        poll.streams[stream] = clients
        return poll

    async def _pause(self) -> None:
        """Waits between two readings of one thing. Readings begin one after another: many at once would wait for connections."""
        await asyncio.sleep(self._every)
        now = asyncio.get_running_loop().time()
        begins = max(now, self._next_reading)
        self._next_reading = begins + self._apart
        await asyncio.sleep(begins - now)

    def close(self, stream: LiveStream) -> None:
        """Forgets a stream, and ends the readings that no other stream watches."""
        self._streams.discard(stream)
        for key, poll in list(self._polls.items()):
            poll.streams.pop(stream, None)
            if not poll.streams:
                poll.task.cancel()
                del self._polls[key]

    async def end_with_sessions(self, connections: Connections) -> None:
        """Ends the streams whose sessions have ended, all by one query."""
        wanted = {each.session for each in self._streams}
        if not wanted:
            return
        async with connections.connection() as connection:
            going = await store.find_going(connection, wanted, idle=self._idle, age=self._age)
        for stream in self._streams:
            if stream.session in wanted - going:
                stream.end("session")

    def stop(self) -> None:
        """Ends all streams at once; the browsers come back by themselves, to another process."""
        self._is_stopping = True
        for stream in self._streams:
            stream.end("stop")


def _fingerprint(poll: SharedPoll | None) -> str:
    return "" if poll is None else poll.fingerprint
