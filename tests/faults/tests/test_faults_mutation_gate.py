"""The checker can fail: without a guarantee, the fault that it guards against is seen, each time.

That the same scenarios pass with the guarantee is shown beside this file, by the fast matrix.
"""

import asyncio

import pytest

from faults import scenarios
from faults.workers import mutations

pytestmark = pytest.mark.extended

# Guarantee → the scenario that misses it, and an invariant that is broken then.
GATE = {
    "inbox": ("kill between commit and ack", 1),
    "confirms": ("connection lost while publishing", 5),
    "mandatory": ("nobody is bound", 5),
    "lease_fencing": ("old lease holder resumes", 4),
    "batch_redo": ("poison in a batch", 6),
    "crash_markers": ("crasher among neighbours", 1),
    "waiting": ("dependency refuses", 6),
}


async def test_the_checker_fails_without_each_guarantee(play) -> None:
    results = await asyncio.gather(*(play(name, mutation=mutation) for mutation, (name, _) in GATE.items()))
    broken = {
        mutation: {violation.invariant for violation in result.violations}
        for mutation, result in zip(GATE, results, strict=True)
    }
    missed = {mutation: seen for mutation, seen in broken.items() if GATE[mutation][1] not in seen}
    assert missed == {}
    # The faults themselves struck: what failed is the guarantee, not the scenario.
    assert all(9 not in seen for seen in broken.values())


def test_every_guarantee_is_behind_the_gate() -> None:
    assert GATE.keys() == mutations.NAMES.keys()
    assert {name for name, _ in GATE.values()} <= {
        each.name for each in scenarios.load().values() if each.fast
    }
