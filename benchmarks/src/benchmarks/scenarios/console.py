"""console: its pages beside much stock, with many people watching, in a browser, and its memory at rest."""

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from statistics import median, quantiles
from typing import Final

import httpx
from playwright.sync_api import sync_playwright

from benchmarks.accounting import MEGABYTE, cpu_seconds, resident_bytes
from benchmarks.errors import MeasurementError
from benchmarks.measuring.console_screens import Screens, page_routes
from benchmarks.measuring.page_times import PAGES_A_SECOND, Visit, ask, p95
from benchmarks.reporting.results import GATE_PASSED, ResultRow
from benchmarks.run import BenchmarkRun
from benchmarks.servers.sql import Sql
from benchmarks.systems.agency import LARGEST, STOCKED, AgencySize, furnish
from benchmarks.systems.console_people import SignedIn, sign_in
from benchmarks.systems.stack import KEYWORDS, Stack, stack
from brandctl.local import processes
from brandctl.local import services as local
from chassis.http import calendars
from console.people.domain import Role

_CHANGES_EVERY_SECONDS: Final = 2.0
"""A keyword is handed in so often, which changes what pages of its brand show some ten times."""
_WATCHED_BRANDS: Final = 30
_NEW: Final = tuple(each for each in KEYWORDS if each not in STOCKED)
"""What no brand has an article about yet."""
_WATCHED: Final = ("", "/keywords", "/drafts", "/posts", "/sources")
"""Screens of a brand that people have open."""
_BEHIND: Final = 40
"""Entries of a list behind its last page's cursor."""
_SORTED: Final = {
    "articles": "select content_id::text from content where brand_slug = $1 order by content_id offset {} limit 1",
    "drafts": "select content_id::text from content where brand_slug = $1 and held_for <> '{{}}' order by content_id offset {} limit 1",
    "keywords": "select k.cycle_id || '.' || k.position from keywords as k join cycles as c using (cycle_id)"
    " where c.brand_slug = $1 order by k.cycle_id, k.position offset {} limit 1",
}
"""Cursor of each list's last page."""
_FILTERS: Final = {
    "articles": (
        "q=moka",
        "q=zzzz",
        "state=published",
        "state=taken_down",
        "age=day",
        "q=moka&state=rejected",
    ),
    "drafts": ("q=moka", "q=zzzz", "state=waiting", "age=1"),
    "keywords": ("q=moka", "q=zzzz", "state=completed", "state=failed", "state=needs_review", "age=day"),
    "posts": (
        "q=moka",
        "q=zzzz",
        "state=posted",
        "state=failed",
        "state=in_doubt",
        "state=waiting",
        "age=day",
    ),
    "calendar": ("view=month", "view=week", "view=list"),
}
_SEARCHES: Final = ("/search?q=moka", "/search?q=zzzz", "/search?q=brand", f"/search?q=pot&brand={LARGEST}")
_LOADED: Final = """() => {
    const page = performance.getEntriesByType('navigation')[0];
    const paint = performance.getEntriesByName('first-contentful-paint')[0];
    return Math.max(page.loadEventEnd, paint ? paint.startTime : 0);
}"""


def console(run: BenchmarkRun) -> list[ResultRow]:
    rows = {
        name: ResultRow("console", f"ours, {name}")
        for name in ("at rest", "pages", "pages of one brand", "watched", "in a browser")
    }
    try:
        with stack(run.nodes, local.PROCESSES) as services:
            _rest(services, rows["at rest"])
            began = time.monotonic()
            size = furnish(services, run.nodes, run.of(AgencySize(20, 500), AgencySize(1_000, 100_000)))
            stock = {"brands": size.brands, "articles": size.articles, "posts": size.posts}
            run.log(f"console: {stock} in {time.monotonic() - began:.0f} s")
            owner = sign_in(services, "Ada", Role.OWNER, None)
            editor = sign_in(services, "Bob", Role.EDITOR, [LARGEST])
            with _changes(services, range(1, size.brands), _NEW[:-2]):
                _read(run, services, rows["pages"], owner)
                _read(run, services, rows["pages of one brand"], editor)
            _open_in_browser(run, services, rows["in a browser"], owner)
            _watch(run, services, rows["watched"], size)
            for row in rows.values():
                row.extra |= stock
    except (MeasurementError, processes.StartError, httpx.HTTPError) as error:
        for row in rows.values():
            if row.gate != GATE_PASSED:
                row.gate = f"failed: no figure: {error}"
        run.log(f"console failed: {error}")
    return list(rows.values())


def _pid(services: Stack) -> int:
    return services.children["console"].process.pid


def _rest(services: Stack, row: ResultRow) -> None:
    row.extra["console_rest_mb"] = services.rss_at_rest()["console"]
    row.gate = GATE_PASSED


# -- pages -------------------------------------------------------------------------------------------------------------


def _read(run: BenchmarkRun, services: Stack, row: ResultRow, person: SignedIn) -> None:
    """People open all pages on a fixed schedule."""
    url = services.addresses.url("console")
    screens = Screens(page_routes())
    screens.crawl(url, person.cookie, ["/"], {"brand": LARGEST})
    visits = [
        Visit(route, address, person.cookie)
        for route, addresses in screens.by_route.items()
        for address in addresses
    ]
    visits += [Visit(each, each, person.cookie) for each in _further(services, with_all=person.name == "Ada")]
    random.Random(5).shuffle(visits)
    seconds = run.of(5.0, 240.0)
    ask(url, visits, len(visits) / PAGES_A_SECOND)
    before = run.nodes.cpu([_pid(services)])
    seen = ask(url, visits, seconds)
    used = run.nodes.cpu([_pid(services)]) - before
    every = [ms for each in seen.values() for ms in each["ms"]]
    slow = sorted(((p95(each["ms"]), kind) for kind, each in seen.items()), reverse=True)
    wrong = {kind: each["statuses"] for kind, each in seen.items() if set(each["statuses"]) != {200}}
    row.gate = GATE_PASSED if not wrong else f"failed: pages answer {wrong}"
    row.p50_ms, row.p99_ms = (
        round(median(every), 1),
        round(quantiles(every, n=100, method="inclusive")[98], 1),
    )
    row.cpu_s_per_1k = used.per_thousand(len(every))
    row.extra |= {
        "p95_ms": round(p95(every), 1),
        "slowest_page": slow[0][1],
        "slowest_page_p95_ms": round(slow[0][0], 1),
        "kinds": len(seen),
        "pages": len(every),
        "rss_mb": round(resident_bytes(_pid(services)) / MEGABYTE, 1),
        "without_address": screens.missing,
    }
    lines = [
        f"{ms:8.1f} ms p95 {median(seen[kind]['ms']):8.1f} ms p50  {len(seen[kind]['ms']):4} {kind}"
        for ms, kind in slow
    ]
    lines += [f"answers {status}: {address}" for address, status in screens.refused.items()]
    run.keep(f"console-{row.system.removeprefix('ours, ').replace(' ', '-')}.txt", "\n".join(lines) + "\n")
    run.log(f"console, {row.system}: p50 {row.p50_ms} ms, p95 {row.extra['p95_ms']} ms, slowest {slow[:5]}")


def _further(services: Stack, *, with_all: bool) -> Iterator[str]:
    """Last pages of lists, lists with filters, searches."""
    brand = f"/b/{LARGEST}"
    with Sql(services.database_url("orchestrator")) as sql:
        for name, query in _SORTED.items():
            for offset in (_BEHIND, 0):
                if cursor := sql.value(query.format(offset), LARGEST):
                    yield f"{brand}/{name}?after={cursor}"
                    break
    with Sql(services.database_url("social")) as sql:
        oldest = sql.rows(
            "select posted_at, post_id from posts where brand_slug = $1 order by 1 limit 1", LARGEST
        )
        for each in oldest:
            yield str(httpx.URL(f"{brand}/posts", params={"after": calendars.place(each[0], str(each[1]))}))
    for name, filters in _FILTERS.items():
        yield from (f"{brand}/{name}?{each}" for each in filters)
    if with_all:
        yield from _SEARCHES
        yield "/?after=brand-0980"
        yield "/audit-log?service=orchestrator"
    else:
        yield _SEARCHES[0]


@contextmanager
def _changes(services: Stack, brands: Sequence[int], keywords: Sequence[str]) -> Iterator[None]:
    """The services work meanwhile: keywords are handed in, for a brand after the other; the same never twice, which is no work."""
    ended = threading.Event()

    def hand_in() -> None:
        with services.client("orchestrator") as api:
            for keyword, number in product(keywords, brands):
                if ended.wait(_CHANGES_EVERY_SECONDS):
                    return
                path = f"/v1/brands/brand-{number:04}/research"
                api.post(path, json={"keywords": [keyword]}).raise_for_status()

    worker = threading.Thread(target=hand_in, name="changes")
    worker.start()
    try:
        yield
    finally:
        ended.set()
        worker.join()


# -- live --------------------------------------------------------------------------------------------------------------


def _watch(run: BenchmarkRun, services: Stack, row: ResultRow, size: AgencySize) -> None:
    """People of many brands have a page of theirs open while things change."""
    brands, seconds = min(_WATCHED_BRANDS, size.brands - 1), run.of(10.0, 60.0)
    people = run.of(brands, 300)
    tabs = []
    for number in range(people):
        brand = f"brand-{1 + number % brands:04}"
        person = sign_in(services, f"Watcher {number}", Role.EDITOR, [brand])
        tabs.append((f"/b/{brand}{_WATCHED[number // brands % len(_WATCHED)]}", person.cookie))
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.load.watchers", services.addresses.url("console")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as watchers:
        try:
            assert watchers.stdin is not None
            assert watchers.stdout is not None
            # The first seconds, in which all pages are looked at for the first time, do not count.
            watchers.stdin.write(json.dumps({"seconds": seconds * 1.5, "tabs": tabs}))
            watchers.stdin.close()
            if watchers.stdout.readline().strip() != "watching":
                raise MeasurementError("the streams of the watchers do not open")
            with _changes(services, range(1, brands + 1), _NEW[-2:]):
                time.sleep(seconds / 2)
                began, before = time.monotonic(), cpu_seconds([_pid(services)])
                time.sleep(seconds * 0.9)
                used, lasted = cpu_seconds([_pid(services)]) - before, time.monotonic() - began
                memory = resident_bytes(_pid(services))
            seen = json.loads(watchers.stdout.read())
        finally:
            watchers.kill()
    row.gate = (
        GATE_PASSED
        if seen.get("status 200") == people and seen.get("changed", 0) > people
        else f"failed: {seen}"
    )
    row.extra |= {
        "watched_mb": round(memory / MEGABYTE, 1),
        "watched_percent_of_a_core": round(100 * used / lasted, 1),
        "people": people,
        "seen": seen,
    }
    run.log(f"console, watched by {people}: {row.extra}")


# -- in a browser ------------------------------------------------------------------------------------------------------


def _open_in_browser(run: BenchmarkRun, services: Stack, row: ResultRow, person: SignedIn) -> None:
    """The first page of a signed-in person, each time with an empty cache."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        row.gate = "skipped: there is no Chromium"
        return
    url, times = services.addresses.url("console"), []
    name, _, value = person.cookie.partition("=")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"], env=dict(os.environ)
        )
        for _ in range(run.of(2, 10)):
            context = browser.new_context()
            context.add_cookies([{"name": name, "value": value, "url": url}])
            page = context.new_page()
            page.goto(url, wait_until="load")
            page.wait_for_function("performance.getEntriesByType('navigation')[0].loadEventEnd > 0")
            times.append(float(page.evaluate(_LOADED)))
            context.close()
        browser.close()
    row.gate = GATE_PASSED
    row.rounds = [round(each, 1) for each in times]
    row.p50_ms = round(median(times), 1)
    row.extra["worst_ms"] = round(max(times), 1)
    run.log(f"console, first page in a browser: {row.rounds} ms")
