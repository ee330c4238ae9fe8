"""The payloads that the runtime itself sends, whatever the system."""

from uuid import UUID

from envelope.message import Name, Payload


class DeadLetterResolved(Payload):
    """A replayed message was handled, so the dead letter that it stands for is settled."""

    dead_event_id: UUID
    replay_event_id: UUID
    queue: Name
