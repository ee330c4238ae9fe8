"""The publishing connection, when confirms do not come."""

import pytest
import structlog

from chassis.testing import eventually, running
from envelope.brand.payloads import ResearchRequested
from messaging.broker import publisher
from messaging.broker.bulk_publish import BulkPublisher

QUEUE = "research-commands"


@pytest.mark.extended
async def test_what_the_broker_never_confirms_goes_over_another_connection(world, monkeypatch) -> None:
    monkeypatch.setattr(publisher, "CONFIRM_SECONDS", 3.0)
    service = world.service()
    async with running(service):
        await _send(service, "before")
        await eventually(world.outbox_is_empty)
        connection = service._publisher._connection
        _forget_confirms(monkeypatch, of_connections=1)
        await _send(service, "forgotten")
        await eventually(world.outbox_is_empty)
        assert service._publisher._connection is not connection
        assert service._publisher._patience == 3.0, "a broker that was quick before is not slow"
    # Whether it had arrived nobody could tell.
    assert await world.broker.depth(QUEUE) == 3


@pytest.mark.extended
async def test_a_broker_that_is_slow_to_confirm_is_given_more_time_each_time(world, monkeypatch) -> None:
    _forget_confirms(monkeypatch, of_connections=4)
    monkeypatch.setattr(publisher, "CONFIRM_SECONDS", 0.1)
    monkeypatch.setattr(publisher, "LONGEST_CONFIRM_SECONDS", 0.4)
    service = world.service()
    with structlog.testing.capture_logs() as logs:
        async with running(service):
            await _send(service, "slow")
            await eventually(world.outbox_is_empty)
    given_up = [each["seconds"] for each in logs if each["event"] == "publish_not_confirmed"]
    # A broker on a busy machine may be slower than that by itself.
    assert given_up[:4] == [0.1, 0.2, 0.4, 0.4]
    assert set(given_up[4:]) <= {0.4}


async def _send(service, keyword: str) -> None:
    async with service.database.transaction() as tx:
        tx.send(ResearchRequested(brand_slug="acme", keyword=keyword))


def _forget_confirms(monkeypatch, *, of_connections: int) -> None:
    """Has no confirm arrive over the next so many connections that there is something to confirm on."""
    forgetful: list[BulkPublisher] = []
    confirmed = BulkPublisher.confirmed

    def confirm(self: BulkPublisher, tag: int, *, multiple: bool, accepted: bool) -> None:
        if self not in forgetful and len(forgetful) < of_connections:
            forgetful.append(self)
        if self not in forgetful:
            confirmed(self, tag, multiple=multiple, accepted=accepted)

    monkeypatch.setattr(BulkPublisher, "confirmed", confirm)
