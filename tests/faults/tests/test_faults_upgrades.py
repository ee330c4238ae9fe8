"""The forbidden steps of an upgrade are noticed. That the right order passes is shown by the fast matrix."""

from functools import partial
from pathlib import Path

import pytest

from chassis.testing import eventually
from faults.playing import scenario
from faults.playing.scenario import Play, Scenario
from faults.playing.world import FaultHarness
from faults.scenarios import upgrades

pytestmark = pytest.mark.extended


async def takes_away_what_the_version_before_writes(world: FaultHarness) -> None:
    await world.worker("old-1")
    await world.submit(20)
    await eventually(partial(world.effects_at_least, 20))
    await world.database.execute("alter table effects drop column keyword")
    world.history.fault("mistake")
    await world.submit(5)
    await eventually(partial(world.dead_letters_at_least, 5))


async def sends_the_new_type_while_the_version_before_consumes(world: FaultHarness) -> None:
    await world.worker("old-1")
    await upgrades.apply_next(world)
    await world.worker("next-1", program=upgrades.NEXT)
    await upgrades.NewerClient(world).schedule(40, within=1)
    world.history.fault("mistake")
    await eventually(partial(world.dead_letters_at_least, 1))


@pytest.mark.parametrize(
    ("mistake", "end"),
    [
        (takes_away_what_the_version_before_writes, "should end as effect, not as exhausted"),
        (sends_the_new_type_while_the_version_before_consumes, "should end as effect, not as unknown_type"),
    ],
)
async def test_an_upgrade_in_the_wrong_order_is_seen(
    servers, tmp_path: Path, mistake: Play, end: str
) -> None:
    wrong = Scenario("wrong", "", mistake, faults=("mistake",))
    result = await scenario.play(wrong, servers, tmp_path, fast=True, patience=10.0)
    assert any(end in violation.detail for violation in result.violations), result
    # The mistake itself was made: what failed is the upgrade, not the scenario.
    assert all(violation.invariant for violation in result.violations), result
    assert all(violation.invariant != 9 for violation in result.violations), result
