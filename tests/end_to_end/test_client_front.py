"""The front of the client against a real orchestrator: submit, follow, wait, and lost answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from uuid import UUID

import pytest

from client import AsyncBrandEngine, BrandEngine, NotEndedError, RefusedError, UnreachableError
from envelope import new_event_id
from tests.fixtures.brands.installation import KEY, Installation, installation
from tests.fixtures.interrupting_proxy import interrupting


@pytest.fixture
async def made(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Installation]:
    async with installation(make_database, "https://pages.example") as made:
        await made.ask("orchestrator", "PUT", "/v1/brands/acme", json={"name": "Acme"})
        yield made


async def end(made: Installation, cycle_id: str) -> None:
    """`cold brew` is published, `moka pot` refused, and `chemex` waits for a person."""
    statement = (
        "update keywords set awaits_turn = false, content_id = $2, generated = $3, published_url = $4, state = $5, reason = $6,"
        " held = $7, setbacks = $8::text::jsonb, posts = $9::text::jsonb where cycle_id = $1 and keyword = $10"
    )
    posts = '[{"platform": "feed", "url": "https://posts.example/1", "reason": null}]'
    url = "https://pages.example/sites/acme/cold-brew"
    too_little = '{"research": {"reason": "two sources", "refused": true}}'
    for keyword, values in {
        "cold brew": (new_event_id(), True, url, "completed", None, False, "{}", posts),
        "moka pot": (None, False, None, "refused", "two sources", False, too_little, "[]"),
        "chemex": (new_event_id(), False, None, "needs_review", None, True, "{}", "[]"),
    }.items():
        await made.execute("orchestrator", statement, UUID(cycle_id), *values, keyword)


async def test_keywords_are_submitted_and_their_results_waited_for(made: Installation) -> None:
    def work() -> None:
        with BrandEngine(made.urls["orchestrator"], KEY) as engine:
            job = engine.submit("acme", ["cold brew", "moka pot", "chemex"])
            with pytest.raises(NotEndedError, match="it goes on") as late:
                job.wait(timeout=0.01)
            assert late.value.cycle_id == job.cycle_id
            asyncio.run_coroutine_threadsafe(end(made, job.cycle_id), loop).result()
            seen = [cycle["percent"] for cycle in job.progress(every=0.01)]
            assert seen[-1] == 66
            results = engine.job(job.cycle_id).wait()
            assert results.state == "waiting"
            assert [(each.keyword, each.url, each.posts) for each in results.articles] == [
                (
                    "cold brew",
                    "https://pages.example/sites/acme/cold-brew",
                    {"feed": "https://posts.example/1"},
                )
            ]
            assert [(each.keyword, each.reason) for each in results.refused] == [("moka pot", "two sources")]
            assert [each.keyword for each in results.waiting] == ["chemex"]

    loop = asyncio.get_running_loop()
    await asyncio.to_thread(work)


async def test_the_same_to_await(made: Installation) -> None:
    async with AsyncBrandEngine(made.urls["orchestrator"], KEY) as engine:
        job = await engine.submit("acme", ["cold brew", "moka pot", "chemex"], priority="high")
        waiting = asyncio.create_task(job.wait(timeout=60))
        await end(made, job.cycle_id)
        results = await waiting
        assert [len(each) for each in (results.articles, results.refused, results.waiting)] == [1, 1, 1]
        await made.ask("orchestrator", "POST", "/v1/brands/acme/pause")
        other = await engine.submit("acme", ["aeropress"])
        await other.cancel()
        assert (await other.wait(timeout=60)).refused[0].state == "cancelled"


async def test_a_lost_answer_is_asked_for_again_and_counts_once(made: Installation) -> None:
    async with (
        interrupting(made.urls["orchestrator"]) as proxy,
        AsyncBrandEngine(proxy.url, KEY) as engine,
    ):
        proxy.losses = 1
        job = await engine.submit("acme", ["cold brew"])
        assert proxy.lost == 1
        cycles = await made.ask("orchestrator", "GET", "/v1/cycles", params={"brand": "acme"})
        assert [each["cycle_id"] for each in cycles["items"]] == [job.cycle_id]
        again = await engine.submit("acme", ["x"], key="monday")
        assert (await engine.submit("acme", ["x"], key="monday")).cycle_id == again.cycle_id

        await made.ask("orchestrator", "POST", "/v1/brands/acme/pause")
        job = await engine.submit("acme", ["chemex"])
        progress = job.progress(every=0.01, timeout=60)
        assert (await anext(progress))["state"] == "running"
        proxy.losses = 2
        assert (await anext(progress))["state"] == "running"
        assert proxy.lost == 3
        await job.cancel()
        assert (await job.wait(timeout=60)).state == "cancelled"


async def test_what_cannot_pass_is_told_at_once(made: Installation) -> None:
    async with AsyncBrandEngine(made.urls["orchestrator"], KEY) as engine:
        with pytest.raises(RefusedError) as unknown:
            await engine.submit("nobody", ["tea"])
        assert unknown.value.code == "unknown_brand"
        with pytest.raises(RefusedError):
            await engine.job(str(UUID(int=7))).wait()
    async with AsyncBrandEngine("http://127.0.0.1:1", KEY) as nowhere:
        with pytest.raises(UnreachableError):
            await nowhere.job(str(UUID(int=7))).wait()
