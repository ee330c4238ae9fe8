"""event_log: the service that keeps all events for others: how many it takes in and gives out, what pages and days cost, and live streams."""

import asyncio
import random
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import quantiles
from threading import Thread
from typing import Final
from urllib.parse import urlsplit
from uuid import uuid4

import aio_pika
import httpx

from benchmarks.accounting import MEGABYTE, resident_bytes
from benchmarks.errors import MeasurementError
from benchmarks.reporting.results import GATE_PASSED, ResultRow
from benchmarks.run import BenchmarkRun
from benchmarks.servers.sql import Sql
from benchmarks.systems.stack import KEY, Stack, stack
from brandctl.local import processes
from envelope import DomainMessage, encode, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ContentPublished

_BRANDS: Final = 50
_READERS: Final = 2
_BATCH: Final = 200
_STALLED_SECONDS: Final = 60.0
_CONFIRMED_AT_ONCE: Final = 1_000
_HOOKS: Final = 20
"""Each takes 120 requests a minute."""
# As many for each day; types and brands are mixed.
_FILL: Final = """
    insert into events (position, recorded_at, event_id, type, source, brand_slug, correlation_id, happened_at, payload)
    select $1 + n, $2::timestamptz + n * interval '86399 seconds' / $3, gen_random_uuid(),
           (array['content.published', 'research.completed', 'content.generated', 'social.posted'])[1 + n % 4], 'publisher',
           'brand-' || n % 50, md5((n / 9)::text), $2, '{"brand_slug": "brand-1", "content_id": "01a20c16-1370-744c-b0ec-e5806e313928"}'
    from generate_series(1, $3::int) as n
"""


@dataclass(frozen=True, slots=True)
class _Size:
    messages: int
    """That come in, and go out by pull."""
    kept: int
    """That are kept when pages are read."""
    streams: int


def event_log(run: BenchmarkRun) -> list[ResultRow]:
    rows = {
        name: ResultRow("event_log", f"ours, {name}")
        for name in ("taken in", "pulled", "pages", "hooks answered", "a day forgotten", "watched live")
    }
    size = run.of(_Size(10_000, 300_000, 50), _Size(100_000, 10_000_000, 500))
    try:
        with stack(run.nodes, ("events",)) as services:
            _watch(run, services, rows["watched live"], size.streams)
            _take_in(run, services, rows["taken in"], size.messages)
            _pull(run, services, rows["pulled"])
        with stack(run.nodes, ("events",)) as services:
            _fill(run, services, size.kept)
            _read(run, services, rows["pages"], size.kept)
            _send_to_hooks(run, services, rows["hooks answered"])
            _forget(run, services, rows["a day forgotten"])
    except (MeasurementError, processes.StartError, httpx.HTTPError) as error:
        for row in rows.values():
            if row.gate != GATE_PASSED:
                row.gate = f"failed: no figure: {error}"
        run.log(f"event_log failed: {error}")
    return list(rows.values())


def _pid(services: Stack) -> int:
    return services.children["events"].process.pid


# -- in and out --------------------------------------------------------------------------------------------------------


def _take_in(run: BenchmarkRun, services: Stack, row: ResultRow, messages: int) -> None:
    """Events wait in the queue while the service is stopped, so that only its own speed is measured."""
    services.children["events"].process.kill()
    services.children["events"].process.wait()
    asyncio.run(_publish(services.rabbitmq_url, messages))
    with Sql(services.database_url("events")) as sql:
        before = sql.value("select position from log_head")
        services.start("events")
        began, stored, changed = None, before, time.monotonic()
        while stored < before + messages:
            now = sql.value("select position from log_head")
            if now != stored:
                # The start of the process does not count.
                began = began or (time.monotonic(), now)
                stored, changed = now, time.monotonic()
            elif time.monotonic() - changed > _STALLED_SECONDS:
                raise MeasurementError(f"the log stays at {now - before} of {messages} events")
            time.sleep(0.02)
        assert began is not None
        seconds = time.monotonic() - began[0]
        row.msgs_per_s = round((before + messages - began[1]) / seconds, 1)
        distinct = sql.value("select count(distinct event_id) from events where position > $1", before)
    row.gate = GATE_PASSED if distinct == messages else f"failed: {distinct} of {messages} events are there"
    run.log(f"event_log, {row.system}: {row.msgs_per_s} a second")


async def _publish(url: str, messages: int) -> None:
    entry = CATALOGUE.type_of(ContentPublished)
    connection = await aio_pika.connect(url, timeout=15)
    async with connection, connection.channel(publisher_confirms=True) as channel:
        exchange = await channel.get_exchange(CATALOGUE.events)
        for start in range(0, messages, _CONFIRMED_AT_ONCE):
            await asyncio.gather(
                *(
                    exchange.publish(
                        aio_pika.Message(
                            _body(number), type=entry.name, delivery_mode=aio_pika.DeliveryMode.PERSISTENT
                        ),
                        entry.name,
                    )
                    for number in range(start, min(start + _CONFIRMED_AT_ONCE, messages))
                )
            )


def _body(number: int) -> bytes:
    payload = ContentPublished(
        brand_slug=f"brand-{number % _BRANDS}",
        content_id=uuid4(),
        published_url=f"https://brand.example/articles/{number}",
        tags=("coffee", "water"),
    )
    message = DomainMessage[ContentPublished](
        event_id=new_event_id(),
        type="content.published",
        source="publisher",
        timestamp=datetime.now(UTC),
        correlation_id=str(uuid4()),
        payload=payload,
    )
    return encode(message)


def _pull(run: BenchmarkRun, services: Stack, row: ResultRow) -> None:
    """Readers take all events of one subscription, a batch each, and say that they are handled."""
    with Sql(services.database_url("events")) as sql:
        messages = sql.value("select count(*) from events")
    seen: list[set[str]] = [set() for _ in range(_READERS)]
    with services.client("events") as api:
        api.put("/v1/subscriptions/bench", json={"begin": "oldest"}).raise_for_status()

    def read(mine: set[str]) -> None:
        with services.client("events") as api:
            while True:
                answer = api.post("/v1/subscriptions/bench/pull", json={"batch_size": _BATCH})
                pulled = answer.raise_for_status().json()["messages"]
                if not pulled:
                    return
                mine.update(each["event"]["id"] for each in pulled)
                acks = [each["lease_id"] for each in pulled]
                api.post("/v1/subscriptions/bench/ack", json={"acks": acks}).raise_for_status()

    began = time.monotonic()
    readers = [Thread(target=read, args=(each,)) for each in seen]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    row.msgs_per_s = round(messages / (time.monotonic() - began), 1)
    total, distinct = sum(map(len, seen)), len(set().union(*seen))
    row.gate = (
        GATE_PASSED if total == distinct == messages else f"failed: {total} taken, {distinct} different"
    )
    run.log(f"event_log, {row.system}: {row.msgs_per_s} a second")


# -- much is kept ------------------------------------------------------------------------------------------------------


def _fill(run: BenchmarkRun, services: Stack, kept: int) -> None:
    began, days = time.monotonic(), 30
    with Sql(run.nodes.administrator_url(services.database_url("events"))) as sql:
        per_day, position = kept // days, 0
        for day in range(days, 0, -1):
            start = sql.value(
                "select ((now() at time zone 'utc')::date - $1::int)::timestamp at time zone 'utc'", day
            )
            name = f"events_{start:%Y%m%d}"
            sql.execute(
                f"create table {name} partition of events for values from ('{start.isoformat()}')"
                f" to (timestamptz '{start.isoformat()}' + interval '1 day')"
            )
            sql.execute(_FILL, position, start, per_day)
            position += per_day
        sql.execute("update log_head set position = $1", position)
        sql.execute("vacuum analyze")
    run.log(f"event_log: {position:,} events in {time.monotonic() - began:.0f} s")


def _read(run: BenchmarkRun, services: Stack, row: ResultRow, kept: int) -> None:
    dice, times = random.Random(7), list[float]()
    filters: Sequence[dict[str, str]] = (
        {},
        {"brand": "brand-7"},
        {"types": "social.posted"},
        {"brand": "brand-7", "types": "content.published,social.posted"},
        {"types": "cycle.completed"},
        {"correlation_id": "c4ca4238a0b923820dcc509a6f75849b"},
    )
    with services.client("events") as api:
        for number in range(run.of(60, 600)):
            query = {"limit": "100", "after": str(dice.randrange(kept)), **filters[number % len(filters)]}
            began = time.perf_counter()
            api.get("/v1/events", params=query).raise_for_status()
            times.append(1000 * (time.perf_counter() - began))
    row.extra |= {"p95_ms": round(quantiles(times, n=20, method="inclusive")[18], 1), "kept_events": kept}
    row.p50_ms = round(sorted(times)[len(times) // 2], 1)
    row.gate = GATE_PASSED
    run.log(f"event_log, {row.system}: p50 {row.p50_ms} ms, {row.extra}")


def _send_to_hooks(run: BenchmarkRun, services: Stack, row: ResultRow) -> None:
    """Other systems send to incoming webhooks, while the service that would do the work is away."""
    definition = {"type": "cycle.start", "data": {"keywords": [{"from": "/title"}]}}
    addresses, times = [], list[float]()
    with services.client("events") as api:
        for number in range(_HOOKS):
            form = {"kind": "path", "command": definition}
            made = api.put(f"/v1/brands/brand-{number}/hooks/bench", json=form).raise_for_status().json()
            addresses.append(f"{made['path']}/{made['secret']}")
        for number in range(run.of(60, 1_000)):
            began = time.perf_counter()
            api.post(addresses[number % _HOOKS], json={"title": f"keyword {number}"}).raise_for_status()
            times.append(1000 * (time.perf_counter() - began))
    row.p50_ms = round(sorted(times)[len(times) // 2], 1)
    row.extra |= {
        "p95_ms": round(quantiles(times, n=20, method="inclusive")[18], 1),
        "worst_ms": round(max(times), 1),
    }
    with Sql(services.database_url("events")) as sql:
        stored = sql.value("select count(distinct sender_id) from hook_arrivals")
    row.gate = GATE_PASSED if stored == len(times) else f"failed: {stored} of {len(times)} are stored"
    run.log(f"event_log, {row.system}: p50 {row.p50_ms} ms, {row.extra}")


def _forget(run: BenchmarkRun, services: Stack, row: ResultRow) -> None:
    kept = run.of((29,), (29, 28, 27))
    with Sql(services.database_url("events")) as sql:
        for days in kept:
            began = time.perf_counter()
            sql.execute("select maintain_events($1)", days)
            row.rounds.append(round(1000 * (time.perf_counter() - began), 1))
        oldest = sql.value("select min(recorded_at) from events")
    row.extra["worst_ms"] = max(row.rounds)
    is_gone = datetime.now(UTC) - oldest < timedelta(days=kept[-1] + 1)
    row.gate = GATE_PASSED if is_gone else f"failed: {oldest} is still there"
    run.log(f"event_log, {row.system}: {row.rounds} ms")


# -- live --------------------------------------------------------------------------------------------------------------


def _watch(run: BenchmarkRun, services: Stack, row: ResultRow, streams: int) -> None:
    """Memory of the process with so many open streams, each of which has got an event, beside the same at rest."""
    parts = urlsplit(services.addresses.url("events"))
    address = (parts.hostname or "", parts.port or 0)
    at_rest = services.rss_at_rest()["events"]
    with ExitStack() as cleanup:
        opened = [
            cleanup.enter_context(socket.create_connection(address, timeout=60)) for _ in range(streams)
        ]
        for each in opened:
            each.sendall(
                f"GET /v1/events/live HTTP/1.1\r\nHost: {parts.netloc}\r\nX-Service-Key: {KEY}\r\n\r\n".encode()
            )
        heard = [b""] * streams
        for place, each in enumerate(opened):
            while b"retry:" not in heard[place]:
                heard[place] += each.recv(65_536)
        asyncio.run(_publish(services.rabbitmq_url, 10))
        for place, each in enumerate(opened):
            while heard[place].count(b"event: content.published") < 10:  # noqa: PLR2004 - as many as were published
                heard[place] += each.recv(65_536)
        watched = resident_bytes(_pid(services)) / MEGABYTE
    row.extra |= {"streams": streams, "streams_mb": round(watched - at_rest, 1)}
    row.gate = GATE_PASSED
    run.log(f"event_log, {row.system}: {row.extra}, at rest {at_rest} MB")
