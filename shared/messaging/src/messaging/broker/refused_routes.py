"""Remembers for a while which publishes the broker has refused (403), so that they do not hold up others.

A refusal closes the channel, and everything in flight on it must be sent again. One message that our user may not publish, because
its permissions are older than the message type, would hold up all others that way.
"""

import re
from time import monotonic
from typing import Final

import structlog

from messaging.errors import PublishRefusedError

log = structlog.get_logger(__name__)

REFUSED_SECONDS: Final = 60.0
"""How long the publisher sends nothing on a refused route."""

# RabbitMQ 3.10: "access to …", 4.x: "write access to …"; some say "in exchange exchange '…'".
_REFUSAL: Final = re.compile(
    r"access to (?:topic '(?P<key>.*)' in (?:exchange )?)?exchange '(?P<exchange>[^']*)' in vhost"
)


class RefusedRoutes:
    """The routes on which the broker refuses one publisher's messages."""

    def __init__(self) -> None:
        self._until: dict[tuple[str, str | None], float] = {}

    def note(self, error: BaseException | None) -> None:
        """Learns from the error that closed a channel, if that was a refusal."""
        if (found := _REFUSAL.search(str(error))) is None:
            return
        exchange, routing_key = found["exchange"], found["key"]
        if self._until.get((exchange, routing_key), 0.0) > monotonic():
            return
        self._until[exchange, routing_key] = monotonic() + REFUSED_SECONDS
        log.error(
            "publish_refused",
            exchange=exchange,
            routing_key=routing_key,
            error=str(error),
            hint="renew what the users may do: python -m messaging users CATALOGUE",
            retry_seconds=REFUSED_SECONDS,
        )

    def of(self, exchange: str, routing_key: str) -> PublishRefusedError | None:
        """The error for a message on this route; None if it may be sent."""
        if not self._until:
            return None
        now = monotonic()
        for route in ((exchange, None), (exchange, routing_key)):
            if self._until.get(route, now) > now:
                return PublishRefusedError(
                    f"our user may not publish to {exchange!r} with routing key {routing_key!r}"
                )
        return None
