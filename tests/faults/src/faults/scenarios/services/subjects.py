"""The same subjects in many spellings on two orchestrators, killed in the midst of it, while every answer comes late and twice."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Final

import asyncpg
import httpx

from faults.judging.checker import Violation
from faults.judging.results import ScenarioOutcome
from faults.playing.replicas import KILLED, OrchestratorReplicas
from faults.playing.scenario import scenario
from faults.playing.stack import KEY
from faults.playing.world import FaultHarness
from faults.scenarios.services.batches import FakePeers, insist, judge_counts, until_ended

_BRAND: Final = "brand"
_SUBJECTS: Final = 40
_SPELLINGS: Final = (
    "kettle no{}",
    "Kettles  no{}",
    "kettle-no{}",
    "KETTLE NO{}?",
    "kettleno{}",
    "“kettle's” no{}",
)
_TIMES: Final = 2
"""Each spelling of all subjects is handed in so often."""
_KILLS: Final = 6
_ENDS: Final = ("refused", "failed", "completed", "completed", "completed")


@scenario(
    "one subject in many spellings on two replicas",
    "SIGKILL to one of two orchestrators after the other while the same subjects are handed in again and again, spelled otherwise;"
    " answers come thrice, in any order",
    faults=(KILLED,),
    budget=420.0,
)
async def one_subject_in_many_spellings_on_two_replicas(world: FaultHarness) -> ScenarioOutcome:
    database_url = await world.servers.create_database("orchestrator")
    pool = await asyncpg.create_pool(database_url, min_size=0, max_size=4)
    total = _SUBJECTS * len(_SPELLINGS) * _TIMES
    try:
        async with (
            OrchestratorReplicas.running(world, database_url) as replicas,
            FakePeersWithArticles.answering(world, pool, end_of) as newsroom,
        ):
            handing_in = asyncio.create_task(_hand_in(world, replicas))
            for count in sorted(world.rng.sample(range(_SUBJECTS // 4, total - _SUBJECTS), _KILLS)):
                await until_ended(pool, count)
                await replicas.kill_and_start()
            await handing_in
            await until_ended(pool, total)
        ended = await pool.fetch(
            """
            select k.keyword, k.state, coalesce(k.standing_id, k.content_id) as content_id, c.content_id is not null as stands
            from keywords as k
                left join content as c on c.content_id = coalesce(k.standing_id, k.content_id) and c.published_url is not null
            """
        )
        articles = await pool.fetch("select keyword from content where published_url is not null")
        violations = [
            *judge(ended, [row["keyword"] for row in articles], total=total),
            *await judge_counts(pool, _SUBJECTS),
            *newsroom.crowded,
        ]
    finally:
        await pool.close()
    wanted = sum(end_of(f"kettle no{number}") == "completed" for number in range(_SUBJECTS))
    return ScenarioOutcome(
        submitted=total,
        effects=len(ended),
        dead_letters=0,
        lost=total - len(ended),
        duplicated=max(len(articles) - wanted, 0),
        fired=world.history.faults[KILLED],
        seconds_to_heal=0.0,
        violations=tuple(violations),
    )


def end_of(keyword: str) -> str:
    """How a keyword is to end, however it is spelled."""
    return _ENDS[_subject(keyword) % len(_ENDS)]


def _subject(keyword: str) -> int:
    return int("".join(filter(str.isdigit, keyword)))


def judge(ended: Sequence[Any], articles: Sequence[str], *, total: int) -> Iterator[Violation]:
    """`ended` has of each keyword its state and article, and whether that is published; `articles` the keywords of those that are."""
    if len(ended) != total:
        yield Violation(1, f"{len(ended)} keywords are stored of {total} that were handed in")
    if wrong := [row["keyword"] for row in ended if row["state"] != end_of(row["keyword"])]:
        yield Violation(1, f"{len(wrong)} keywords ended otherwise than their subject, such as {wrong[0]}")
    if without := [row["keyword"] for row in ended if row["state"] == "completed" and not row["stands"]]:
        yield Violation(1, f"{len(without)} keywords were completed without an article, such as {without[0]}")
    by_subject: dict[int, set[Any]] = {}
    for row in ended:
        if row["state"] == "completed":
            by_subject.setdefault(_subject(row["keyword"]), set()).add(row["content_id"])
    several = [subject for subject, ids in by_subject.items() if len(ids) > 1]
    if several or len(articles) != len(set(map(_subject, articles))):
        yield Violation(
            1, f"{len(articles)} articles were published on {len(set(map(_subject, articles)))} subjects"
        )


async def _hand_in(world: FaultHarness, replicas: OrchestratorReplicas) -> None:
    """Several lists at a time, each of all subjects in one spelling."""
    lists = [
        (f"list {number} {spelling}", [spelling.format(subject) for subject in range(_SUBJECTS)])
        for number in range(_TIMES)
        for spelling in _SPELLINGS
    ]
    world.rng.shuffle(lists)
    async with httpx.AsyncClient(headers={"X-Service-Key": KEY}, timeout=5, trust_env=False) as client:
        await insist(client, replicas, "PUT", f"/v1/brands/{_BRAND}", {"name": _BRAND, "channels": []}, {})
        path = f"/v1/brands/{_BRAND}/research"
        for at in range(0, len(lists), 4):
            await asyncio.gather(
                *(
                    insist(
                        client,
                        replicas,
                        "POST",
                        path,
                        {"keywords": keywords},
                        {"Idempotency-Key": ascii(key)},
                    )
                    for key, keywords in lists[at : at + 4]
                )
            )


class FakePeersWithArticles(FakePeers):
    """Fake peers that also store the writers' articles."""

    async def store(self, row: Any) -> None:
        await self._pool.execute(
            """
            insert into content (content_id, brand_slug, keyword, research_id, slug, title, meta_description, body_markdown,
                                 word_count, key_points, sources)
            values ($1::uuid, $2, $3::text, gen_random_uuid(), $1::uuid::text, $3::text, '', '', 300, '{}', '[]') on conflict do nothing
            """,
            row["content_id"],
            row["brand_slug"],
            row["keyword"],
        )
