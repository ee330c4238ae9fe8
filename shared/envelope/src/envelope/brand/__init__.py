"""What the services of the brand engine say to each other. The backbone knows nothing of it: each service hands it over."""

from envelope.brand.catalogue import CATALOGUE, EVENTS, EVENTS_QUEUE, SERVICES

__all__ = ["CATALOGUE", "EVENTS", "EVENTS_QUEUE", "SERVICES"]
