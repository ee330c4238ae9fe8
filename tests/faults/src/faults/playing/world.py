"""The harness of a scenario: its own vhost and database, worker processes, fault proxies, and the history."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeVar
from urllib.parse import urlsplit

import asyncpg

from chassis.database.pool import Pool
from chassis.testing import TcpProxy, eventually
from faults.judging import recorder
from faults.judging.checker import RunExpectations
from faults.judging.history import CommandHistory, SubmittedCommand
from faults.judging.observation import RunObservation
from faults.playing import rest
from faults.surroundings import processes
from faults.surroundings.cluster import ConnectionBalancer
from faults.surroundings.processes import WorkerProcess
from faults.surroundings.servers import ServerAddresses
from faults.workers import worker as worker_program
from faults.workers.worker import WorkerSettings
from faults.workload import commands
from faults.workload.sender import CommandSender, EncodedCommand
from messaging import QueuePolicy
from messaging.errors import BROKER_ERRORS
from messaging.flow.dead_letters import DeadLetter
from messaging.topology import dead_letter_queue

QUEUE: Final = commands.RESEARCH
PROGRAM: Final = worker_program.__name__
"""What workers run, where nothing else is said."""
MAX_ATTEMPTS: Final = 3
BACKOFF_SECONDS: Final = 0.2
_LEASE_SECONDS: Final = 2.0
"""Instead of 30: as long as what a killed worker leaves in the outbox must wait for another."""
_POLL_SECONDS: Final = 0.2

KeptT = TypeVar("KeptT")
Mix = int | Mapping[str, int]
"""How many `ok` commands, or behaviour → how many."""
Change = Callable[[EncodedCommand], EncodedCommand]
OUTAGES: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    *BROKER_ERRORS,
)


@dataclass(frozen=True, slots=True)
class ScenarioDemand:
    """A condition of a scenario beyond the invariants."""

    what: str
    met: Callable[[RunObservation], bool]


class FaultHarness:
    """Runs workers and faults for a scenario; `scenario.play` heals, drains, observes and judges."""

    def __init__(
        self,
        servers: ServerAddresses,
        *,
        rabbitmq_url: str,
        database_url: str,
        database: Pool,
        history: CommandHistory,
        folder: Path,
        seed: int,
        fast: bool,
        mutation: str,
    ) -> None:
        self.servers = servers
        """`servers.broker` and `servers.database` are nodes to kill, in a scenario that has nodes of its own."""
        self.rabbitmq_url = rabbitmq_url
        self.database_url = database_url
        self.database = database
        """A pool on the worker's database, past every proxy."""
        self.history = history
        self.folder = folder
        """Where logs and whatever else a person may want to read afterwards go."""
        self.fast = fast
        self.rng = random.Random(seed)
        self.mutation = mutation
        self.workers: list[WorkerProcess] = []
        self.proxies: list[TcpProxy] = []
        self.policy = QueuePolicy(max_attempts=MAX_ATTEMPTS, backoff_base=BACKOFF_SECONDS)
        """What the checker holds the workers to; assign another one where a scenario's workers have another."""
        self.bound_queues: tuple[str, ...] = recorder.OUTGOING
        """The queues that what an effect sends must reach."""
        self.patience = 20.0
        """Seconds without any change after which waiting for rest is given up."""
        self.demands: list[ScenarioDemand] = []
        self.healed_at: float | None = None
        self.letters: dict[str, DeadLetter] = {}
        """Command → its dead letter, once `take_letters` has taken it off the queue."""
        self._taken: dict[str, Any] = {}
        self._last_settings: dict[str, Any] = {}
        self._sender = CommandSender(rabbitmq_url, history, self.rng)
        self._cleanup = AsyncExitStack()

    @classmethod
    @asynccontextmanager
    async def made(
        cls, servers: ServerAddresses, folder: Path, *, seed: int = 0, fast: bool = False, mutation: str = ""
    ) -> AsyncIterator[Self]:
        """Makes a harness with a new vhost and database; all its processes end with the block.

        `folder` must be there already.
        """
        database_url = await servers.create_database()
        history = CommandHistory(folder / "history.jsonl")
        async with AsyncExitStack() as cleanup:
            cleanup.callback(history.close)
            rabbitmq_url = await cleanup.enter_async_context(servers.vhost())
            await recorder.lay_tap(rabbitmq_url)
            owner_url = servers.owner_url(database_url)
            database = await asyncpg.create_pool(owner_url, min_size=0, max_size=4, timeout=10)
            cleanup.callback(database.terminate)
            world = cls(
                servers,
                rabbitmq_url=rabbitmq_url,
                database_url=database_url,
                database=database,
                history=history,
                folder=folder,
                seed=seed,
                fast=fast,
                mutation=mutation,
            )
            try:
                yield world
            finally:
                await world._end()
        with suppress(*OUTAGES):
            await servers.drop_database(database_url)

    def count(self, normal: int, *, fast: int) -> int:
        """How many of something: `fast` in the subset that runs with every test."""
        return fast if self.fast else normal

    # -- commands ----------------------------------------------------------------------------------------------------

    async def submit(
        self,
        mix: Mix,
        *,
        queue: str = QUEUE,
        brands: int = 4,
        copies: float = 0.0,
        shuffled: bool = True,
        change: Change | None = None,
    ) -> list[SubmittedCommand]:
        """Submits commands, by default in random order, and returns them.

        Args:
            mix: how many `ok`, or behaviour → how many (see `behaviours`).
            queue: research-commands or orchestrator-commands.
            brands: over how many brands they are spread.
            copies: the fraction that is published once more.
            shuffled: or in the order of the mix.
            change: what is done to each before it is sent.
        """
        wanted = {"ok": mix} if isinstance(mix, int) else mix
        words = [word for word, count in wanted.items() for _ in range(count)]
        if shuffled:
            self.rng.shuffle(words)
        sendings = [
            self.sending(f"{word} {number}", brand=f"brand-{number % brands + 1}", queue=queue)
            for number, word in enumerate(words)
        ]
        if change is not None:
            sendings = [change(sending) for sending in sendings]
        await self._sender.send(sendings, copies=copies)
        return [sending.command for sending in sendings]

    def sending(self, keyword: str, *, brand: str = "brand-1", queue: str = QUEUE) -> EncodedCommand:
        """A command ready to be sent, by `send`."""
        return commands.command(keyword, brand=brand, queue=queue, policy=self.policy)

    async def send(self, *sendings: EncodedCommand, copies: float = 0.0) -> None:
        """Submits what was made by hand: a command and any bytes, type and headers."""
        await self._sender.send(sendings, copies=copies)

    async def submit_body(
        self, body: bytes, *, expect: str, queue: str = QUEUE, message_type: str | None = None
    ) -> SubmittedCommand:
        """Submits any bytes; `expect` is the reason of the dead letter that they must become, or `any`."""
        command = SubmittedCommand(id=recorder.identity_of(body), queue=queue, expect=expect)
        await self.send(EncodedCommand(command, body, message_type))
        return command

    @asynccontextmanager
    async def load(
        self, per_second: float, mix: Mapping[str, int] | None = None, *, change: Change | None = None
    ) -> AsyncIterator[None]:
        """Submits commands while the block runs, in the proportions of `mix`; `change` as for `submit`."""
        weights = mix or {"ok": 1}

        async def go_on() -> None:
            while True:
                words = self.rng.choices(
                    list(weights), list(weights.values()), k=max(1, round(per_second / 10))
                )
                wanted: dict[str, int] = {}
                for word in words:
                    wanted[word] = wanted.get(word, 0) + 1
                await asyncio.gather(self.submit(wanted, change=change), asyncio.sleep(0.1))

        task = asyncio.create_task(go_on(), name="load")
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def take_letters(self, *commands: SubmittedCommand, within: float = 60.0) -> list[DeadLetter]:
        """Waits for the dead letters of commands and takes them, for a scenario that replays them."""

        async def all_there() -> bool:
            found = await recorder.letters(self.rabbitmq_url, self._queues())
            self._taken |= {identity: letter for identity, (letter, _) in found.items()}
            for letter, facts in found.values():
                self.letters[letter.command] = facts
            return all(command.id in self.letters for command in commands)

        await eventually(all_there, within=within)
        return [self.letters[command.id] for command in commands]

    async def replay(
        self, command: SubmittedCommand, keyword: str = "ok replayed", *, copies: float = 0.0
    ) -> SubmittedCommand:
        """Replays a taken dead letter as the monitor does: its command, edited to another keyword."""
        sending = commands.replay(command, keyword, self.policy)
        await self.send(sending, copies=copies)
        return sending.command

    # -- workers and proxies -----------------------------------------------------------------------------------------

    def start_worker(
        self, name: str | None = None, *, program: str = PROGRAM, **settings: Any
    ) -> WorkerProcess:
        """Starts a worker process without waiting for it; settings are those of `worker.WorkerSettings`.

        Call it from the main thread's event loop only.
        """
        unknown = settings.keys() - WorkerSettings.model_fields.keys()
        if unknown:
            raise TypeError(f"workers have no setting {', '.join(sorted(unknown))}")
        name = name or f"worker-{len(self.workers) + 1}"
        values: dict[str, object] = {
            "rabbitmq_url": self.rabbitmq_url,
            "database_url": self.database_url,
            "service_key": "a-key-for-tests-only",
            "worker_name": name,
            "mutation": self.mutation,
            "max_attempts": MAX_ATTEMPTS,
            "retry_base_seconds": BACKOFF_SECONDS,
            "lease_seconds": _LEASE_SECONDS / 2 if self.fast else _LEASE_SECONDS,
            "database_connections": 4,
            **settings,
        }
        self._last_settings = {key: value for key, value in settings.items() if key != "fail_points"}
        environment = {key.upper(): str(value) for key, value in values.items() if value not in {None, ""}}
        worker = processes.start(name, program, environment, self.folder, self.history)
        self.history.note("worker", name=name, pid=worker.pid, program=program, settings=settings)
        self.workers.append(worker)
        return worker

    async def worker(self, name: str | None = None, **settings: Any) -> WorkerProcess:
        """The same, ready to work."""
        worker = self.start_worker(name, **settings)
        await worker.ready()
        return worker

    @asynccontextmanager
    async def kept_alive(self, *, restarts: int = 8, **settings: Any) -> AsyncIterator[list[WorkerProcess]]:
        """A worker that is started again whenever it has been killed, so many times at most.

        Yields those that have died so far; each death is a fault `kill`.
        """
        died: list[WorkerProcess] = []

        async def keep() -> None:
            while len(died) <= restarts:
                worker = self.start_worker(**settings)
                while worker.running:  # noqa: ASYNC110  (no event tells of another process)
                    await asyncio.sleep(0.05)
                died.append(worker)
                if worker.exit_code is not None and worker.exit_code < 0:
                    self.history.fault("kill")

        task = asyncio.create_task(keep(), name="kept alive")
        try:
            yield died
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def proxy(self, to: Literal["broker", "database"]) -> tuple[TcpProxy, str]:
        """Starts a fault proxy before the broker or the database; returns it and the URL through it.

        The URL is for a worker's `rabbitmq_url` or `database_url`. What the proxy does counts as faults
        `proxy.cut_after`, `proxy.reset` and so on.
        """
        url = self.rabbitmq_url if to == "broker" else self.database_url
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        proxy = await self._cleanup.enter_async_context(TcpProxy(parts.hostname, parts.port))
        self.proxies.append(proxy)
        netloc = f"{parts.username}:{parts.password}@127.0.0.1:{proxy.port}"
        return proxy, parts._replace(netloc=netloc).geturl()

    async def look_at(self, port: int) -> None:
        """Looks at the copy of the worker's database on another server from now on: the one that took over."""
        parts = urlsplit(self.servers.owner_url(self.database_url))
        url = parts._replace(netloc=f"{parts.username}:{parts.password}@{parts.hostname}:{port}").geturl()
        self.database = await asyncpg.create_pool(url, min_size=0, max_size=4, timeout=10)
        self._cleanup.callback(self.database.terminate)

    async def balancer(self) -> tuple[ConnectionBalancer, str]:
        """A load balancer before the nodes of the cluster, and the URL that leads through it."""
        assert self.servers.cluster is not None, "this scenario has no cluster"
        balancer = await self._cleanup.enter_async_context(ConnectionBalancer(self.servers.cluster))
        self.proxies.append(balancer)
        return balancer, balancer.url(self.rabbitmq_url)

    async def keep(self, surrounding: AbstractAsyncContextManager[KeptT]) -> KeptT:
        """Enters it for as long as this world lasts."""
        return await self._cleanup.enter_async_context(surrounding)

    async def effects_at_least(self, count: int) -> bool:
        """Whether so many effects are there; False as well while the database is away."""
        try:
            found: int = await self.database.fetchval("select count(*) from effects")
        except OUTAGES:
            return False
        return found >= count

    async def dead_letters_at_least(self, count: int) -> bool:
        """Whether so many dead letters wait in the queues, taken ones not counted."""
        queues = [dead_letter_queue(queue) for queue in self._queues()]
        found = await recorder.depths(self.rabbitmq_url, queues)
        return sum(found.values()) >= count

    def demand(self, what: str, met: Callable[[RunObservation], bool]) -> None:
        """Asks for more than the invariants of what is seen in the end."""
        self.demands.append(ScenarioDemand(what, met))

    # -- the end -----------------------------------------------------------------------------------------------------

    async def heal(self) -> None:
        """Ends every fault that the world knows of: nodes run, proxies mend, stopped workers go on, one works."""
        if self.healed_at is not None:
            return
        for node in (self.servers.broker, self.servers.cluster, self.servers.database):
            if node is not None and not node.running:
                await node.start()
        for proxy in self.proxies:
            proxy.mend()
        for worker in self.workers:
            worker.resume()
        self.healed_at = time.monotonic()
        if not any(worker.running for worker in self.workers):
            self.start_worker(**self._last_settings)

    async def drain(self, within: float = 120.0) -> float:
        """Waits until everything has come to rest, or nothing has changed for `patience` seconds.

        Returns seconds since `heal`. Whether all is well is for the checker to say.
        """
        started = self.healed_at or time.monotonic()
        deadline, changed = time.monotonic() + within, time.monotonic()
        before: rest.Figures | None = None
        while time.monotonic() < min(deadline, changed + self.patience):
            try:
                taken = [letter.command for letter in self._taken.values()]
                now = await rest.figures(
                    self.rabbitmq_url, self.database, self._queues(), self.workers, self.history, taken
                )
            except OUTAGES:
                now = None
            resting = now is not None and rest.at_rest(now)
            if resting and now == before:
                break
            if now != before:
                before, changed = now, time.monotonic()
            await asyncio.sleep(_POLL_SECONDS)
        return changed - started

    async def observe(self) -> RunObservation:
        """Stops the workers in order and sees what there is."""
        await processes.terminate_all(self.workers)
        for proxy in self.proxies:
            for name, times in proxy.fired.items():
                self.history.fault(f"proxy.{name}", times)
        left = await recorder.leftovers(self.rabbitmq_url, self.database, self._queues())
        found = await recorder.letters(self.rabbitmq_url, self._queues())
        lines = [line for worker in self.workers for line in worker.log_lines()]
        return RunObservation(
            effects=tuple(await recorder.effects(self.database)),
            letters=tuple((self._taken | {key: letter for key, (letter, _) in found.items()}).values()),
            arrivals=tuple(
                await recorder.arrivals(self.rabbitmq_url, [*recorder.OUTGOING, "monitor-commands"])
            ),
            outbox=tuple(await recorder.outbox_changes(self.database)),
            leftovers=left,
            logged=recorder.log_events(lines),
        )

    def terms(self, faults: tuple[str, ...]) -> RunExpectations:
        return RunExpectations(self.policy, self.bound_queues, faults)

    def _queues(self) -> list[str]:
        return sorted({QUEUE, *(command.queue for command in self.history.commands.values())})

    async def _end(self) -> None:
        for worker in self.workers:
            if worker.running:
                worker.resume()
        await processes.terminate_all([worker for worker in self.workers if worker.running])
        await self._sender.close()
        await self._cleanup.aclose()
