"""replay_flood: replays ten thousand dead letters, from the first request to the last settled message."""

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import httpx

from benchmarks.errors import MeasurementError
from benchmarks.reporting.results import GATE_PASSED, ResultRow
from benchmarks.run import BenchmarkRun
from benchmarks.servers.sql import Sql
from benchmarks.systems.stack import Stack, stack
from brandctl.local import processes
from envelope import DomainMessage, encode, new_event_id
from envelope.brand.payloads import ArticleContext, SocialCreate
from messaging.broker.publisher import Publisher
from messaging.headers import FAILURE_MESSAGE, FAILURE_REASON, Reason
from messaging.storage.outbox import OutboxRow
from messaging.topology import DEAD_LETTERS

QUEUE: Final = "social-commands"
_BRANDS: Final = 50
_AT_ONCE: Final = 500
"""The most dead letters in one request."""
_STALLED_SECONDS: Final = 60.0


def replay_flood(run: BenchmarkRun) -> list[ResultRow]:
    row = ResultRow("replay_flood", "ours")
    letters = run.wanted_messages or run.of(2_000, 10_000)
    try:
        with (
            stack(run.nodes, ("orchestrator", "social", "monitor")) as services,
            Sql(services.database_url("monitor")) as monitor,
            Sql(services.database_url("social")) as social,
        ):
            pids = services.pids
            asyncio.run(_bury(services, letters))
            _wait(monitor, letters, "open")
            before, began = run.nodes.cpu(pids), datetime.now(UTC)
            _replay_all(services, letters)
            _wait(monitor, letters, "resolved")
            used = run.nodes.cpu(pids) - before
            ended = monitor.value("select max(pg_xact_commit_timestamp(xmin)) from dead_messages")
            posts, articles = social.row("select count(*), count(distinct content_id) from posts")
    except (MeasurementError, processes.StartError, httpx.HTTPError) as error:
        row.gate = f"failed: no figure: {error}"
        run.log(row.gate)
        return [row]
    row.gate = (
        GATE_PASSED
        if posts == articles == letters
        else f"failed: {letters} dead letters became {posts} posts of {articles} articles"
    )
    row.msgs_per_s = round(letters / (ended - began).total_seconds(), 1)
    row.cpu_s_per_1k = used.per_thousand(letters)
    row.extra = {"unit": "dead letters/s", "dead_letters": letters}
    run.log(f"replay_flood: {row.msgs_per_s:,.0f} dead letters/s")
    return [row]


def _letter(number: int) -> OutboxRow:
    """A failed command, as its service's runtime sends it to the dead letters."""
    event_id: UUID = new_event_id()
    command = DomainMessage[SocialCreate](
        event_id=event_id,
        type="social.create",
        source="orchestrator",
        timestamp=datetime.now(UTC),
        correlation_id=str(event_id),
        payload=SocialCreate(
            brand_slug=f"brand-{number % _BRANDS}",
            content_id=new_event_id(),
            article_context=ArticleContext(
                title=f"What there is to know about subject {number}",
                keyword=f"subject {number}",
                meta_description="An article that was published while the feed could not be reached.",
                key_points=("It says one thing.", "It says another thing, too."),
            ),
        ),
    )
    facts: dict[str, str | int] = {
        FAILURE_REASON: Reason.EXHAUSTED.value,
        FAILURE_MESSAGE: "the database was away for an hour",
    }
    return OutboxRow(
        DEAD_LETTERS, QUEUE, event_id, command.type, command.correlation_id, encode(command), headers=facts
    )


async def _bury(services: Stack, letters: int) -> None:
    publisher = Publisher(services.rabbitmq_url, name="benchmarks dead letters")
    running = asyncio.create_task(publisher.run())
    await publisher.wait_until_ready()
    for chunk in _chunks(letters):
        for outcome in await publisher.publish([_letter(number) for number in chunk]):
            if outcome is not None:
                raise MeasurementError(f"a dead letter was not confirmed: {outcome}")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def _chunks(total: int) -> Iterator[range]:
    return (range(start, min(start + _AT_ONCE, total)) for start in range(0, total, _AT_ONCE))


def _replay_all(services: Stack, letters: int) -> None:
    """Replays a whole queue as `brandctl dead-letters replay` does: one request after the other."""
    after: str | None = None
    with services.client("monitor") as api:
        for _ in _chunks(letters):
            body = {"queue": QUEUE, "limit": _AT_ONCE, **({"after": after} if after else {})}
            answer = api.post("/v1/dead-letters/replay", json=body).raise_for_status().json()
            after = answer["next"]
            if after is None:
                return


def _wait(monitor: Sql, letters: int, state: str) -> None:
    found, last_change = -1, time.monotonic()
    while (now := monitor.value("select count(*) from dead_messages where state = $1", state)) < letters:
        if now != found:
            found, last_change = now, time.monotonic()
        elif time.monotonic() - last_change > _STALLED_SECONDS:
            raise MeasurementError(f"stuck at {found} dead letters of {letters} that are {state}")
        time.sleep(0.1)
