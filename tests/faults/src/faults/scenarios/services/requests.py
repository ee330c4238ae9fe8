"""Requests to two orchestrators that die between the commit and the answer."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

import asyncpg
import httpx

from faults.judging.checker import Violation
from faults.judging.results import ScenarioOutcome
from faults.playing.replicas import KILLED, OrchestratorReplicas
from faults.playing.scenario import scenario
from faults.playing.stack import KEY
from faults.playing.world import FaultHarness

_REQUESTS: Final = 40
_STRIKES_AT: Final = 5
"""Each process dies over so many answers."""
_KEYWORDS: Final = "select k.keyword as subject, count(*) as cycles from keywords as k group by k.keyword"


@dataclass
class _RequestCounts:
    answers: list[set[bytes]] = field(default_factory=list)
    """What was said to each request, however often it was sent."""
    replayed: int = 0
    died: int = 0
    """Answers that never came."""


@scenario(
    "requests sent again after a kill",
    "SIGKILL to one of two orchestrators between the commit of a request and its answer; each request is sent until it is"
    " answered, and once more",
    faults=(KILLED,),
    budget=300.0,
)
async def requests_sent_again(world: FaultHarness) -> ScenarioOutcome:
    database_url = await world.servers.create_database("orchestrator")
    connection = await asyncpg.connect(database_url)
    seen = _RequestCounts()
    strikes = f"answer.committed=kill@{_STRIKES_AT}"
    try:
        async with OrchestratorReplicas.running(world, database_url, FAIL_POINTS=strikes) as replicas:
            await asyncio.gather(replicas.at_work(0), replicas.at_work(1))
            # A connection for each request: a server may close an idle one at the moment it is used again, which is no kill.
            async with httpx.AsyncClient(
                headers={"X-Service-Key": KEY},
                timeout=60,
                trust_env=False,
                limits=httpx.Limits(max_keepalive_connections=0),
            ) as client:
                brand = await client.put(f"{replicas.urls[0]}/v1/brands/acme", json={"name": "Acme"})
                brand.raise_for_status()
                for number in range(_REQUESTS):
                    seen.answers.append(await _until_answered(client, replicas, number, seen))
        cycles = Counter({row["subject"]: row["cycles"] for row in await connection.fetch(_KEYWORDS)})
    finally:
        await connection.close()
    return ScenarioOutcome(
        submitted=_REQUESTS,
        effects=cycles.total(),
        dead_letters=0,
        lost=_REQUESTS - len(cycles),
        duplicated=cycles.total() - len(cycles),
        fired=world.history.faults[KILLED],
        seconds_to_heal=0.0,
        violations=tuple(judge(cycles, seen.answers, died=seen.died, replayed=seen.replayed)),
    )


async def _until_answered(
    client: httpx.AsyncClient, replicas: OrchestratorReplicas, number: int, seen: _RequestCounts
) -> set[bytes]:
    """Sends one request, now to this replica and now to that, until there is an answer; and then to the other one."""
    told: set[bytes] = set()
    wanted = {"keywords": [f"subject {number}"]}
    turn = number
    while len(told) == 0 or turn < number + 2:
        which = turn % 2
        turn += 1
        try:
            answer = await client.post(
                f"{replicas.urls[which]}/v1/brands/acme/research",
                json=wanted,
                headers={"Idempotency-Key": f"request {number}"},
            )
        except httpx.TransportError:
            seen.died += 1
            await replicas.start_again(which)
            continue
        if answer.status_code == HTTPStatus.ACCEPTED:
            told.add(answer.content)
            seen.replayed += answer.headers.get("Idempotent-Replayed") == "true"
        elif answer.status_code != HTTPStatus.CONFLICT:
            told.add(f"{answer.status_code} {answer.text}".encode())
    return told


def judge(
    cycles: Counter[str], answers: Sequence[set[bytes]], *, died: int, replayed: int
) -> Iterator[Violation]:
    """One cycle for each request, which all its answers name."""
    if missing := len(answers) - len(cycles):
        yield Violation(1, f"{missing} requests have begun no cycle")
    if twice := [subject for subject, count in cycles.items() if count > 1]:
        yield Violation(1, f"{len(twice)} requests have begun more than one cycle, such as {twice[0]}")
    if unlike := [number for number, told in enumerate(answers) if len(told) != 1]:
        yield Violation(1, f"{len(unlike)} requests were answered in two ways, such as {unlike[0]}")
    if refused := [told for told in answers if any(not each.startswith(b"{") for each in told)]:
        yield Violation(1, f"a request was refused: {refused[0]!r}")
    if replayed < died:
        yield Violation(1, f"{died} answers died on the way, and {replayed} were had again")
