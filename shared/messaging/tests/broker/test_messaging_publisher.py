"""The publishing connection, when confirms do not come."""

import structlog

from chassis.testing import eventually, running
from envelope.brand.payloads import ResearchRequested
from messaging.broker import publisher
from messaging.broker.bulk_publish import BulkPublisher

QUEUE = "research-commands"


async def test_what_the_broker_never_confirms_goes_over_another_channel_of_the_same_connection(
    world, monkeypatch
) -> None:
    forgetful = _forget_confirms(monkeypatch, of_channels=1)
    monkeypatch.setattr(publisher, "CONFIRM_SECONDS", 0.5)
    service = world.service()
    async with running(service):
        await service._publisher.wait_until_ready()
        connection = service._publisher._connection
        async with service.database.transaction() as tx:
            tx.send(ResearchRequested(brand_slug="acme", keyword="forgotten"))
        await eventually(world.outbox_is_empty)
        assert service._publisher._connection is connection
        assert service._publisher._bulk not in forgetful
        assert service._publisher._patience == 0.5
    # Whether it had arrived nobody could tell.
    assert await world.broker.depth(QUEUE) == 2


async def test_a_broker_that_is_slow_to_confirm_is_given_more_time_each_time(world, monkeypatch) -> None:
    _forget_confirms(monkeypatch, of_channels=4)
    monkeypatch.setattr(publisher, "CONFIRM_SECONDS", 0.1)
    monkeypatch.setattr(publisher, "LONGEST_CONFIRM_SECONDS", 0.4)
    service = world.service()
    with structlog.testing.capture_logs() as logs:
        async with running(service):
            async with service.database.transaction() as tx:
                tx.send(ResearchRequested(brand_slug="acme", keyword="slow"))
            await eventually(world.outbox_is_empty)
    given_up = [each["seconds"] for each in logs if each["event"] == "publish_not_confirmed"]
    assert given_up == [0.1, 0.2, 0.4, 0.4]


def _forget_confirms(monkeypatch, *, of_channels: int) -> list[BulkPublisher]:
    """Has the confirms of the first channels never arrive; returns those channels' publishers, as they come up."""
    forgetful: list[BulkPublisher] = []
    confirmed = BulkPublisher.confirmed

    def confirm(self: BulkPublisher, tag: int, *, multiple: bool, accepted: bool) -> None:
        if self not in forgetful and len(forgetful) < of_channels:
            forgetful.append(self)
        if self not in forgetful:
            confirmed(self, tag, multiple=multiple, accepted=accepted)

    monkeypatch.setattr(BulkPublisher, "confirmed", confirm)
    return forgetful
