"""`brandctl receipts`, beside a service that has some and one of a version that has none yet."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.http.api import api
from chassis.testing import serving
from receipts import EffectInDoubt, serve_receipts
from shared.receipts.tests.conftest import World
from tests.fixtures.commands.brandctl import Operator

KEY = "test-service-key-0123456789"


@pytest.fixture
async def receipts(world: World, tmp_path: Path) -> AsyncIterator[Operator]:
    social = api("social", ServiceKey(SecretStr(KEY)), answers=world.database)
    serve_receipts(social, world.receipts)
    publisher = api("publisher", ServiceKey(SecretStr(KEY)))
    async with serving(social) as url, serving(publisher) as other:
        yield Operator(tmp_path, {"SOCIAL_URL": url, "PUBLISHER_URL": other, "SERVICE_KEY": KEY}, "receipts")


async def test_somebody_finds_one_in_doubt_and_has_it_repeated(world: World, receipts: Operator) -> None:
    world.plain.faults.inject("reset_before", "POST /items")
    assert isinstance(await world.receipts.perform(world.effect, world.steps(detect=None)), EffectInDoubt)
    (listed,) = (await receipts.json("list", "--state", "in_doubt"))["items"]
    assert (listed["service"], listed["brand_slug"]) == ("social", "acme")
    shown = await receipts("show", listed["receipt_id"])
    assert "an item at plain: in doubt" in shown.out
    assert "make  lost" in shown.out
    repeated = await receipts("repeat", listed["receipt_id"], "--yes")
    assert (repeated.code, repeated.err.strip()) == (0, "an item at plain: ready")
    late = await receipts("confirm", listed["receipt_id"], "--url", "https://example.com/1")
    assert (late.code, "is not in doubt: it is ready" in late.err) == (1, True)
