"""`brandctl brands` as a process of its own, beside an orchestrator's API."""

import asyncio
from typing import Any

import httpx
import pytest

from brandctl.errors import CommandError
from brandctl.orchestrator.brands import change_brand
from client.connections import Address
from client.services.orchestrator import Orchestrator
from tests.fixtures.commands.brandctl import CommandResult, Operator


@pytest.fixture
def brands(brandctl: Operator) -> Operator:
    return brandctl.of("brands")


def rows(shown: CommandResult) -> dict[str, str]:
    assert shown.code == 0, shown.err
    return dict(line.split("\t") for line in shown.out.splitlines()[1:])


@pytest.mark.extended
async def test_a_brand_from_its_making_to_its_pause(brands: Operator, api: httpx.AsyncClient) -> None:
    nameless = await brands("set", "tea-time", "--tone", "Plain.")
    made = rows(await brands("set", "tea-time", "--name", "Tea\u202e time", "--forbid", "b", "--forbid", "c"))
    quiet = rows(
        await brands(
            "set", "tea-time", "--quiet", "00:00-23:59", "--time-zone", "Asia/Tokyo", "--tone", "Plain."
        )
    )
    moved = rows(await brands("set", "tea-time", "--time-zone", "Europe/Berlin", "--target", "elsewhere"))
    gone_on = await brands("set", "tea-time", "--clear", "quiet-hours", "--clear", "forbidden-words")
    cleared = rows(gone_on)

    assert (nameless.code, "give --name to make it" in nameless.err) == (2, True)
    assert (made["name"], made["forbidden words"], made["approval"]) == (
        "Tea\ufffd time",
        "b, c",
        "nothing (by default)",
    )
    assert (quiet["quiet hours"], quiet["tone"], quiet["forbidden words"]) == (
        "00:00-23:59 Asia/Tokyo",
        "Plain.",
        "b, c",
    )
    assert (moved["quiet hours"], moved["approval"]) == (
        "00:00-23:59 Europe/Berlin",
        "everything (by default)",
    )
    assert (cleared["quiet hours"], cleared["forbidden words"], cleared["tone"]) == ("-", "-", "Plain.")
    assert cleared["pending research"] == "0"
    assert "its articles wait until you approve them (brandctl drafts list)" in gone_on.err

    paused = await brands("pause", "tea-time")
    listed = await brands("list")
    assert paused.err == "tea-time: nothing more is begun, its brand is paused\n"
    assert listed.out.splitlines()[2].split("\t")[-1] == "its brand is paused"
    assert [each["slug"] for each in (await brands.json("list", "--limit", "1"))["items"]] == ["acme"]
    assert "--after acme" in (await brands("list", "--limit", "1")).err
    assert (await brands.json("resume", "tea-time"))["agent"]["waits"] is None


class Overtaken(Orchestrator):
    """Another person is a moment faster."""

    def set_brand(self, slug: str, **policy: Any) -> Any:  # type: ignore[override]
        super().set_brand(slug, name="Theirs")
        return super().set_brand(slug, **policy)


@pytest.mark.parametrize("slug", ["acme", "new"])
async def test_whoever_is_overtaken_is_told_and_changes_nothing(api: httpx.AsyncClient, slug: str) -> None:
    def change() -> None:
        with Overtaken(Address(str(api.base_url), api.headers["X-Service-Key"])) as orchestrator:
            change_brand(orchestrator, slug, {"name": "Mine", "tone": "Plain."})

    with pytest.raises(CommandError, match="so yours did nothing"):
        await asyncio.to_thread(change)
    policy = (await api.get(f"/v1/brands/{slug}")).json()["policy"]
    assert (policy["name"], policy["tone"]) == ("Theirs", "")


@pytest.mark.extended
@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("set", "acme"), "no setting is given"),
        (("set", "acme", "--tone", "A", "--clear", "tone"), "one of the two"),
        (("set", "acme", "--quiet", "at night"), "such as 22:00-07:00"),
        (("set", "acme", "--time-zone", "UTC"), "give --quiet, too"),
        (("set", "acme", "--clear", "everything"), "--clear"),
    ],
)
async def test_what_cannot_be_set_is_said(brands: Operator, arguments: tuple[str, ...], hint: str) -> None:
    ended = await brands(*arguments)

    assert (ended.code, hint in ended.err) == (2, True)
