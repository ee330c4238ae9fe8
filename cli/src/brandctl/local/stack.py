"""The servers and services of a local run: started in order, and stopped together."""

import asyncio
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

import asyncpg
from rich.console import Console

from brandctl import signals
from brandctl.local import broker_users, databases, postgres, processes, rabbitmq, services
from brandctl.local.folder import LocalFolder
from brandctl.terminal import say
from chassis import addresses as given_addresses
from chassis import secret_files
from envelope.brand import CATALOGUE
from messaging.settings import BROKER_EXAMPLE, BROKER_SCHEMES
from messaging.topology.users import UsersError
from messaging.topology_upgrade import apply_topology

_READY_WITHIN_SECONDS: Final = 600.0
"""Of a server: after a crash it goes through its log first, which may be long."""
Overlay = Callable[[services.ServiceAddresses], Mapping[str, dict[str, str]]]
"""Service → variables that win over those of a local run."""


@dataclass(slots=True)
class LocalStack:
    """Servers and services with their addresses. `children` are the processes: the services, and others started for the run."""

    folder: LocalFolder
    console: Console
    addresses: services.ServiceAddresses
    service_key: str
    broker: rabbitmq.RabbitNode | None = None
    """None if RABBITMQ_URL names one."""
    database: postgres.PostgresNode | None = None
    """None if POSTGRES_URL names one."""
    environments: dict[str, dict[str, str]] = field(default_factory=dict)
    children: list[processes.ChildProcess] = field(default_factory=list)

    @classmethod
    def stopped(cls, folder: LocalFolder, console: Console) -> Self:
        """A stopped stack that will start no service."""
        return cls(folder, console, services.ServiceAddresses({}), "")

    def start_database(self) -> str:
        """Starts PostgreSQL, with the data that the folder keeps, and waits for it; returns an administrator's URL.

        Raises:
            NotInstalledError, PortTakenError, StartError: it cannot run.
        """
        data, log = self.folder.run / "postgres", self.folder.logs / "postgres.log"
        port, password = (
            self.folder.choose_port("POSTGRES_PORT"),
            self.folder.derive("postgres administrator"),
        )
        if data.exists():
            self.database = postgres.go_on(data, port=port, password=password, log=log)
        else:
            self.database = postgres.launch(data, port=port, password=password, log=log)
        self.folder.remember(self.database.child)
        self.database.wait(within=_READY_WITHIN_SECONDS)
        return self.database.url

    def launch_broker(self) -> rabbitmq.RabbitNode:
        """Starts RabbitMQ, with the data that the folder keeps, without waiting for it.

        Raises:
            NotInstalledError, PortTakenError: it cannot run.
        """
        self.broker = rabbitmq.launch(
            self.folder.run / "rabbitmq",
            port=self.folder.choose_port("RABBITMQ_PORT"),
            management=True,
            management_port=self.folder.choose_port("RABBITMQ_MANAGEMENT_PORT"),
            log=self.folder.logs / "rabbitmq.log",
            password=self.folder.derive("rabbitmq administrator"),
        )
        self.folder.remember(self.broker.child, self.broker.name_server)
        return self.broker

    def start_broker(self) -> None:
        """Starts RabbitMQ and waits for it.

        Raises:
            NotInstalledError, PortTakenError, StartError: it cannot run.
        """
        self.launch_broker().wait(within=_READY_WITHIN_SECONDS)

    def start_services(self) -> None:
        """Starts the services and waits until they are ready.

        Raises:
            StartError: one did not come up.
        """
        for name in services.PROCESSES:
            self.start_service(name)
        services.wait_until_ready(self.children, self.addresses)

    def start_service(self, name: str) -> None:
        """Starts a service, without waiting for it; it takes the place of one that ended."""
        self.children = [child for child in self.children if child.name != name]
        self.children.append(
            services.start(name, self.environments[name], self.folder.logs, keep_log=self.folder.keeps)
        )
        self.folder.remember(self.children[-1])

    def stop_services(self) -> None:
        services.stop(self.children)
        self.children.clear()

    def stop_broker(self) -> None:
        if self.broker:
            self.broker.stop(remove=not self.folder.keeps)

    def stop(self) -> None:
        """Stops everything, and removes the data of the servers unless they are kept."""
        self.stop_services()
        if self.database:
            self.database.stop(remove=not self.folder.keeps)
        self.stop_broker()


@contextmanager
def started(
    folder: LocalFolder, corpus: Path, console: Console, overlay: Overlay = lambda _: {}
) -> Iterator[LocalStack]:
    """Starts servers and services, yields them when they are ready, and stops them afterwards.

    Raises:
        NotInstalledError, PortTakenError, StartError: something cannot run; the message says why.
    """
    addresses = services.choose_addresses(folder.choose_port)
    service_key = secret_files.read(os.environ, "SERVICE_KEY") or folder.derive("service key")
    stack = LocalStack(folder, console, addresses, service_key)
    try:
        _start(stack, corpus, overlay(addresses))
        yield stack
    finally:
        # Stopping takes a few seconds; a second Ctrl-C must not break it off.
        signals.ignore()
        say(console, "Stopping")
        stack.stop()


def _start(stack: LocalStack, corpus: Path, overlay: Mapping[str, dict[str, str]]) -> None:
    folder, console = stack.folder, stack.console
    broker = find_broker(stack)
    own = create_databases(stack)
    say(console, "Preparing the databases")
    services.migrate({name: database.migration for name, database in own.items()})
    say(console, "Waiting for RabbitMQ")
    broker.wait()
    asyncio.run(
        apply_topology(broker.url, CATALOGUE, api_url=broker.api, say=lambda line: say(console, line))
    )
    broker_urls = create_broker_users(broker, stack)
    folder.begin()
    stack.environments = {
        name: services.environment(
            name,
            addresses=stack.addresses,
            rabbitmq_url=broker_urls.get(name),
            database_url=own[name].runtime_url,
            service_key=stack.service_key,
            corpus=corpus,
            gateway_keys=folder.gateway_keys(),
            broker_api=broker.api,
        )
        | overlay.get(name, {})
        for name in services.PROCESSES
    }
    say(console, "Starting the services")
    stack.start_services()
    of_broker = {"RABBITMQ_PASSWORD": stack.broker.password} if stack.broker and folder.keeps else {}
    urls = {name: stack.addresses.url(name) for name in services.PROCESSES}
    folder.announce(urls, stack.service_key, **of_broker)


@dataclass(frozen=True, slots=True)
class LocalBroker:
    """A broker with an administrator's credentials: a private one, or the one that RABBITMQ_URL names."""

    url: str
    api: str | None
    """The management API; None if there is none."""
    wait: Callable[[], None]


def _given(variable: str, schemes: Collection[str], example: str) -> str | None:
    """The URL of a server to use instead of a private one, with an administrator's credentials; None if unset."""
    try:
        return given_addresses.given(os.environ, variable, schemes=schemes, example=example)
    except ValueError as error:
        raise processes.StartError(str(error)) from None


def find_broker(stack: LocalStack) -> LocalBroker:
    """Starts a private broker unless RABBITMQ_URL names one, without waiting for it.

    Raises:
        NotInstalledError, PortTakenError, StartError: there is no broker to use.
    """
    if given := _given("RABBITMQ_URL", BROKER_SCHEMES, BROKER_EXAMPLE):
        # Never guessed: another broker may listen at the usual port of that host.
        return LocalBroker(given, secret_files.read(os.environ, "RABBITMQ_API_URL"), wait=lambda: None)
    node = stack.launch_broker()
    return LocalBroker(node.url, node.management_url, wait=partial(node.wait, within=_READY_WITHIN_SECONDS))


def create_broker_users(broker: LocalBroker, stack: LocalStack) -> dict[str, str]:
    """Service → broker URL with a user of its own; without a management API, all share one URL."""
    if broker.api is None:
        say(
            stack.console,
            "All services use RABBITMQ_URL; with RABBITMQ_API_URL each gets a user of its own",
            "yellow",
        )
        return dict.fromkeys(services.NAMES, broker.url)
    names = {service: f"brand_{service}" for service in services.NAMES}
    try:
        return broker_users.create(
            broker.url, broker.api, names, lambda user: stack.folder.derive(f"broker user {user}")
        )
    except UsersError as error:
        raise processes.StartError(f"cannot make the broker's users: {error}") from error


def database_of(service: str) -> str:
    """The name of a service's database."""
    return f"brand_{service}"


def create_databases(stack: LocalStack) -> dict[str, databases.Database]:
    """Service → its own database, on a private server unless POSTGRES_URL names one.

    Raises:
        NotInstalledError, PortTakenError, StartError: there are no databases to use.
    """
    given = _given(
        "POSTGRES_URL", {"postgresql", "postgres"}, "postgresql://user:password@host:5432/postgres"
    )
    server = given or stack.start_database()
    names = {service: database_of(service) for service in services.PROCESSES}
    try:
        made = databases.create(server, list(names.values()), stack.folder.derive, private=given is None)
    except (asyncpg.PostgresError, OSError) as error:
        where = f"{urlsplit(server).hostname}:{urlsplit(server).port or 5432}"
        raise processes.StartError(f"cannot prepare the databases on {where}: {error}") from error
    return {service: made[name] for service, name in names.items()}
