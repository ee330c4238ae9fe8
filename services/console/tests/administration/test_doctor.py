"""The doctor's page, of real services side by side, of which some are away."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any

import aio_pika
import httpx
import pytest
from playwright.async_api import Page

from chassis.testing import eventually
from client.message_services import MESSAGE_SERVICES
from console.doctor.views import KNOWN_SECONDS, NEW_SECONDS, PROBES, Summary, oldest_seconds, worst_first
from messaging.doctor.doctor import KEEP_SECONDS
from messaging.topology import DEAD_LETTERS

DOCTOR = "/doctor"


def test_the_page_asks_for_what_services_allow() -> None:
    assert NEW_SECONDS == KEEP_SECONDS


def test_the_worst_is_shown_first() -> None:
    findings = [
        {"probe": name, "status": status}
        for name, status in (("a", "ok"), ("b", "failed"), ("c", "of a newer version"), ("d", "warning"))
    ]
    assert [each["probe"] for each in worst_first(findings)] == ["b", "d", "a", "c"]
    assert Summary.of({"x": {"findings": findings}, "y": None}) == Summary(failed=1, warnings=1, silent=1)


async def test_services_are_side_by_side_and_who_is_away_is_told(person: httpx.AsyncClient) -> None:
    # On a busy machine a probe may take longer than it has.
    shown = await _look_until(person, lambda page: page.count("badge-good") == 2 * len(PROBES))
    for away in ("research", "publisher", "social", "events"):
        assert f"The service “{away}” does not answer" in shown
    assert "4 services did not answer" in shown
    assert "badge-bad" not in shown


async def test_what_is_wrong_is_told_with_what_to_do(person: httpx.AsyncClient, rabbitmq_url: str) -> None:
    async with await aio_pika.connect(rabbitmq_url) as connection, connection.channel() as channel:
        await channel.exchange_delete(DEAD_LETTERS)
    shown = await _look_until(person, lambda page: "2 probes failed" in page)
    assert shown.count(f"The broker has no exchange {DEAD_LETTERS}") == 2
    assert "Declare the topology" in shown
    # What failed stands above what is well.
    assert shown.index("badge-bad", shown.index("<table")) < shown.index("badge-good")
    # The next person sees the same, without a run of the probes.
    assert "2 probes failed" in (await person.get(DOCTOR)).text


async def _look_until(person: httpx.AsyncClient, is_awaited: Callable[[str], bool]) -> str:
    """Opens the page, then presses its button until it is as awaited: a run of the last seconds answers, too."""
    presses = count()

    async def press() -> str | None:
        form = {"once": f"again-{next(presses)}"}
        shown = (await person.post(DOCTOR, data=form, follow_redirects=True)).text
        return shown if is_awaited(shown) else None

    opened = (await person.get(DOCTOR)).text
    if is_awaited(opened):
        return opened
    found: str = await eventually(press, within=NEW_SECONDS + 60)
    return found


def test_a_report_is_shown_until_somebody_asked_for_a_new_one() -> None:
    now = datetime(2026, 5, 1, 12, 0, 20, tzinfo=UTC)
    assert oldest_seconds("", now) == KNOWN_SECONDS
    assert oldest_seconds("2026-05-01T12:00:00Z", now) == NEW_SECONDS + 20
    assert oldest_seconds("2026-05-01T12:00:00", now) == NEW_SECONDS + 20
    assert oldest_seconds("2026-05-01T09:00:00Z", now) == KNOWN_SECONDS
    assert oldest_seconds("9999-12-31T23:59:59Z", now) == NEW_SECONDS
    assert oldest_seconds("0001-01-01T00:00:00+23:59", now) == KNOWN_SECONDS
    assert oldest_seconds("yesterday", now) == KNOWN_SECONDS


@pytest.mark.extended
async def test_the_page_is_for_operators_of_all_brands(signed_in_as: Any, console: Any) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
        assert (await eve.get(DOCTOR)).status_code == 403
        assert (await eve.post(DOCTOR, data={"once": "eve"})).status_code == 403
        assert DOCTOR not in (await eve.get("/")).text
        shown = (await otto.get(DOCTOR)).text
        assert "you may see only some brands" in shown
        assert not any(f"of-{service}" in shown for service in MESSAGE_SERVICES)


@pytest.mark.extended
async def test_the_page_fits_and_can_be_read(
    signed_in: Page, look_at: Callable[[Page, str], Awaitable[None]]
) -> None:
    await look_at(signed_in, DOCTOR)
