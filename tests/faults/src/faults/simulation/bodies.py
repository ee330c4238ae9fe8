"""The bytes of every command, made once: most of a schedule's time would go into encoding them otherwise."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from uuid import UUID

from envelope import DomainMessage, Payload, encode
from envelope.brand.payloads import ContentPublish, ResearchRequested
from faults.simulation.plan import BATCH_TYPE, SINGLE_TYPE, CommandKind, PlannedCommand

EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""When every schedule begins."""
EPOCH_MS: Final = int(EPOCH.timestamp() * 1000)
SEND_LATER: Final = timedelta(seconds=2.5)
_DEAD_ID: Final = UUID(int=7)


def fill(command: PlannedCommand) -> None:
    """Gives a command its body, AMQP type and headers."""
    command.body = _body(command.kind, command.single, command.event_id, command.number)
    match command.kind:
        case CommandKind.UNKNOWN:
            command.type = "nothing.known"
        case CommandKind.GARBAGE:
            command.type = None
        case _:
            command.type = SINGLE_TYPE if command.single else BATCH_TYPE
    if command.kind is CommandKind.REPLAY:
        command.headers = {"replay-of": str(_DEAD_ID)}


@lru_cache(maxsize=1000)
def _body(kind: CommandKind, single: bool, event_id: UUID, number: int) -> bytes:
    if kind is CommandKind.GARBAGE:
        return b"no envelope %d" % number
    payload: Payload = ResearchRequested(brand_slug="brand", keyword=f"keyword {number}")
    if single:
        payload = ContentPublish(brand_slug="brand", content_id=event_id, target="site")
    message: DomainMessage[Payload] = DomainMessage(
        event_id=event_id,
        type="nothing.known" if kind is CommandKind.UNKNOWN else SINGLE_TYPE if single else BATCH_TYPE,
        source="orchestrator",
        timestamp=EPOCH,
        correlation_id=str(event_id),
        payload=payload,
    )
    body = encode(message)
    return body.replace(b'"keyword":', b'"word":') if kind is CommandKind.INVALID else body
