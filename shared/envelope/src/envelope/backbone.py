"""Payloads that the runtime itself sends, in every system."""

from uuid import UUID

from envelope.message import Name, Payload


class DeadLetterResolved(Payload):
    """A replayed message was handled, so its dead letter is settled."""

    dead_event_id: UUID
    replay_event_id: UUID
    queue: Name
