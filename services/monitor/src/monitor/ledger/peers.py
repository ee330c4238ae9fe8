"""The services that the ledger asks: over HTTP, and the monitor itself directly."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol
from urllib.parse import urlencode
from uuid import UUID

from chassis.http.client import UnusableAnswerError
from messaging import Database
from messaging.ledger_routes import MOST_ASKED
from messaging.storage import outcomes, sent
from messaging.storage.sent import SentPlace
from monitor.ledger.domain import Unhandled
from monitor.ledger.message_routes import LedgerRoute

_ID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class SentMessages:
    """A batch of messages of one type."""

    sent_at: datetime
    type: str
    ids: bytes
    """16 bytes of each."""
    correlation_ids: Sequence[str | None]

    def __len__(self) -> int:
        return len(self.ids) // _ID_BYTES

    def id_at(self, number: int) -> UUID:
        return UUID(bytes=self.ids[number * _ID_BYTES : (number + 1) * _ID_BYTES])


@dataclass(frozen=True, slots=True)
class SentRecordPage:
    batches: tuple[SentMessages, ...]
    next: str
    is_last: bool
    is_recorded: bool
    read_until: datetime


@dataclass(frozen=True, slots=True)
class Outcomes:
    unhandled: Mapping[UUID, Unhandled]
    ready: int | None
    """Messages in the queue; None: unknown."""


class JsonReader(Protocol):
    """A client of another service."""

    async def read(self, path: str, about: str) -> Mapping[str, Any]: ...


class LedgerPeer(Protocol):
    async def sent(
        self, route: LedgerRoute, after: str | None, *, older_than: timedelta
    ) -> SentRecordPage: ...

    async def outcomes(self, queue: str, ids: bytes) -> Outcomes:
        """What the service has not handled of these messages; `ids` has 16 bytes of each."""
        ...


class RemotePeer:
    """Another service. Raises what `JsonReader.read` raises."""

    def __init__(self, reader: JsonReader) -> None:
        self._reader = reader

    async def sent(self, route: LedgerRoute, after: str | None, *, older_than: timedelta) -> SentRecordPage:
        query: dict[str, Any] = {"exchange": route.exchange, "older_than": int(older_than.total_seconds())}
        if route.routing_key is not None:
            query["routing_key"] = route.routing_key
        if after is not None:
            query["after"] = after
        page = await self._reader.read(f"/v1/messages/sent?{urlencode(query)}", "the messages that it sent")
        try:
            batches = tuple(
                SentMessages(
                    datetime.fromisoformat(each["sent_at"]),
                    each["type"],
                    urlsafe_b64decode(each["ids"]),
                    each["correlation_ids"],
                )
                for each in page["items"]
            )
            return SentRecordPage(
                batches,
                page["next"],
                page["is_last"],
                page["is_recorded"],
                datetime.fromisoformat(page["now"]) - older_than,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UnusableAnswerError(f"its record of sent messages cannot be read: {error!r}") from error

    async def outcomes(self, queue: str, ids: bytes) -> Outcomes:
        unhandled: dict[UUID, Unhandled] = {}
        ready: int | None = None
        at_once = MOST_ASKED * _ID_BYTES
        for start in range(0, len(ids), at_once):
            asked = urlsafe_b64encode(ids[start : start + at_once]).decode()
            query = urlencode({"queue": queue, "ids": asked})
            answer = await self._reader.read(f"/v1/messages/outcomes?{query}", "the outcomes of messages")
            try:
                for each in answer["unhandled"]:
                    unhandled[UUID(each["message_id"])] = Unhandled(
                        each["state"], _moment(each["since"]), _moment(each["due_at"]), each["is_unsent"]
                    )
                ready = answer["ready"] if answer["ready"] is not None else ready
            except (KeyError, TypeError, ValueError) as error:
                raise UnusableAnswerError(f"its outcomes of messages cannot be read: {error!r}") from error
        return Outcomes(unhandled, ready)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


class OwnPeer:
    """The monitor itself, which sends and consumes too."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def sent(self, route: LedgerRoute, after: str | None, *, older_than: timedelta) -> SentRecordPage:
        place = None
        if after is not None:
            at, _, number = after.partition(" ")
            place = SentPlace(datetime.fromisoformat(at), int(number))
        async with self._database.connection() as connection:
            page = await sent.page(
                connection, route.exchange, route.routing_key, place, older_than=older_than
            )
        batches = tuple(
            SentMessages(
                each.place.sent_at,
                each.type,
                b"".join(one.bytes for one in each.event_ids),
                each.correlation_ids,
            )
            for each in page.batches
        )
        following = f"{page.next.sent_at.isoformat()} {page.next.id}"
        return SentRecordPage(
            batches, following, page.is_last, self._database.records_sent, page.now - older_than
        )

    async def outcomes(self, queue: str, ids: bytes) -> Outcomes:
        asked = [UUID(bytes=ids[at : at + _ID_BYTES]) for at in range(0, len(ids), _ID_BYTES)]
        async with self._database.connection() as connection:
            found = await outcomes.unhandled(connection, asked, queue)
        unhandled = {
            UUID(int=each.event_id.int): Unhandled(each.state, each.since, each.due_at, each.is_unsent)
            for each in found
        }
        ready = await self.ready(queue) if any(each.state == "unknown" for each in found) else None
        return Outcomes(unhandled, ready)

    async def ready(self, queue: str) -> int | None:
        """Messages in one of the monitor's queues; None if the broker does not answer."""
        process = self._database.process
        depths = {} if process is None else await process.read_depths([queue])
        return depths[queue].ready if queue in depths else None
