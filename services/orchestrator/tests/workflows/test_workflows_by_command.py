"""`brandctl workflows` as a process of its own, beside the API."""

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from messaging import Database
from tests.fixtures.commands.brandctl import CommandResult, brandctl

STUCK, FAILED, DONE = (UUID(int=n) for n in (1, 2, 3))


@pytest.fixture
def workflows(
    live_api: httpx.Client,
    orchestrator_url: str,
    orchestrator_database_at: Callable[[str], AbstractAsyncContextManager[Database]],
    tmp_path: Path,
) -> Callable[..., CommandResult]:
    """Runs `brandctl workflows …` where there is one that is stuck, one that failed and one that is done."""
    live_api.put("/v1/brands/acme", json={"name": "Acme"}).raise_for_status()
    asked = {"keywords": ["tea", "milk", "rum"]}
    live_api.post("/v1/brands/acme/research", json=asked).raise_for_status()

    async def prepare() -> None:
        async with orchestrator_database_at(orchestrator_url) as database, database.transaction() as tx:
            for position, content_id, state, setbacks in (
                (1, STUCK, "writing", {}),
                (2, FAILED, "failed", {"writing": {"reason": "dead \x1b[31mletter", "refused": False}}),
                (3, DONE, "publishing", {}),
            ):
                await tx.connection.execute(
                    """
                    update keywords
                    set content_id = $1, research_id = $1, state = $2, setbacks = $3::text::jsonb, generated = $4,
                        moved_at = now() - interval '2 hours', awaits_turn = false,
                        reason = $3::text::jsonb #>> '{writing,reason}'
                    where position = $5
                    """,
                    content_id,
                    state,
                    json.dumps(setbacks),
                    state == "publishing",
                    position,
                )
            await tx.connection.execute(
                """
                insert into workflow_steps (workflow_id, step, result, begun_at, finished_at)
                values ($1, 'fetch_research', '[1]', now() - interval '3 hours', now() - interval '2 hours')
                """,
                STUCK,
            )

    asyncio.run(prepare())

    def run(*arguments: object) -> CommandResult:
        known = {
            "ORCHESTRATOR_URL": str(live_api.base_url).rstrip("/"),
            "SERVICE_KEY": live_api.headers["X-Service-Key"],
        }
        return brandctl("workflows", *arguments, folder=tmp_path, variables=known)

    return run


def test_what_is_stuck_is_listed_shown_and_written_again(workflows: Any) -> None:
    (heading, row) = workflows("list", "--state", "stuck").out.splitlines()
    assert heading.split("\t")[:4] == ["id", "brand", "keyword", "state"]
    assert row.split("\t")[:4] == [str(STUCK), "acme", "tea", "stuck"]

    shown = workflows("show", STUCK)
    assert [line.split("\t")[:2] for line in shown.out.splitlines()[1:]] == [
        ["fetch_research", "done"],
        ["write_article", "stuck"],
        ["store", "pending"],
        ["announce", "pending"],
    ]
    assert "“tea” of acme: stuck; not begun; last sign" in shown.err

    done = workflows("retry", STUCK)
    assert (done.code, done.out) == (0, "")
    assert "“tea” of acme: running; retried once, the last time by service; not begun" in done.err
    again = workflows("retry", STUCK, "--json")
    assert json.loads(again.out)["changed"] is False
    assert workflows("list", "--state", "stuck").err == "none is stuck\n"


@pytest.mark.extended
def test_what_failed_is_given_up_and_what_is_written_is_a_failure(workflows: Any) -> None:
    failed = workflows("list", "--state", "failed")
    assert "dead �[31mletter" in failed.out
    assert "\x1b" not in failed.out

    given_up = workflows("cancel", FAILED)
    assert given_up.code == 0
    assert "“milk” of acme: cancelled; cancelled by service; by service at 20" in given_up.err

    written = workflows("cancel", DONE)
    assert written.code == 1
    assert "its article is written" in written.err
    assert workflows("show", UUID(int=9)).code == 1
    assert workflows("show", "tea").code == 2
