"""The services that handle messages: each has a list of them, of retries, and a part of the backbone."""

from typing import Final, Literal, get_args

MessageServiceName = Literal["orchestrator", "research", "publisher", "social", "monitor", "events"]
MESSAGE_SERVICES: Final[tuple[str, ...]] = get_args(MessageServiceName)
CHAIN_SERVICES: Final = tuple(each for each in MESSAGE_SERVICES if each != "events")
"""Those that do the work of chains. `events` only keeps what they report, so it would name each event a second time."""
