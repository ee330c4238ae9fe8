"""`brandctl audits`: as a page, and in a process of its own, beside an orchestrator's API."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import httpx
from pydantic import SecretStr

from brandctl.orchestrator.audits import page
from brandctl.orchestrator.client import Audit, Finding
from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.testing import serving
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from orchestrator.api import http_api

KEY = "test-service-key-0123456789"
NOW = datetime(2026, 3, 1, 6, tzinfo=UTC)


def audit(*findings: Finding, **counts: int) -> Audit:
    return Audit(
        audit_id=UUID(int=1),
        brand_slug="acme",
        made_by="schedule",
        made_at=NOW,
        counts=counts,
        cut=("dead_letter",),
        findings=findings,
    )


def found(kind: str, subject: str) -> Finding:
    return Finding(kind=kind, subject=subject, address="/v1/cycles/1", since=NOW, advice="mend the cause")


def test_findings_stand_under_what_they_are_with_what_to_do() -> None:
    told = page(
        audit(
            found("dead_letter", "cold\nbrew"),
            found("dead_letter", "moka"),
            found("link_dead", "of a later version"),
            dead_letter=2,
            link_dead=1,
        )
    )

    assert told == (
        "# Audit of acme, 2026-03-01 06:00+00:00, by schedule\n"
        "\n"
        "## Keywords that a dead letter holds (2+)\n"
        "\n"
        "- **cold brew**, since 2026-03-01: /v1/cycles/1\n"
        "  mend the cause\n"
        "- **moka**, since 2026-03-01: /v1/cycles/1\n"
        "  mend the cause\n"
        "\n"
        "## link_dead (1)\n"
        "\n"
        "- **of a later version**, since 2026-03-01: /v1/cycles/1\n"
        "  mend the cause"
    )


def test_nothing_found_is_said() -> None:
    assert page(audit()).endswith("\n\nNothing was found.")


async def brandctl(url: str, folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Exit code, output and what is said about it."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "brandctl",
        "audits",
        *arguments,
        cwd=folder,
        env=inherited | {"TERM": "dumb", "ORCHESTRATOR_URL": url, "SERVICE_KEY": KEY},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_an_audit_is_made_listed_and_read(
    make_database: Callable[[str], Awaitable[str]], tmp_path: Path
) -> None:
    connections = Connections(await make_database("orchestrator"), name="orchestrator test", size=4)
    await connections.open()
    relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
    database = Database(connections, relay, "orchestrator", CATALOGUE)
    try:
        async with (
            serving(http_api(database, ServiceKey(SecretStr(KEY)))) as url,
            httpx.AsyncClient(base_url=url, headers={"X-Service-Key": KEY}, trust_env=False) as api,
        ):
            (await api.put("/v1/brands/acme", json={"name": "Acme"})).raise_for_status()
            before = await brandctl(url, tmp_path, "show", "acme")
            await api.post("/v1/brands/acme/research", json={"keywords": ["siphon coffee"]})
            async with database.connection() as connection:
                await connection.execute(
                    "update keywords set state = 'refused', reason = 'no_sources: nothing says enough about it'"
                )
            made = await brandctl(url, tmp_path, "run", "acme")
            listed = await brandctl(url, tmp_path, "list", "acme")
            shown = await brandctl(url, tmp_path, "show", "acme")
            as_json = await brandctl(url, tmp_path, "show", "acme", "--json")
    finally:
        await connections.close()

    assert (before[0], "brandctl audits run acme" in before[2]) == (1, True)
    assert made == shown
    assert made[0] == 0, made[2]
    assert "## Keywords without an article (1)\n\n- **siphon coffee**, since " in made[1]
    audit = json.loads(as_json[1])
    assert audit["findings"][0]["subject"] == "siphon coffee"
    heading, line = listed[1].splitlines()
    assert heading == "id\tmade\tby\tfindings"
    assert line.split("\t")[::3] == [audit["audit_id"], "keyword_without_article 1"]
