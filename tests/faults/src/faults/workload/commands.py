"""Commands of the client: the message and its entry in the history."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from envelope import DomainMessage, Payload, encode, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ContentGenerate, ResearchRequested
from faults.judging.history import SubmittedCommand
from faults.workers.behaviours import parse
from faults.workload.sender import EncodedCommand
from messaging import QueuePolicy
from messaging import headers as header
from messaging.topology import RETURNS

RESEARCH: Final = "research-commands"
ORCHESTRATOR: Final = "orchestrator-commands"


def command(keyword: str, *, brand: str, queue: str, policy: QueuePolicy) -> EncodedCommand:
    """A fresh command in a conversation of its own; its keyword says what is to become of it (`behaviours`)."""
    event_id = new_event_id()
    payload: Payload
    if queue == RESEARCH:
        payload = ResearchRequested(brand_slug=brand, keyword=keyword)
    else:
        payload = ContentGenerate(
            brand_slug=brand, content_id=event_id, research_id=event_id, keyword=keyword
        )
    message: DomainMessage[Payload] = DomainMessage(
        event_id=event_id,
        type=CATALOGUE.type_of(payload).name,
        source="orchestrator",
        timestamp=datetime.now(UTC),
        correlation_id=f"chain-{event_id}",
        payload=payload,
    )
    behaviour, attempts = parse(keyword), policy.max_attempts or 1
    told = SubmittedCommand(
        id=str(event_id),
        queue=queue,
        brand=brand,
        keyword=keyword,
        correlation_id=message.correlation_id,
        expect=behaviour.expected_end(attempts),
        attempts=behaviour.allowed_attempts(attempts),
    )
    return EncodedCommand(told, encode(message), message.type)


def replay(dead: SubmittedCommand, keyword: str, policy: QueuePolicy) -> EncodedCommand:
    """A replay of a dead command, edited to another keyword, as the monitor makes it."""
    again = command(keyword, brand=dead.brand, queue=dead.queue, policy=policy)
    entry = CATALOGUE.type_of(ResearchRequested if dead.queue == RESEARCH else ContentGenerate)
    message = entry.envelope.model_validate_json(again.body).model_copy(
        update={"correlation_id": dead.correlation_id, "causation_id": UUID(dead.id)}
    )
    return replace(
        again,
        command=replace(again.command, correlation_id=dead.correlation_id, replay_of=dead.id),
        body=encode(message),
        headers={header.REPLAY_OF: dead.id},
        exchange=RETURNS,
    )
