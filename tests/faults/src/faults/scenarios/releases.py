"""The release before this one is upgraded under load, put back, and upgraded again."""

from typing import Final

from faults.judging.results import ScenarioOutcome
from faults.playing.releases import InstalledRelease, ReleasedStack, why_no_former_release
from faults.playing.scenario import scenario
from faults.playing.world import FaultHarness
from faults.scenarios.services.pipeline import at_work

_PER_SECOND: Final = 1.0
"""There are 280 keywords, which must not end before the last replacement has, on a machine with much else to do."""
_FAULTS: Final = ("upgraded", "put back", "upgraded again")


@scenario(
    "former release upgraded and put back",
    "all five services change their release one by one while keywords are on their way; FORMER_RELEASE names a checkout",
    faults=_FAULTS,
    own_nodes=True,
    budget=600,
    impossible=why_no_former_release,
)
async def former_release_upgraded(world: FaultHarness) -> ScenarioOutcome:
    former, present = await InstalledRelease.former(), await InstalledRelease.present()
    back = () if former.events_queue == present.events_queue else ("--events-queue", former.events_queue)
    async with ReleasedStack.released(world, former) as stack:
        async with stack.load(_PER_SECOND):
            await at_work(stack, 8)
            await stack.set_up(present)
            await stack.replace_all(present)
            await stack.move_queues(present)
            world.history.fault("upgraded")
            await more_work(stack)
            await stack.move_queues(present, *back)
            await stack.replace_all(former)
            await stack.move_queues(present, *back)
            world.history.fault("put back")
            await more_work(stack)
            await stack.set_up(present)
            await stack.replace_all(present)
            await stack.move_queues(present)
            world.history.fault("upgraded again")
            await more_work(stack)
        return await stack.outcome(_FAULTS)


async def more_work(stack: ReleasedStack) -> None:
    """Returns once keywords that were handed in meanwhile are in all stages."""
    await at_work(stack, await stack.posted() + 10)
