"""Another server in the place of the database's is noticed once, with the time up to which it has all commits."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from messaging import CommitLoss, Service, Transaction, is_loss_unnoticed, last_commit_loss
from messaging.flow.server_watch import ServerWatch
from messaging.storage.server_history import SYNCHRONOUS_FAIL_OVER
from shared.messaging.tests.conftest import World

FAIL_OVER = "timeline = '00000000'"
"""As the row of a server is seen whose standby has taken over: what was another timeline."""
RESTORED = "system_identifier = '1'"


class Noticed:
    """Service and what it was told."""

    def __init__(self, service: Service) -> None:
        self.database = service.database
        self.losses: list[CommitLoss] = []

    async def note(self, loss: CommitLoss, tx: Transaction) -> None:
        await tx.connection.execute("select 1")
        self.losses.append(loss)

    async def look(self, replicas: int = 1) -> list[CommitLoss]:
        """What replicas of the service find."""
        self.losses.clear()
        await asyncio.gather(*(ServerWatch(self.database, self.note).look() for _ in range(replicas)))
        return list(self.losses)


@pytest.fixture
async def noticed(world: World) -> AsyncIterator[Noticed]:
    service = world.service()
    await service.connections.open()
    yield Noticed(service)
    await service.connections.close()


async def change(world: World, *changes: str) -> datetime:
    """Makes the row as another server finds it; returns when the former one was seen last."""
    await world.database.execute(f"update server_history set {', '.join(changes)}")
    seen_at: datetime = await world.database.fetchval("select seen_at from server_history")
    return seen_at


async def test_the_same_server_is_no_loss_however_many_replicas_look(world: World, noticed: Noticed) -> None:
    assert await noticed.look(3) == []
    seen_at = await change(world, "is_synchronous = is_synchronous")
    assert await noticed.look(3) == []
    assert await change(world, "is_synchronous = is_synchronous") > seen_at
    async with noticed.database.connection() as connection:
        assert await last_commit_loss(connection) is None
        assert not await is_loss_unnoticed(connection)


@pytest.mark.parametrize("changed", [FAIL_OVER, RESTORED])
async def test_another_server_is_one_loss_of_what_came_after_the_last_look(
    world: World, noticed: Noticed, changed: str
) -> None:
    await noticed.look()
    seen_at = await change(world, changed)
    async with noticed.database.connection() as connection:
        assert await is_loss_unnoticed(connection)
    (loss,) = await noticed.look(3)
    assert loss.kept_until == seen_at
    assert loss.noticed_at > seen_at
    assert await noticed.look(3) == []
    async with noticed.database.connection() as connection:
        assert await last_commit_loss(connection) == loss
        assert not await is_loss_unnoticed(connection)


async def test_a_loss_that_could_not_be_handled_is_noticed_again(world: World, noticed: Noticed) -> None:
    await noticed.look()
    await change(world, FAIL_OVER)

    async def fail(_: CommitLoss, __: Transaction) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        await ServerWatch(noticed.database, fail).look()
    assert len(await noticed.look()) == 1


@pytest.mark.parametrize(
    ("changes", "losses"),
    [
        ((FAIL_OVER,), 0),
        ((RESTORED,), 1),
        ((FAIL_OVER, f"seen_at = seen_at - interval '{SYNCHRONOUS_FAIL_OVER + timedelta(1)}'"), 1),
    ],
    ids=["fail-over", "another system", "a backup"],
)
async def test_a_synchronous_standby_has_lost_nothing_and_a_backup_has(
    world: World, noticed: Noticed, changes: tuple[str, ...], losses: int
) -> None:
    await noticed.look()
    await change(world, "is_synchronous = true", *changes)
    assert len(await noticed.look()) == losses
