"""The services that handle messages: each has a list of them, of retries, and a part of the backbone."""

from typing import Final, Literal, get_args

MessageServiceName = Literal["orchestrator", "research", "publisher", "social", "monitor"]
MESSAGE_SERVICES: Final[tuple[str, ...]] = get_args(MessageServiceName)
