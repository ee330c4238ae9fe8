"""The examples of incoming webhooks in `docs/commands.md` do what the page says."""

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import httpx

from events.app import EventsService
from tests.fixtures.command_blocks import blocks_run_by

PAGES = ("docs/commands.md",)
"""Those with blocks that this test runs."""

DOCUMENT = Path(__file__).parents[3] / "docs" / "commands.md"


def example(language: str, having: str) -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)
    (one,) = [each for each in found if having in each]
    return str(one)


async def made(api: httpx.AsyncClient, kind: str) -> str:
    """The secret of the hook that the page makes with `brandctl`."""
    command = {
        "type": "cycle.start",
        "data": {"keywords": [{"from": "/article/title"}]},
        "when": {"/action": "published"},
    }
    answer = await api.put("/v1/brands/acme/hooks/cms", json={"kind": kind, "command": command})
    return str(answer.raise_for_status().json()["secret"])


async def run(service: EventsService, secret: str, *command: str) -> dict[str, str]:
    variables = {
        "HOOK_URL": f"http://127.0.0.1:{service.port}/v1/hooks/acme.cms",
        "HOOK_SECRET": secret,
        "PATH": "/usr/bin:/bin",
    }
    done = await asyncio.to_thread(
        subprocess.run, command, env=variables, capture_output=True, check=True, text=True
    )
    answer: dict[str, str] = json.loads(done.stdout)
    return answer


async def test_the_program_with_the_library_of_standard_webhooks(
    api: httpx.AsyncClient, service: EventsService
) -> None:
    secret = await made(api, "standard")
    program = example("python", "standardwebhooks")
    told = [await run(service, secret, sys.executable, "-c", program) for _ in range(2)]
    # It makes an id for each message.
    assert [each["status"] for each in told] == ["accepted", "accepted"]


async def test_the_sender_that_signs_nothing(api: httpx.AsyncClient, service: EventsService) -> None:
    secret = await made(api, "path")
    [block] = blocks_run_by(__file__, PAGES[0])
    told = [await run(service, secret, "bash", "-c", block.text) for _ in range(2)]
    assert [each["status"] for each in told] == ["accepted", "duplicate"]


async def test_what_zapier_posts_is_taken_once(api: httpx.AsyncClient) -> None:
    """As `docs/connect/zapier.md` has it: a field, and the id of the row in a header."""
    command = {"type": "cycle.start", "data": {"keywords": [{"from": "/keyword"}]}}
    made = await api.put("/v1/brands/acme/hooks/zapier", json={"kind": "path", "command": command})
    address = f"/v1/hooks/acme.zapier/{made.raise_for_status().json()['secret']}"
    told = [
        (await api.post(address, json={"keyword": 'cold "brew"'}, headers={"webhook-id": row})).json()[
            "status"
        ]
        for row in ("row 7", "row 7", "row 8")
    ]
    assert told == ["accepted", "duplicate", "accepted"]


async def test_the_definition_for_github(api: httpx.AsyncClient) -> None:
    form = json.loads(example("json", '"github"'))
    made = await api.put("/v1/brands/acme/hooks/releases", json=form)
    assert made.status_code == 201, made.text
    assert made.json()["command"] == form["command"]
