"""The doctor's page, of real services side by side, of which some are away."""

from collections.abc import Awaitable, Callable
from typing import Any

import aio_pika
import httpx
import pytest
from playwright.async_api import Page

from chassis.testing import eventually
from client.message_services import MESSAGE_SERVICES
from console.doctor.views import PROBES, Summary, worst_first
from messaging.doctor.doctor import KEEP_SECONDS
from messaging.topology import DEAD_LETTERS

DOCTOR = "/doctor"


def test_the_worst_is_shown_first() -> None:
    findings = [
        {"probe": name, "status": status}
        for name, status in (("a", "ok"), ("b", "failed"), ("c", "of a newer version"), ("d", "warning"))
    ]
    assert [each["probe"] for each in worst_first(findings)] == ["b", "d", "a", "c"]
    assert Summary.of({"x": {"findings": findings}, "y": None}) == Summary(failed=1, warnings=1, silent=1)


async def test_services_are_side_by_side_and_who_is_away_is_told(person: httpx.AsyncClient) -> None:
    shown = (await person.get(DOCTOR)).text
    for away in ("research", "publisher", "social", "events"):
        assert f"The service “{away}” does not answer" in shown
    assert "4 services did not answer" in shown
    assert shown.count("badge-good") == 2 * len(PROBES)
    assert "badge-bad" not in shown


async def test_what_is_wrong_is_told_with_what_to_do(person: httpx.AsyncClient, rabbitmq_url: str) -> None:
    async with await aio_pika.connect(rabbitmq_url) as connection, connection.channel() as channel:
        await channel.exchange_delete(DEAD_LETTERS)
    # A run of the start of the services may answer for some seconds more.
    shown = await _until(person, "2 probes failed")
    assert shown.count(f"The broker has no exchange {DEAD_LETTERS}") == 2
    assert "Declare the topology" in shown
    # What failed stands above what is well.
    assert shown.index("badge-bad", shown.index("<table")) < shown.index("badge-good")


async def _until(person: httpx.AsyncClient, text: str) -> str:
    async def read() -> str | None:
        shown = (await person.get(DOCTOR)).text
        return shown if text in shown else None

    found: str = await eventually(read, within=KEEP_SECONDS + 60)
    return found


@pytest.mark.extended
async def test_the_page_is_for_operators_of_all_brands(signed_in_as: Any, console: Any) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
        assert (await eve.get(DOCTOR)).status_code == 403
        assert DOCTOR not in (await eve.get("/")).text
        shown = (await otto.get(DOCTOR)).text
        assert "you may see only some brands" in shown
        assert not any(f"of-{service}" in shown for service in MESSAGE_SERVICES)


@pytest.mark.extended
async def test_the_page_fits_and_can_be_read(
    signed_in: Page, look_at: Callable[[Page, str], Awaitable[None]]
) -> None:
    await look_at(signed_in, DOCTOR)
