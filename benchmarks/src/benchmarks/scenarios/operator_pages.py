"""operator_pages: lists of dead letters and a long chain in the console, beside many dead letters."""

import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any, Final

import httpx

from benchmarks.errors import MeasurementError
from benchmarks.measuring.page_times import Visit, ask, p95
from benchmarks.reporting.results import GATE_PASSED, ResultRow
from benchmarks.run import BenchmarkRun
from benchmarks.servers.sql import Sql
from benchmarks.systems.console_people import sign_in
from benchmarks.systems.stack import KEYWORDS, Stack, stack
from brandctl.local import processes
from brandctl.local import services as local
from console.people.domain import Role

_GROUPS: Final = 300
_BRAND: Final = "acme"
_PAGE: Final = 50
_OPENINGS: Final = 20
"""How often the chain is opened."""
_STALLED_SECONDS: Final = 120.0
# Eight of ten are open; of each group there are as many, from four weeks.
_INSERT: Final = """
    insert into dead_messages (
        id, event_id, queue, type, source, correlation_id, payload, headers, reason, exception_type, detail, stack, frame, attempts,
        service, first_failed_at, failed_at, recorded_at, replayable, state, resolution, resolved_at, brand_slug, code, version
    )
    select gen_random_uuid(), event_id, q.queue, q.type, 'orchestrator', event_id::text,
           convert_to(json_build_object(
               'event_id', event_id, 'type', q.type, 'source', 'orchestrator', 'timestamp', failed_at, 'correlation_id', event_id,
               'payload', json_build_object('brand_slug', 'brand-' || n % 50, 'keyword', 'subject ' || n, 'notes', repeat('what it says ', 30))
           )::text, 'UTF8'),
           '{}', case when g.number % 2 = 0 then 'exhausted' else 'permanent' end, 'shop.errors.Failure' || g.number / 5,
           'it failed for the ' || n || 'th time', repeat('  File "/app/handlers.py", line 12, in handle' || chr(10), 12),
           'handlers.py:' || 10 + g.number % 7 || ' in handle', 1 + n % 5,
           q.service, failed_at - interval '10 minutes', failed_at, failed_at + interval '1 second', true,
           s.state, case when s.state <> 'open' then 'as it should' end, case when s.state <> 'open' then failed_at + interval '1 hour' end,
           'brand-' || n % 50, md5((g.number % 3)::text), '1.0'
    from generate_series(1, $1::int) as n
    cross join lateral (select n % $2::int as number) as g
    cross join lateral (select now() - n * (interval '28 days' / $1::int) as failed_at, gen_random_uuid() as event_id) as t
    cross join lateral (select case when n / $2::int % 10 < 8 then 'open' when n / $2::int % 10 = 8 then 'resolved' else 'discarded' end as state) as s
    join (values (0, 'research-commands', 'research.requested', 'research'), (1, 'orchestrator-events', 'research.completed', 'orchestrator'),
                 (2, 'publisher-commands', 'content.publish', 'publisher'), (3, 'social-commands', 'social.create', 'social'),
                 (4, 'orchestrator-commands', 'content.generate', 'orchestrator')) as q (number, queue, type, service)
      on q.number = g.number % 5
"""


@dataclass(frozen=True, slots=True)
class _Size:
    letters: int
    keywords: int


def operator_pages(run: BenchmarkRun) -> list[ResultRow]:
    rows = {name: ResultRow("operator_pages", f"ours, {name}") for name in ("dead letters", "a chain")}
    size = run.of(_Size(5_000, 50), _Size(100_000, 1_000))
    try:
        with stack(run.nodes, local.PROCESSES) as services:
            cookie = sign_in(services, "Ada", Role.OWNER, None).cookie
            correlation_id = _long_chain(services, size.keywords)
            _open_chain(run, services, rows["a chain"], correlation_id, cookie)
            rows["a chain"].extra["keywords"] = size.keywords
            with Sql(run.nodes.administrator_url(services.database_url("monitor"))) as sql:
                sql.execute(_INSERT, size.letters, _GROUPS)
                sql.execute("vacuum analyze")
                visits = [Visit(kind, f"/dead-letters{query}", cookie) for kind, query in _letter_pages(sql)]
            _read_letters(run, services, rows["dead letters"], visits)
            rows["dead letters"].extra |= {"dead_letters": size.letters, "groups": _GROUPS}
    except (MeasurementError, processes.StartError, httpx.HTTPError) as error:
        for row in rows.values():
            if row.gate != GATE_PASSED:
                row.gate = f"failed: no figure: {error}"
        run.log(f"operator_pages failed: {error}")
    return list(rows.values())


def _long_chain(services: Stack, keywords: int) -> str:
    """Has so many keywords researched in one request, whose messages are one chain; returns its correlation id."""
    # The corpus has something about ten; the others are refused, as it is in life.
    wanted = [*KEYWORDS, *(f"{KEYWORDS[n % len(KEYWORDS)]} in the year {1000 + n}" for n in range(keywords))]
    with services.client("orchestrator") as api, Sql(services.database_url("orchestrator")) as sql:
        api.put(f"/v1/brands/{_BRAND}", json={"name": "Acme"}).raise_for_status()
        answer = api.post(f"/v1/brands/{_BRAND}/research", json={"keywords": wanted[:keywords]})
        correlation_id: str = answer.raise_for_status().json()["correlation_id"]
        query = (
            "select count(*) from keywords where state in ('queued', 'writing', 'publishing', 'promoting')"
        )
        left, last_change = -1, time.monotonic()
        while (now := sql.value(query)) > 0:
            if now != left:
                left, last_change = now, time.monotonic()
            elif time.monotonic() - last_change > _STALLED_SECONDS:
                raise MeasurementError(f"{now} keywords of the chain do not end")
            time.sleep(0.2)
    return correlation_id


def _open_chain(run: BenchmarkRun, services: Stack, row: ResultRow, correlation_id: str, cookie: str) -> None:
    visit = Visit("chain", f"/chains/{correlation_id}", cookie)
    seen = ask(services.addresses.url("console"), [visit], run.of(5, _OPENINGS), rate=1.0)["chain"]
    row.gate = GATE_PASSED if set(seen["statuses"]) == {200} else f"failed: answers {seen['statuses']}"
    row.rounds = [round(each, 1) for each in seen["ms"]]
    row.p50_ms = round(median(seen["ms"]), 1)
    row.extra["worst_ms"] = round(max(seen["ms"]), 1)
    run.log(f"operator_pages, {row.system}: {row.rounds} ms")


def _letter_pages(sql: Sql) -> Iterator[tuple[str, str]]:
    """Lists with filters, their last pages, and a letter: a kind and the end of its address."""
    yield "open, with their groups", ""
    for state in ("any", "resolved", "discarded"):
        yield state, f"?state={state}"
    yield "of a queue", "?queue=social-commands"
    yield "of a type", "?type=content.publish"
    one = sql.row(
        "select id, event_id from dead_messages where state = 'open' order by recorded_at offset 70 limit 1"
    )
    yield "of a chain", f"?chain={one['event_id']}"
    yield "of a message", f"?id={one['event_id']}"
    yield "with an error", "?error=Failure7"
    yield "with a text", "?text=subject%2077"
    yield "with many attempts", "?least=5"
    since = sql.value("select to_char(now() - interval '8 days', 'YYYY-MM-DD')")
    yield "of a week", f"?since={since}T00:00"
    for state in ("open", "any"):
        condition = "true" if state == "any" else "state = 'open'"
        cursor = sql.value(
            f"select id from dead_messages where {condition} order by recorded_at, id offset $1 limit 1",  # noqa: S608 - constants
            _PAGE,
        )
        yield f"last page, {state}", f"?state={state}&after={cursor}"
    yield "one letter", f"/{one['id']}"


def _read_letters(run: BenchmarkRun, services: Stack, row: ResultRow, visits: list[Visit]) -> None:
    url = services.addresses.url("console")
    random.Random(5).shuffle(visits)
    ask(url, visits, 1)
    seen = ask(url, visits, run.of(5.0, 60.0), rate=5.0)
    every = [ms for each in seen.values() for ms in each["ms"]]
    slow = sorted(((p95(each["ms"]), kind) for kind, each in seen.items()), reverse=True)
    wrong = {kind: each["statuses"] for kind, each in seen.items() if set(each["statuses"]) != {200}}
    row.gate = f"failed: pages answer {wrong}" if wrong else GATE_PASSED
    row.p50_ms = round(median(every), 1)
    row.p99_ms = round(quantiles(every, n=100, method="inclusive")[98], 1)
    row.extra |= {
        "p95_ms": round(p95(every), 1),
        "slowest_page": slow[0][1],
        "slowest_page_p95_ms": round(slow[0][0], 1),
    }
    run.keep("operator-pages.txt", "".join(f"{ms:8.1f} ms p95  {kind}\n" for ms, kind in slow))
    run.log(f"operator_pages, {row.system}: {_told(seen)}")


def _told(seen: Mapping[str, Any]) -> str:
    return ", ".join(f"{kind} {p95(each['ms']):.0f} ms" for kind, each in seen.items())
