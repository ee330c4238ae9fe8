"""`brandctl audits`: as a page, and in a process of its own, beside an orchestrator's API."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx
import pytest

from brandctl.orchestrator.audits import page
from client.services.orchestrator import answers
from messaging import Database
from tests.fixtures.commands.brandctl import Operator

NOW = datetime(2026, 3, 1, 6, tzinfo=UTC)


def audit(*findings: answers.FindingView, **counts: int) -> answers.AuditView:
    return {
        "audit_id": str(UUID(int=1)),
        "brand_slug": "acme",
        "made_by": "schedule",
        "made_at": NOW.isoformat(),
        "counts": counts,
        "cut": ["dead_letter"],
        "findings": [*findings],
        "notes": [],
    }


def found(kind: Any, subject: str) -> answers.FindingView:
    return {
        "kind": kind,
        "subject": subject,
        "address": "/v1/cycles/1",
        "since": NOW.isoformat(),
        "advice": "mend the cause",
    }


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


@pytest.mark.extended
async def test_an_audit_is_made_listed_and_read(
    brandctl: Operator, api: httpx.AsyncClient, orchestrator_database: Database
) -> None:
    audits = brandctl.of("audits")
    before = await audits("show", "acme")
    none = await audits("list", "acme")
    await api.post("/v1/brands/acme/research", json={"keywords": ["siphon coffee"]})
    async with orchestrator_database.connection() as connection:
        await connection.execute(
            "update keywords set state = 'refused', reason = 'no_sources: nothing says enough about it'"
        )
    made = await audits("run", "acme")
    listed = await audits("list", "acme")
    shown = await audits("show", "acme")
    as_json = await audits("show", "acme", "--json")

    assert (none.code, none.out, "brandctl audits run" in none.err) == (0, "", True)
    assert (before[0], "brandctl audits run acme" in before[2]) == (1, True)
    assert made == shown
    assert made[0] == 0, made[2]
    assert "## Keywords without an article (1)\n\n- **siphon coffee**, since " in made[1]
    audit = json.loads(as_json[1])
    assert audit["findings"][0]["subject"] == "siphon coffee"
    heading, line = listed[1].splitlines()
    assert heading == "id\tmade\tby\tfindings"
    assert line.split("\t")[::3] == [audit["audit_id"], "keyword_without_article 1"]
