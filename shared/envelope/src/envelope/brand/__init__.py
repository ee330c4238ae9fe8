"""The messages of the brand engine. The backbone does not import them: each service passes the catalogue in."""

from envelope.brand.catalogue import CATALOGUE, EVENTS, EVENTS_QUEUE, SERVICES

__all__ = ["CATALOGUE", "EVENTS", "EVENTS_QUEUE", "SERVICES"]
