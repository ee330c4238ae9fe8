"""A private RabbitMQ and a private PostgreSQL that can be killed, stopped and started again, and made to run short.

Ports and data stay through every restart. Nodes are started from the main thread (`brandctl.local.processes`), yet
without holding up its event loop, on which the fault proxies run.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final, Literal, Self

import asyncpg

from brandctl.local import ports, postgres, rabbitmq

Resource = Literal["memory", "disk"]

_ALARMS: Final = {
    "memory": ("set_vm_memory_high_watermark", "absolute", "1MB"),
    "disk": ("set_disk_free_limit", "1000000GB"),
}
_NO_ALARMS: Final = {
    "memory": ("set_vm_memory_high_watermark", "0.4"),
    "disk": ("set_disk_free_limit", "50MB"),
}
_KILL_SECONDS: Final = 10.0
_STOP_SECONDS: Final = 30.0


class RabbitMqServer:
    """A RabbitMQ node that keeps its data between starts."""

    def __init__(
        self, folder: Path, *, joins: Self | None = None, settings: Mapping[str, str] | None = None
    ) -> None:
        """Starts a new node in `folder`, which must not exist yet; `ready` waits for it.

        Args:
            folder: where its data go; names it as well.
            joins: a ready node; the new one joins its cluster.
            settings: further lines of `rabbitmq.conf`.
        """
        self._folder = folder
        self._logs = count(2)
        others: rabbitmq.RabbitNode | None = None if joins is None else joins._node
        self._node: rabbitmq.RabbitNode = rabbitmq.launch(
            folder, management=True, name=folder.name, joins=others, settings=settings
        )

    @property
    def name(self) -> str:
        """In its cluster, as the broker writes it."""
        return self._node.name

    @property
    def url(self) -> str:
        """AMQP, its administrator on the vhost `/`."""
        return self._node.url

    def url_of(self, vhost: str) -> str:
        return self._node.url_of(vhost)

    @property
    def port(self) -> int:
        return self._node.port

    @property
    def management_url(self) -> str:
        """Base of the HTTP API, with credentials."""
        assert self._node.management_url is not None
        return self._node.management_url

    @property
    def pid(self) -> int:
        return self._node.child.process.pid

    @property
    def running(self) -> bool:
        return self._node.child.running

    async def ready(self) -> None:
        """Waits until it speaks AMQP and HTTP.

        Raises:
            StartError: it ended, or took too long.
        """
        await asyncio.to_thread(self._node.wait)

    async def kill(self) -> None:
        """Ends it by SIGKILL, as if its machine had failed."""
        await asyncio.to_thread(self._node.child.stop, signal.SIGKILL, grace=_KILL_SECONDS)

    def freeze(self) -> None:
        """Stops the server and its connections by SIGSTOP. After a kill, no thaw is needed."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    async def stop(self) -> None:
        """Ends it in order; takes it some 8 seconds."""
        await asyncio.to_thread(self._node.child.stop, signal.SIGTERM, grace=_STOP_SECONDS)

    async def start(self) -> None:
        """Starts it over its data and waits until it speaks."""
        log = self._folder.with_name(f"{self._folder.name}-{next(self._logs)}.log")
        self._node = self._node.start_again(log=log)
        await self.ready()

    async def remember_queues(self) -> None:
        """Makes it write down at once which quorum queues it has; to be called before it is killed.

        RabbitMQ 3.10 keeps that in a file (Erlang's dets) that it saves within three minutes. Killed before, it comes
        back with queues that have no leader, and what they held is out of reach. That is a fault of its own, not ours.
        """
        await self._control("eval", "[ok = dets:sync(Table) || Table <- dets:all()].")

    async def raise_alarm(self, resource: Resource) -> None:
        """Makes it believe that it is short of memory or disk: from now on it reads no publishes."""
        await self._control(*_ALARMS[resource])

    async def clear_alarm(self, resource: Resource) -> None:
        await self._control(*_NO_ALARMS[resource])

    async def alarms(self) -> str:
        """Returns the node's alarms as Erlang prints them; `[]` for none."""
        return (await self._control("eval", "rabbit_alarm:get_alarms().")).strip()

    async def evaluate(self, erlang: str) -> str:
        """Runs an Erlang expression in the node: for settings that are otherwise read only when it starts."""
        return await self._control("eval", erlang)

    @property
    def log(self) -> Path:
        """Returns the log since the last start."""
        return self._node.child.log

    async def _control(self, *arguments: str) -> str:
        return await asyncio.to_thread(self._node.control, *arguments)

    def close(self) -> None:
        """Ends it and removes its data."""
        self._node.stop()


class PostgresServer:
    """A PostgreSQL server that keeps its data between starts; durable, so that commits survive SIGKILL."""

    def __init__(self, folder: Path, *, disk: int | None = None) -> None:
        """Starts a new server in `folder`, which must not exist yet; `ready` waits for it.

        Args:
            folder: where the data go.
            disk: size in bytes of a disk of its own that can be filled; see `why_no_small_disk`.
        """
        self._folder = folder
        self._logs = count(2)
        self._disk = None if disk is None else _mounted(disk)
        # A standby, as `demote` makes, needs more in the log than a server that stands alone.
        settings = {"wal_level": "replica", "max_wal_senders": "4"}
        data = self._disk / "data" if self._disk else folder
        self._node = postgres.launch(data, log=folder.with_name(f"{folder.name}.log"), settings=settings)

    @property
    def log(self) -> Path:
        """What the server logs, until it is started anew."""
        return self._folder.with_name(f"{self._folder.name}.log")

    @property
    def latest_log(self) -> Path:
        """What it has logged since its last start."""
        return self._node.child.log

    @property
    def url(self) -> str:
        """Its superuser on the database `postgres`."""
        return self._node.url

    @property
    def port(self) -> int:
        return self._node.port

    @property
    def pid(self) -> int:
        return self._node.child.process.pid

    @property
    def running(self) -> bool:
        return self._node.child.running

    async def ready(self) -> None:
        """Waits until it takes connections.

        Raises:
            StartError: it ended, or took too long.
        """
        # After a SIGKILL it replays its log first, on a machine that is busy with much else.
        await asyncio.to_thread(self._node.wait, 120.0)

    async def kill(self) -> None:
        """Ends it by SIGKILL; its sessions see that it is gone and end as well."""
        sessions = _children(self.pid)
        await asyncio.to_thread(self._node.child.stop, signal.SIGKILL, grace=_KILL_SECONDS)
        # They hold the shared memory, without which no new server may start.
        async with asyncio.timeout(_KILL_SECONDS):
            while any(_alive(pid) for pid in sessions):  # noqa: ASYNC110  (no event tells of another's children)
                await asyncio.sleep(0.02)

    async def stop(self) -> None:
        """Ends it in order, without waiting for its clients to leave."""
        await asyncio.to_thread(self._node.child.stop, signal.SIGINT, grace=_STOP_SECONDS)

    async def start(self) -> None:
        """Starts it over its data and waits until it takes connections."""
        log = self._folder.with_name(f"{self._folder.name}-{next(self._logs)}.log")
        self._node = self._node.start_again(log=log)
        await self.ready()

    async def demote(self) -> None:
        """Makes the server a standby that refuses writes, like an old primary after a fail-over."""
        await self.stop()
        (self._node.folder / "standby.signal").touch()
        await self.start()

    async def promote(self) -> None:
        """Makes a standby take writes again."""
        connection = await asyncpg.connect(self.url)
        try:
            await connection.fetchval("select pg_promote(wait => true)")
        finally:
            await connection.close()

    async def add_standby(self, folder: Path, *, port: int) -> postgres.PostgresNode:
        """A standby in `folder` that streams from here through `port`, asynchronously; it follows once this returns.

        Args:
            folder: where its data go; must not exist yet.
            port: where the standby reaches this server: a proxy that can be cut.
        """
        copied = await asyncio.to_thread(self._node.make_standby, folder, through=port)
        standby = copied.start_again(log=folder.with_name(f"{folder.name}.log"))
        await asyncio.to_thread(standby.wait, 60.0)
        return standby

    async def wait_for_standby(self) -> None:
        """From now on a commit is answered once the standby has it on its disk, too.

        Only where there is a standby that follows: every commit would wait for one.
        """
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute("alter system set synchronous_standby_names = '*'")
            await connection.execute("select pg_reload_conf()")
            async with asyncio.timeout(30):
                while not await connection.fetchval(  # noqa: ASYNC110  (no event tells of it)
                    "select exists (select from pg_stat_replication where sync_state = 'sync')"
                ):
                    await asyncio.sleep(0.05)
        finally:
            await connection.close()

    async def come_back(self, *, after: postgres.PostgresNode) -> None:
        """Starts this server, which was killed, as a standby of the one that has replaced it: so tools let an old primary in.

        Where it has commits that the other one lacks, it cannot follow, and goes on answering and refusing writes.
        """
        address = (
            f"host={ports.LOOPBACK} port={after.port} user={postgres.SUPERUSER} password={after.password}"
        )
        with (self._node.folder / "postgresql.conf").open("a") as conf:
            conf.write(f"primary_conninfo = '{address}'\n")
        (self._node.folder / "standby.signal").touch()
        await self.start()

    async def standby_follows(self) -> bool:
        """Whether a standby has replayed what is committed by now."""
        connection = await asyncpg.connect(self.url)
        try:
            return bool(
                await connection.fetchval(
                    "select exists (select from pg_stat_replication where replay_lsn >= pg_current_wal_lsn())"
                )
            )
        finally:
            await connection.close()

    async def replace_by(self, standby: postgres.PostgresNode) -> None:
        """Gives the address of this server, which was killed, to its standby, and makes that take writes."""
        await asyncio.to_thread(standby.child.stop, signal.SIGINT, grace=_STOP_SECONDS)
        lost, self._node = self._node, standby.take_over(self._node.port)
        await self.start()
        await self.promote()
        postgres.discard(lost.link)

    def fill_disk(self) -> int:
        """Leaves no byte free on its disk; returns how many that took."""
        filled = 0
        with self._filler.open("wb", buffering=0) as filler:
            for size in (1 << 20, 4096):
                with suppress(OSError):
                    while True:
                        filled += filler.write(bytes(size))
        return filled

    def free_disk(self) -> None:
        self._filler.unlink(missing_ok=True)

    @property
    def _filler(self) -> Path:
        assert self._disk is not None, "it has no disk of its own"
        return self._disk / "filler"

    def close(self) -> None:
        """Ends it and removes its data."""
        self._node.stop()
        if self._disk is not None:
            subprocess.run(["umount", "--lazy", str(self._disk)], check=False, capture_output=True)
            self._disk.rmdir()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def why_no_small_disk() -> str | None:
    """Why this machine cannot give a server a small disk of its own; None if it can."""
    if os.geteuid() != 0:
        return "only root may mount a small disk to fill"
    if shutil.which("mount") is None:
        return "there is no `mount` to make a small disk with"
    probe = subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True)
    return None if probe.returncode == 0 else "this root may not mount a small disk to fill (a container?)"


def _mounted(size: int) -> Path:
    """A disk in memory, where the user that PostgreSQL runs as may pass through."""
    folder = tempfile.mkdtemp(prefix="brand-engine-disk-", dir="/var/tmp")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0711", "tmpfs", folder], check=True)
    return Path(folder)


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        return [int(child) for child in tasks.read_text().split()]
    except OSError:
        return []


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
