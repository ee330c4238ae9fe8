"""The deployed services of the brand engine, one line each, with the services that each one calls."""

from typing import Final, NamedTuple


class ServiceEntry(NamedTuple):
    """What deployments, local runs and the catalogue know of a service."""

    name: str
    port: int
    """Of its HTTP API."""
    calls: tuple[str, ...] = ()
    """Services that it asks over HTTP, each with a key that only the two have."""
    calls_for_people: tuple[str, ...] = ()
    """Services that it asks over HTTP with the API keys of the people who use it. It has no key of its own for them."""
    takes_messages: bool = True
    most_replicas: int = 3
    """Each replica holds up to DATABASE_CONNECTIONS connections of the database server."""


REGISTRY: Final = (
    ServiceEntry("orchestrator", 8010, calls=("research", "gateway"), most_replicas=6),
    ServiceEntry("research", 8011, calls=("gateway", "orchestrator"), most_replicas=10),
    ServiceEntry("publisher", 8012, calls=("gateway", "orchestrator"), most_replicas=6),
    ServiceEntry("social", 8013, calls=("gateway", "orchestrator"), most_replicas=4),
    ServiceEntry(
        "monitor", 8014, calls=("gateway", "orchestrator", "social", "publisher", "research", "events")
    ),
    ServiceEntry("events", 8017, calls=("orchestrator", "gateway")),
    ServiceEntry("gateway", 8015, calls=("orchestrator",), takes_messages=False),
    ServiceEntry(
        "console",
        8016,
        calls_for_people=("orchestrator", "research", "publisher", "social", "monitor", "events", "gateway"),
        takes_messages=False,
    ),
)

SERVICES: Final = tuple(entry.name for entry in REGISTRY if entry.takes_messages)
"""Those that consume messages."""
DEPLOYED: Final = (*SERVICES, *(entry.name for entry in REGISTRY if not entry.takes_messages))
"""Those with a database and an API."""
PAIRS: Final = tuple((entry.name, called) for entry in REGISTRY for called in entry.calls)
"""Pairs of caller and called service. Each has a key, such as `ORCHESTRATOR_TO_RESEARCH_KEY`, for the caller's requests."""
CALLS: Final = (*PAIRS, *((entry.name, called) for entry in REGISTRY for called in entry.calls_for_people))
"""Pairs of caller and called service, whatever the key: the ways between services that a network has to leave open."""
