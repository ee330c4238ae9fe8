"""A front for programs: submits keywords, waits for articles, follows events.

    with BrandEngine("http://127.0.0.1:8010", key) as engine:
        results = engine.submit("acme", ["cold brew"]).wait(timeout=3600)
        for article in results.articles:
            print(article.keyword, article.url)

`client.async_brand_engine` has the same to await.
"""

import json
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, Self
from uuid import uuid4

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
from client.pages import MAX_PAGE, items_of

if TYPE_CHECKING:
    from client.services.orchestrator import Orchestrator, answers

Priority = Literal["high", "normal", "low"]
NO_EVENTS: Final = "give the address of the events service: BrandEngine(url, key, events_url=…)"


class Job:
    """Submitted keywords. They go on whether or not anybody waits."""

    def __init__(self, orchestrator: "Orchestrator", cycle_id: str) -> None:
        self._orchestrator = orchestrator
        self.cycle_id = cycle_id

    def progress(
        self, *, every: float = POLL_SECONDS, timeout: float | None = None
    ) -> Iterator["answers.CycleView"]:
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
        cycle = self._orchestrator.get_cycle(self.cycle_id)
        while True:
            yield cycle
            if is_ended(cycle) or waits_for_a_person(cycle):
                return
            left = every if until is None else min(every, until - time.monotonic())
            if left <= 0:
                assert timeout is not None
                raise NotEndedError(self.cycle_id, timeout)
            time.sleep(left)
            cycle = self._read(until)

    def _read(self, until: float | None) -> "answers.CycleView":
        patience = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return self._orchestrator.get_cycle(self.cycle_id)
            except ClientError as error:
                now = time.monotonic()
                if not may_pass(error) or now > patience or (until is not None and now > until):
                    raise
            time.sleep(POLL_SECONDS)

    def wait(self, timeout: float | None = None) -> JobResults:
        """Waits until the keywords have ended, or what is left waits for a person.

        Raises: as `progress`.
        """
        for _ in self.progress(timeout=timeout):
            pass
        return self.results()

    def results(self) -> JobResults:
        """The keywords as they are now."""
        cycle = self._orchestrator.get_cycle(self.cycle_id)
        keywords = items_of(self._orchestrator.list_cycle_keywords, self.cycle_id, limit=MAX_PAGE)
        return JobResults(self.cycle_id, cycle["state"], tuple(map(SubmittedKeyword.of, keywords)))

    def cancel(self) -> None:
        """Ends what is not written yet; an article that is there stays."""
        self._orchestrator.cancel_cycle(self.cycle_id)


class BrandEngine:
    """An installation, with one key.

    Args:
        url: of the orchestrator.
        key: an API key (`be_…`), or a service key.
        events_url: of the service `events`, for `events()`.
    """

    def __init__(self, url: str, key: str, *, events_url: str | None = None) -> None:
        # Generated, and slow to load.
        from client.services.events import Events  # noqa: PLC0415
        from client.services.orchestrator import Orchestrator  # noqa: PLC0415

        self.orchestrator: Orchestrator = Orchestrator(Address(url, key))
        """All operations of the orchestrator."""
        self._events: Events | None = None if events_url is None else Events(Address(events_url, key))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.orchestrator.close()
        if self._events is not None:
            self._events.close()

    def submit(
        self,
        brand: str,
        keywords: Sequence[str],
        *,
        priority: Priority | None = None,
        deadline_hours: int | None = None,
        max_cost: float | None = None,
        key: str | None = None,
    ) -> Job:
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
                answer = self.orchestrator.submit_keywords(
                    brand,
                    json.dumps(request).encode(),
                    content_type="application/json",
                    priority=priority,
                    deadline_hours=deadline_hours,
                    max_cost=max_cost,
                    idempotency_key=named,
                )
                return Job(self.orchestrator, str(answer["cycle_id"]))
            except ClientError as error:
                if not may_pass(error) or time.monotonic() > patience:
                    raise
            time.sleep(POLL_SECONDS)

    def job(self, cycle_id: str) -> Job:
        """Keywords that were submitted before."""
        return Job(self.orchestrator, cycle_id)

    def events(
        self, *, brand: str | None = None, types: Sequence[str] = (), after: str | None = None
    ) -> Iterator[dict[str, Any]]:
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
        begin = place_of(after) or str(self._events.list_events(since=datetime.now(UTC), limit=1)["last"])
        reader = EventStreamReader(last_id=begin)
        attempt = 0
        while True:
            try:
                with self._events.stream_events(
                    brand=brand, types=",".join(types) or None, last_event_id=reader.last_id
                ) as parts:
                    for part in parts:
                        for event in reader.feed(part):
                            attempt = 0
                            yield event
            except ClientError as error:
                if not may_pass(error):
                    raise
                attempt += 1
                time.sleep(pause_before(attempt))
            reader.reconnect()


def place_of(after: str | None) -> str | None:
    """A place as the service takes it: `sequence` has zeros in front."""
    return None if after is None else after.lstrip("0") or "0"
