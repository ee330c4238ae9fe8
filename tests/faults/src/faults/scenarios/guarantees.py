"""For each guarantee, a fault that only this guarantee prevents; the mutation gate also plays them without it."""

from aio_pika import ExchangeType

from chassis.testing import eventually
from envelope.brand import CATALOGUE, EVENTS
from faults.judging import recorder
from faults.judging.recorder import TAP
from faults.playing.scenario import scenario
from faults.playing.world import FaultHarness
from messaging import topology

_LEASE_SECONDS = 1.0


@scenario(
    "connection lost while publishing",
    "the broker's connection is reset after rows were taken to be sent, and before a confirm",
    faults=("stop", "proxy.reset"),
    fast=True,
)
async def connection_lost_while_publishing(world: FaultHarness) -> None:
    proxy, url = await world.proxy("broker")
    await world.submit(world.count(500, fast=60))
    worker = world.start_worker(rabbitmq_url=url, fail_points="relay.publishing=stop")
    await worker.struck()
    # It stands still, so it goes on in the belief that the connection is there.
    proxy.reset()
    worker.resume()


@scenario(
    "nobody is bound",
    "every queue that would receive the events is unbound for a while",
    faults=("unbound",),
    fast=True,
)
async def nobody_is_bound(world: FaultHarness) -> None:
    async with recorder.channel_to(world.rabbitmq_url) as channel:
        for name in filter(None, (*world.bound_queues, CATALOGUE.event_log_queue)):
            queue = await channel.get_queue(name)
            await queue.unbind(EVENTS, "#")
    await world.worker()
    sent = world.count(500, fast=60)
    await world.submit(sent)
    await eventually(lambda: world.effects_at_least(sent))
    if world.mutation != "mandatory":
        # The broker has given messages back, and their rows say so.
        await eventually(
            lambda: world.database.fetchval("select count(*) from outbox where last_error like 'Unroutable%'")
        )
    world.history.fault("unbound")
    # One after the other, the first queue would get what the second misses; a single binding gives both back at once.
    async with recorder.channel_to(world.rabbitmq_url) as channel:
        both = await channel.declare_exchange("both", ExchangeType.FANOUT)
        for name in world.bound_queues:
            await (await channel.get_queue(name)).bind(both)
        await both.bind(EVENTS, "#")
    await topology.declare(world.rabbitmq_url, CATALOGUE)
    await recorder.lay_tap(world.rabbitmq_url)


@scenario(
    "old lease holder resumes",
    "SIGSTOP to a relay that holds a lease, SIGCONT once another holds it",
    faults=("stop",),
    fast=True,
)
async def old_lease_holder_resumes(world: FaultHarness) -> None:
    await world.submit(world.count(200, fast=40))
    old = world.start_worker("old", fail_points="relay.confirmed=stop", lease_seconds=_LEASE_SECONDS)
    await old.struck()
    new = world.start_worker("new", fail_points="relay.claimed=stop", lease_seconds=_LEASE_SECONDS)
    await new.struck()
    old.resume()
    # Whatever the old one does to rows that are not its own any more, it does now, while the new one has them.
    held = "select count(*) from outbox_changes where worker = 'old' and kind in ('delete', 'give_back', 'insert')"
    before = await world.database.fetchval(held)
    await world.submit(5)
    await eventually(lambda: _more_than(world, held, before))
    new.resume()
    world.demand("the tap sees what both have sent", lambda seen: seen.published_again(TAP) > 0)


async def _more_than(world: FaultHarness, query: str, count: int) -> bool:
    found: int = await world.database.fetchval(query)
    return found > count


@scenario(
    "poison in a batch",
    "messages whose handler always raises, in the batches of healthy ones",
    faults=("poison",),
    fast=True,
)
async def poison_in_a_batch(world: FaultHarness) -> None:
    commands = await world.submit(
        {"ok": world.count(500, fast=80), "poison": world.count(5, fast=2), "refuse": 2}
    )
    await world.worker(batch_timeout=0.2)
    poisonous = [command for command in commands if command.keyword.startswith("poison")]
    for letter in await world.take_letters(*poisonous):
        world.history.fault("poison", letter.attempts)
