"""A backup in the midst of work, the servers' disks lost, a restore: every keyword ends once, and nothing else is there."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import aio_pika
import asyncpg
import pytest

from brandctl.local import postgres, rabbitmq, services
from chassis.database import grants
from chassis.testing import eventually
from envelope.brand import CATALOGUE
from faults.judging.history import CommandHistory
from faults.playing.stack import ServiceStack
from messaging import topology
from messaging.storage.migrations import migrate
from messaging.topology import work_queues

pytestmark = pytest.mark.extended

ROOT = Path(__file__).parents[2]
PASSWORD = "a-password-for-tests-only"
OVERDUE = {"STALL_AFTER_HOURS": "0.0001"}
"""The restored orchestrator finds every keyword on its way overdue, as it would with the backup of yesterday."""


class Machine:
    """A broker, a database server with the databases of the services, and a `docker` that takes them for containers.

    To the stack of the fault tests it is the world that it works in.
    """

    def __init__(self, folder: Path, cleanup: ExitStack) -> None:
        self.folder = folder
        self.history = CommandHistory()
        self.servers = self
        self._cleanup = cleanup
        self.broker = rabbitmq.launch(folder / "rabbitmq")
        cleanup.callback(self._stop_broker)
        self._broker_data = self.broker.folder / "data"
        self._settings = folder / "settings.env"
        example = (ROOT / ".env.example").read_text().splitlines()
        self._settings.write_text(
            "\n".join(line + PASSWORD if line.endswith("=") else line for line in example)
        )

    def _stop_broker(self) -> None:
        self.broker.stop()

    async def start(self) -> None:
        await self._start_database("postgres")
        self.run(
            "docker", "compose", "--project-name", "-", "--env-file", "-", "run", "--rm", "-T", "databases"
        )
        await self._broker_ready()

    async def _start_database(self, name: str) -> None:
        self.database = postgres.launch(self.folder / name, durable=False)
        self._cleanup.callback(self.database.stop)
        await asyncio.to_thread(self.database.wait)
        connection = await asyncpg.connect(self.database.url)
        await connection.execute(f"create role postgres superuser login password '{PASSWORD}'")
        await connection.close()

    async def _broker_ready(self) -> None:
        await asyncio.to_thread(self.broker.wait)
        await topology.declare(self.rabbitmq_url, CATALOGUE)

    @property
    def rabbitmq_url(self) -> str:
        return self.broker.url

    def database_url(self, service: str, suffix: str = "_runtime") -> str:
        address = f"{service}{suffix}:{PASSWORD}@127.0.0.1:{self.database.port}"
        return urlsplit(self.database.url)._replace(netloc=address, path=f"/{service}").geturl()

    async def create_database(self, service: str) -> str:
        """As the stack asks for it; the roles and the database are there already."""
        await migrate(self.database_url(service, suffix=""), [service], runtime_role=f"{service}_runtime")
        return self.database_url(service)

    async def add_tables(self, url: str, sql: str) -> None:
        service = urlsplit(url).path.removeprefix("/")
        connection = await asyncpg.connect(self.database_url(service, suffix=""))
        # What counts is what is there. Here every keyword on its way is overdue, and what publishes or promotes it is asked
        # once more by a new command: that is answered from the page and the post that are there, after an insert in vain.
        await connection.execute(sql.replace("before insert", "after insert"))
        await grants.grant(connection, f"{service}_runtime")
        await connection.close()

    async def lose_every_disk(self) -> None:
        """What takes their place is a new database server, and a broker of the same name that has never run."""
        self.broker.child.stop()
        shutil.rmtree(self._broker_data)
        self._broker_data.mkdir()
        self.database.stop()
        await self._start_database("another-postgres")

    async def start_broker_again(self) -> None:
        self.broker = self.broker.start_again(log=self.folder / "another-rabbitmq.log")
        await self._broker_ready()

    def run(self, *command: object, **pids: int) -> None:
        """Runs a command that finds the pretended docker; to it, these processes are containers."""
        binaries = self.folder / "bin"
        binaries.mkdir(exist_ok=True)
        docker = binaries / "docker"
        pretended = Path(__file__).with_name("pretended_docker.py").read_text()
        docker.write_text(f"#!{sys.executable}\n{pretended}")
        docker.chmod(0o755)
        passwords = {
            f"{name.upper()}_{kind}_PASSWORD": PASSWORD
            for name in services.PROCESSES
            for kind in ("DATABASE", "RUNTIME")
        }
        address = {"PGHOST": "127.0.0.1", "PGPORT": str(self.database.port)}
        described = {
            "pids": pids
            | {"rabbitmq": self.broker.child.process.pid, "postgres": self.database.child.process.pid},
            "postgres": {"PGUSER": "postgres", "PGPASSWORD": PASSWORD, **address, **passwords},
            "rabbitmq_data": str(self._broker_data),
        }
        (binaries / "machine.json").write_text(json.dumps(described))
        done = subprocess.run(
            list(map(str, command)),
            cwd=ROOT,
            env=os.environ
            | {"PATH": f"{binaries}:{postgres.find_binaries()}:{os.environ['PATH']}"}
            | {"ENV_FILE": str(self._settings), "COMPOSE_PROJECT_NAME": "pretended", "MINIMAL": "1"}
            | {"BACKUP_RECORD_FOLDER": str(self._settings.parent / "backup-record")}
            # Nobody listens on port 0, so whatever runs on this machine is in nobody's way.
            | {
                f"{name}_PORT": "0"
                for name in (*(name.upper() for name in services.PROCESSES), "RABBITMQ_UI")
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    # The user that PostgreSQL runs as must get to its data.
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o711)
    with ExitStack() as cleanup:
        machine = Machine(tmp_path, cleanup)
        await machine.start()
        yield machine


async def test_a_restored_backup_has_lost_nothing_and_doubles_nothing(machine: Machine) -> None:
    backup = machine.folder / "backup"
    async with ServiceStack.running(machine) as stack:
        # Who gets no answer asks again, through the backup and the restore.
        async with stack.load(10):
            await eventually(lambda: posted(stack, 5))
            # What is meant for a service that is down must be among what is kept.
            await asyncio.to_thread(services.stop, [stack.children["social"]])
            await eventually(lambda: messages_in_queues(machine))
            pids = {name: child.process.pid for name, child in stack.children.items()}
            await asyncio.to_thread(machine.run, ROOT / "deploy/compose/backup.sh", backup, **pids)
            services.stop(list(stack.children.values()))
            before = len(stack.accepted)
            await machine.lose_every_disk()
            await asyncio.to_thread(machine.run, ROOT / "deploy/compose/restore.sh", backup)
            await machine.start_broker_again()
            machine.history.fault("messages in the queues", await messages_in_queues(machine))
            for name in services.NAMES:
                url = await machine.create_database(
                    name
                )  # migrated, as `make up` does at the end of a restore
                stack.environments[name] |= {"DATABASE_URL": url, **OVERDUE}
                stack.start(name)
            await stack.ready()
            await eventually(lambda: len(stack.accepted) > before)
        outcome = await stack.outcome(("messages in the queues",))
        assert outcome.violations == ()
        assert outcome.dead_letters == 0
        await eventually(lambda: every_keyword_is_completed(machine))


async def posted(stack: ServiceStack, count: int) -> bool:
    return await stack.posted() >= count


async def messages_in_queues(machine: Machine) -> int:
    connection = await aio_pika.connect(machine.rabbitmq_url)
    async with connection, connection.channel() as channel:
        queues = [await channel.declare_queue(name, passive=True) for name in work_queues(CATALOGUE)]
        return sum(queue.declaration_result.message_count or 0 for queue in queues)


async def every_keyword_is_completed(machine: Machine) -> bool:
    """By the orchestrator's own account, which follows the last post."""
    connection = await asyncpg.connect(machine.database_url("orchestrator"))
    rows = await connection.fetch("select distinct state from keywords")
    await connection.close()
    return [row["state"] for row in rows] == ["completed"]
