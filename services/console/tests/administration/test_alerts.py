"""The page of alerts beside a real Prometheus and a real Alertmanager, and without them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

from tests.fixtures.alerting import alerting

ALERTS = "/alerts"
RULES = """\
groups:
  - name: messages
    rules:
      - alert: DeadLettersOpen
        expr: label_replace(vector(3), "queue", "social-commands", "", "") > 0
        labels: {severity: warning}
        annotations:
          summary: "{{ $value }} dead letters of <script>window.hit = 1</script>{{ $labels.queue }}"
          runbook: docs/operations/alerts.md#deadlettersopen
"""


@pytest.fixture
async def with_prometheus(tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    async with alerting(tmp_path, RULES) as found:
        yield {
            "prometheus_url": found.prometheus_url,
            "alertmanager_url": found.alertmanager_url,
            "runbook_url": "https://git.example.org/ours",
        }


class TestWithPrometheus:
    @pytest.fixture
    def monitor_settings(self, with_prometheus: dict[str, str]) -> dict[str, str]:
        return with_prometheus

    @pytest.mark.extended
    async def test_an_alert_is_acknowledged_silenced_and_told_again_in_a_browser(
        self, signed_in: Page, look_at: Callable[[Page, str], Awaitable[None]]
    ) -> None:
        await look_at(signed_in, ALERTS)
        main = signed_in.locator("main")
        await expect(main).to_contain_text("3 dead letters of")
        link = main.get_by_role("link", name="Runbook").first
        address = "https://git.example.org/ours/docs/operations/alerts.md#deadlettersopen"
        await expect(link).to_have_attribute("href", address)

        await main.get_by_text("Acknowledge DeadLettersOpen", exact=True).click()
        await main.locator("details[open]").get_by_label("What you do about it").fill("I look")
        await main.get_by_role("button", name="Acknowledge", exact=True).click()
        await expect(main).to_contain_text("\u201cDeadLettersOpen\u201d is acknowledged")
        await expect(main).to_contain_text("I look")

        await main.get_by_text("Silence DeadLettersOpen", exact=True).click()
        form = main.locator("details[open] form")
        await form.get_by_label("For how long").select_option("4")
        await form.get_by_label("Why").fill("being repaired")
        await form.get_by_role("button", name="Silence", exact=True).click()
        await expect(main).to_contain_text("is silenced for 4 hours")
        await expect(main).to_contain_text("being repaired")
        await look_at(signed_in, ALERTS)
        await main.get_by_role("button", name="End now").click()
        await expect(main).to_contain_text("The silence has ended")

    async def test_it_is_for_operators_of_all_brands(self, signed_in_as: Any, console: Any) -> None:
        await console.orchestrator.set_brand("acme", name="Acme")
        body = {"do": "end", "silence": "x", "once": "1"}
        async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
            assert (await eve.get(ALERTS)).status_code == 403
            assert (await eve.post(ALERTS, data=body)).status_code == 403
            shown = (await otto.get(ALERTS)).text
            assert "you may see only some brands" in shown
            assert "DeadLettersOpen" not in shown


async def test_without_prometheus_the_page_says_how_to_connect_it(person: httpx.AsyncClient) -> None:
    shown = (await person.get(ALERTS)).text
    assert "The monitor knows neither Prometheus nor Alertmanager." in shown
    assert "ALERTMANAGER_URL" in shown
    assert "Paused queues" in shown
    assert 'href="/notifications"' in shown


async def test_what_cannot_be_is_refused_where_it_was_asked(person: httpx.AsyncClient) -> None:
    silence = {"do": "silence", "alert": "0123", "name": "x", "hours": "4", "reason": "y", "once": "1"}
    answer = await person.post(ALERTS, data=silence)
    assert answer.status_code == 422
    assert "ALERTMANAGER_URL" in answer.text
    for strange in ({"do": "what"}, {"do": "silence", "alert": "1", "hours": "5", "reason": "y"}):
        assert (await person.post(ALERTS, data={**strange, "once": "2"})).status_code == 422
