"""`client.brand_engine` to await.

async with AsyncBrandEngine("http://127.0.0.1:8010", key) as engine:
    job = await engine.submit("acme", ["cold brew"])
    results = await job.wait(timeout=3600)
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from client.brand_engine import NO_EVENTS, Priority, place_of
from client.connections import Address
from client.cycle_results import (
    PATIENCE_SECONDS,
    POLL_SECONDS,
    JobResults,
    NotEndedError,
    SubmittedKeyword,
    is_ended,
    may_pass,
    waits_for_a_person,
)
from client.errors import AddressError, ClientError
from client.event_stream import EventStreamReader, pause_before
from client.pages import MAX_PAGE

if TYPE_CHECKING:
    from client.services.orchestrator import AsyncOrchestrator, answers


class AsyncJob:
    """Submitted keywords. They go on whether or not anybody waits."""

    def __init__(self, orchestrator: "AsyncOrchestrator", cycle_id: str) -> None:
        self._orchestrator = orchestrator
        self.cycle_id = cycle_id

    async def progress(
        self,
        *,
        every: float = POLL_SECONDS,
        timeout: float | None = None,  # noqa: ASYNC109 - as the synchronous front
    ) -> AsyncIterator["answers.CycleView"]:
        """Yields the cycle again and again; the last one has ended, or waits for a person.

        A service that answered before is asked again for a minute if it does not answer.

        Args:
            every: seconds between two requests.
            timeout: seconds; None: as long as it takes.

        Raises:
            NotEndedError: the keywords go on after `timeout`.
            ClientError: the cycle is unknown, or the service was away for a minute.
        """
        until = None if timeout is None else time.monotonic() + timeout
        cycle = await self._orchestrator.get_cycle(self.cycle_id)
        while True:
            yield cycle
            if is_ended(cycle) or waits_for_a_person(cycle):
                return
            left = every if until is None else min(every, until - time.monotonic())
            if left <= 0:
                assert timeout is not None
                raise NotEndedError(self.cycle_id, timeout)
            await asyncio.sleep(left)
            cycle = await self._read(until)

    async def _read(self, until: float | None) -> "answers.CycleView":
        patience = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return await self._orchestrator.get_cycle(self.cycle_id)
            except ClientError as error:
                now = time.monotonic()
                if not may_pass(error) or now > patience or (until is not None and now > until):
                    raise
            await asyncio.sleep(POLL_SECONDS)

    async def wait(self, timeout: float | None = None) -> JobResults:  # noqa: ASYNC109
        """Waits until the keywords have ended, or what is left waits for a person.

        Raises: as `progress`.
        """
        async for _ in self.progress(timeout=timeout):
            pass
        return await self.results()

    async def results(self) -> JobResults:
        """The keywords as they are now."""
        cycle = await self._orchestrator.get_cycle(self.cycle_id)
        keywords: list[SubmittedKeyword] = []
        after: int | None = None
        while True:
            page = await self._orchestrator.list_cycle_keywords(self.cycle_id, after=after, limit=MAX_PAGE)
            keywords += map(SubmittedKeyword.of, page["items"])
            after = page["next"]
            if after is None:
                return JobResults(self.cycle_id, cycle["state"], tuple(keywords))

    async def cancel(self) -> None:
        """Ends what is not written yet; an article that is there stays."""
        await self._orchestrator.cancel_cycle(self.cycle_id)


class AsyncBrandEngine:
    """An installation, with one key.

    Args:
        url: of the orchestrator.
        key: an API key (`be_…`), or a service key.
        events_url: of the service `events`, for `events()`.
    """

    def __init__(self, url: str, key: str, *, events_url: str | None = None) -> None:
        # Generated, and slow to load.
        from client.services.events import AsyncEvents  # noqa: PLC0415
        from client.services.orchestrator import AsyncOrchestrator  # noqa: PLC0415

        self.orchestrator: AsyncOrchestrator = AsyncOrchestrator(Address(url, key))
        """All operations of the orchestrator."""
        self._events: AsyncEvents | None = (
            None if events_url is None else AsyncEvents(Address(events_url, key))
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self.orchestrator.close()
        if self._events is not None:
            await self._events.close()

    async def submit(
        self,
        brand: str,
        keywords: Sequence[str],
        *,
        priority: Priority | None = None,
        deadline_hours: int | None = None,
        max_cost: float | None = None,
        key: str | None = None,
    ) -> AsyncJob:
        """Submits up to 10,000 keywords. A request that got no answer is sent again, and counts once.

        Args:
            brand: its slug.
            keywords: what to write about.
            priority: higher ones go first in their brand.
            deadline_hours: hours after which the work on them ends.
            max_cost: dollars that their paid calls may cost together.
            key: the name of the request: a second one of this name begins nothing, and returns the first one's job.
        """
        request = {"keywords": list(keywords)}
        named = key or str(uuid4())
        patience = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                answer = await self.orchestrator.submit_keywords(
                    brand,
                    json.dumps(request).encode(),
                    content_type="application/json",
                    priority=priority,
                    deadline_hours=deadline_hours,
                    max_cost=max_cost,
                    idempotency_key=named,
                )
                return AsyncJob(self.orchestrator, str(answer["cycle_id"]))
            except ClientError as error:
                if not may_pass(error) or time.monotonic() > patience:
                    raise
            await asyncio.sleep(POLL_SECONDS)

    def job(self, cycle_id: str) -> AsyncJob:
        """Keywords that were submitted before."""
        return AsyncJob(self.orchestrator, cycle_id)

    async def events(
        self, *, brand: str | None = None, types: Sequence[str] = (), after: str | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """Yields CloudEvents as they happen, without an end. A connection that breaks is made again and continues behind the last event.

        Args:
            brand: only events of this brand.
            types: only these types, such as `content.published`.
            after: the `sequence` of the last event that you have; None: from now on.

        Raises:
            AddressError: the address of the events service is unknown.
            RefusedError: the key may not read events, or those after `after` are kept no more.
        """
        if self._events is None:
            raise AddressError(NO_EVENTS)
        # A place from the start, so that a connection that breaks before its first event misses nothing.
        begin = place_of(after) or str(
            (await self._events.list_events(since=datetime.now(UTC), limit=1))["last"]
        )
        reader = EventStreamReader(last_id=begin)
        attempt = 0
        while True:
            try:
                async with self._events.stream_events(
                    brand=brand, types=",".join(types) or None, last_event_id=reader.last_id
                ) as parts:
                    async for part in parts:
                        for event in reader.feed(part):
                            attempt = 0
                            yield event
            except ClientError as error:
                if not may_pass(error):
                    raise
                attempt += 1
                await asyncio.sleep(pause_before(attempt))
            reader.reconnect()
