"""The five real services under load, while they, their broker or their databases go down."""

import asyncio

from brandctl.local import services
from chassis.testing import eventually
from faults.judging.results import Outcome
from faults.playing.scenario import scenario
from faults.playing.stack import Stack
from faults.playing.world import World

_PER_SECOND = 5
_KILLED = tuple(f"{name} killed" for name in services.NAMES)


@scenario(
    "every service killed in turn",
    "SIGKILL to each of the five services while keywords are on their way through all of them",
    faults=_KILLED,
)
async def every_service_killed_in_turn(world: World) -> Outcome:
    async with Stack.running(world) as stack:
        async with stack.load(_PER_SECOND):
            for number, name in enumerate(services.NAMES, 1):
                await at_work(stack, 4 * number)
                await stack.kill(name)
                await asyncio.sleep(0.5)  # the others go on without it for a while: that is what is tested
                stack.start(name)
                await stack.ready()
            await at_work(stack, 60)
        return await stack.outcome(_KILLED)


@scenario(
    "broker restarts under the services",
    "the broker is stopped and started again while keywords are on their way",
    faults=("broker restarted",),
    own_nodes=True,
)
async def broker_restarts_under_the_services(world: World) -> Outcome:
    broker = world.servers.broker
    assert broker is not None
    async with Stack.running(world) as stack:
        async with stack.load(_PER_SECOND):
            await at_work(stack, 10)
            await broker.stop()
            await broker.start()
            world.history.fault("broker restarted")
            await at_work(stack, 40)
        return await stack.outcome(("broker restarted",))


@scenario(
    "database restarts under the services",
    "the database server is killed and started again while keywords are on their way",
    faults=("database killed",),
    own_nodes=True,
)
async def database_restarts_under_the_services(world: World) -> Outcome:
    database = world.servers.database
    assert database is not None
    async with Stack.running(world) as stack:
        async with stack.load(_PER_SECOND):
            await at_work(stack, 10)
            await database.kill()
            await asyncio.sleep(1)  # long enough for every service to notice
            await database.start()
            world.history.fault("database killed")
            await at_work(stack, 40)
        return await stack.outcome(("database killed",))


async def at_work(stack: Stack, posts: int) -> None:
    """Returns once keywords are in all stages."""

    async def enough() -> bool:
        return await stack.posted() >= posts

    await eventually(enough, within=60)
