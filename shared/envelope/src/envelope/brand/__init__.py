"""The messages of the brand engine. The backbone does not import them: each service passes the catalogue in."""

from envelope.brand.catalogue import CATALOGUE, EVENTS, EVENTS_QUEUE
from envelope.brand.services import CALLS, DEPLOYED, PAIRS, REGISTRY, SERVICES

__all__ = ["CALLS", "CATALOGUE", "DEPLOYED", "EVENTS", "EVENTS_QUEUE", "PAIRS", "REGISTRY", "SERVICES"]
