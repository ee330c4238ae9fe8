"""`brandctl schedules` as a process of its own, beside an orchestrator's API."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.testing import serving
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from orchestrator.api import http_api

KEY = "test-service-key-0123456789"


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Operator:
    """Runs the command as somebody at a shell would."""

    url: str
    folder: Path

    async def __call__(self, *arguments: str, typed: str = "") -> Result:
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "brandctl",
            "schedules",
            *arguments,
            cwd=self.folder,
            env=inherited | {"TERM": "dumb", "ORCHESTRATOR_URL": self.url, "SERVICE_KEY": KEY},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate(typed.encode())
        assert process.returncode is not None
        return Result(process.returncode, out.decode(), err.decode())

    async def json(self, *arguments: str, typed: str = "") -> Any:
        result = await self(*arguments, "--json", typed=typed)
        assert result.code == 0, result.err
        return json.loads(result.out)


@pytest.fixture
async def schedules(
    make_database: Callable[[str], Awaitable[str]], tmp_path: Path
) -> AsyncIterator[Operator]:
    connections = Connections(await make_database("orchestrator"), name="orchestrator test", size=4)
    await connections.open()
    relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
    database = Database(connections, relay, "orchestrator", CATALOGUE)
    headers = {"X-Service-Key": KEY}
    try:
        async with (
            serving(http_api(database, ServiceKey(SecretStr(KEY)))) as url,
            httpx.AsyncClient(base_url=url, headers=headers, trust_env=False) as api,
        ):
            (await api.put("/v1/brands/acme", json={"name": "Acme"})).raise_for_status()
            yield Operator(url, tmp_path)
    finally:
        await connections.close()


async def test_a_schedule_from_its_making_to_its_end(schedules: Operator) -> None:
    weekly = ("acme", "weekly", "--cron", "0 6 * * SUN", "--time-zone", "Europe/Berlin")
    made = await schedules("set", *weekly, "cold brew", "moka pot")
    chapters = await schedules.json(
        "set", "acme", "chapters", "--cron", "0 9 * * *", "--take", "1", "--file", "-", typed="one\n\n two \n"
    )

    assert made.code == 0, made.err
    assert "weekly is active, next on " in made.err
    assert made.out.count("2 keywords, 0 6 * * SUN Europe/Berlin") == 3
    assert chapters["keyword_list"] == ["one", "two"]
    assert len(chapters["next"]) == 2  # then the list is used up
    rows = [line.split("\t")[:4] for line in (await schedules("list", "acme")).out.splitlines()]
    assert rows == [
        ["name", "state", "when", "keywords"],
        ["chapters", "active", "0 9 * * * UTC", "0/2, 1 a time"],
        ["weekly", "active", "0 6 * * SUN Europe/Berlin", "2"],
    ]

    assert "weekly is paused" in (await schedules("pause", "acme", "weekly")).err
    assert "weekly is active, next on" in (await schedules("resume", "acme", "weekly")).err
    assert (await schedules.json("show", "acme", "weekly"))["state"] == "active"
    assert (await schedules.json("firings", "acme", "weekly"))["items"] == []
    assert (await schedules("remove", "acme", "weekly")).code == 0
    assert [each["name"] for each in await schedules.json("list", "acme")] == ["chapters"]


async def test_what_cannot_be_planned_ends_the_command_with_a_sentence(schedules: Operator) -> None:
    wrong = await schedules("set", "acme", "weekly", "--cron", "every sunday", "cold brew")
    nobody = await schedules("list", "nobody")

    assert (wrong.code, "a cron expression has 5 fields" in wrong.err) == (1, True)
    assert (nobody.code, "there is no brand 'nobody'" in nobody.err) == (1, True)
