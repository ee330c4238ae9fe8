"""The examples of `docs/commands.md` do what the page says."""

import asyncio
import json
import re
import subprocess
from pathlib import Path

import httpx

from tests.fixtures.command_blocks import blocks_run_by

PAGES = ("docs/commands.md",)
"""Those with blocks that this test runs."""
DOCUMENT = Path(__file__).parents[4] / "docs" / "commands.md"


def examples(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)


async def test_the_requests_of_the_page_are_accepted_and_answered_as_it_says(api: httpx.AsyncClient) -> None:
    (await api.put("/v1/brands/acme", json={"name": "Acme"})).raise_for_status()
    key = (await api.post("/v1/keys", json={"name": "shop", "scopes": ["submit"]})).json()["key"]
    variables = {"ORCHESTRATOR_URL": str(api.base_url).rstrip("/"), "API_KEY": key, "PATH": "/usr/bin:/bin"}
    commands = [each.text for each in blocks_run_by(__file__, PAGES[0])]
    assert len(commands) == 3
    answers = []
    for command in commands:
        done = await asyncio.to_thread(
            subprocess.run, ["bash", "-c", command], env=variables, capture_output=True, check=True
        )
        answers.append(json.loads(done.stdout))
    (shown,) = [json.loads(each) for each in examples("json") if '"results"' in each]
    (result,), (binary,), (other,) = (each["results"] for each in answers)
    assert result | {"location": ""} == shown["results"][0] | {"location": ""}
    assert result["location"].startswith("/v1/cycles/")
    assert (binary["id"], binary["status"]) == ("order-4712", "accepted")
    assert other["status"] == "accepted"
    assert (await api.get(other["location"])).status_code == 200
