"""Commands of the service that keeps all events for other systems."""
