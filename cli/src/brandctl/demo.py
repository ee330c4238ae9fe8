"""Runs the whole system on one machine: starts it, publishes articles, stops and removes it."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import asyncpg
from rich.console import Console

from brandctl import progress, signals
from brandctl.access import ServiceAccess
from brandctl.gateway.client import GatewayClient
from brandctl.local import broker_users, databases, model, postgres, processes, rabbitmq, services
from brandctl.local.folder import LocalFolder
from brandctl.orchestrator.client import BrandForm, CycleKeywords, OrchestratorClient
from brandctl.terminal import say
from chassis import addresses, secret_files
from envelope.brand import CATALOGUE
from messaging.settings import BROKER_EXAMPLE, BROKER_SCHEMES
from messaging.topology.users import UsersError
from messaging.topology_upgrade import apply_topology

_POLL_SECONDS: Final = 0.4
_WATCH_SECONDS: Final = 2.0
_TOY: Final = "A toy of 135 million parameters writes now: most of what it writes is dropped by the checks."


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """The options of the demo.

    Args:
        brand: name; None: the sample brand.
        keywords: empty: those of the sample brand.
        corpus: folder of documents.
        sample: JSON file of the sample brand.
        folder: `.local`.
        model: whether a small local model also writes, for a second brand.
        ends: whether the demo ends once every keyword has ended.
        patience: seconds for all keywords together, if `ends`.
        started: UNIX time at which the command began.
    """

    brand: str | None
    keywords: tuple[str, ...]
    corpus: Path
    sample: Path
    folder: Path
    model: bool
    ends: bool
    patience: float
    started: float


@dataclass(frozen=True, slots=True)
class DemoStack:
    """The running services and their addresses."""

    addresses: services.ServiceAddresses
    service_key: str
    children: tuple[processes.ChildProcess, ...]


def run(options: DemoOptions, console: Console) -> bool:
    """Runs the demo; returns whether every keyword ended well, and whether the small model's keyword ended, if it writes.

    Raises:
        FolderInUseError, NotInstalledError, PortTakenError, StartError, ServiceError, OSError: the demo cannot run; the message says why.
        Interrupted: a signal ended it; all processes that it started are gone by then.
    """
    brand, keywords = _input(options)
    folder = LocalFolder(options.folder)
    with signals.raised(), folder.held():
        (folder.root / "demo.json").unlink(missing_ok=True)
        if left := folder.clean():
            say(console, f"Ended what an earlier run left behind: {', '.join(left)}", "yellow")
        try:
            with _stack(folder, options, console) as stack:
                cycle = _pipeline(stack, brand, keywords, options, console)
                progress.show_links(console, brand.slug, cycle, stack.addresses)
                written = _by_model(stack, brand, keywords[0], options, console) if options.model else None
                told = report_of(cycle, time.time() - options.started, written)
                report = folder.write_json("demo.json", told)
                _hints(console, folder, report)
                if not options.ends:
                    _stay(stack, console)
        finally:
            folder.forget()
        return all(keyword.ended_well for keyword in cycle.keywords) and (written is None or written.ended)


def report_of(cycle: CycleKeywords, seconds: float, by_model: CycleKeywords | None = None) -> dict[str, Any]:
    """The content of `demo.json`."""
    report = {"correlation_id": cycle.correlation_id, "seconds": round(seconds, 1), "keywords": _ends(cycle)}
    if by_model is not None:
        report["by_model"] = {"correlation_id": by_model.correlation_id, "keywords": _ends(by_model)}
    return report


def _ends(cycle: CycleKeywords) -> list[dict[str, Any]]:
    return [
        {
            "keyword": keyword.keyword,
            "state": keyword.state,
            "reason": keyword.reason,
            "published_url": keyword.published_url,
            "posts": [post.url for post in keyword.posts],
        }
        for keyword in cycle.keywords
    ]


def _input(options: DemoOptions) -> tuple[BrandForm, tuple[str, ...]]:
    sample = json.loads(options.sample.read_text())
    if options.brand in {None, sample["slug"]}:
        brand = BrandForm(sample["slug"], sample["name"], sample["description"])
    else:
        slug = str(options.brand)
        brand = BrandForm(slug, slug.replace("-", " ").title(), "")
    return brand, options.keywords or tuple(sample["keywords"])


@contextmanager
def _stack(folder: LocalFolder, options: DemoOptions, console: Console) -> Iterator[DemoStack]:
    """Starts servers and services, yields them when they are ready, and stops them afterwards."""
    with ExitStack() as cleanup:
        try:
            yield _bring_up(folder, options, console, cleanup)
        finally:
            # Stopping takes a few seconds; a second Ctrl-C must not break it off.
            signals.ignore()
            say(console, "Stopping")


def _bring_up(folder: LocalFolder, options: DemoOptions, console: Console, cleanup: ExitStack) -> DemoStack:
    writing = _model(folder, cleanup) if options.model else None
    addresses = services.choose_addresses()
    service_key = secret_files.read(os.environ, "SERVICE_KEY") or folder.derive("service key")
    broker = _rabbitmq(folder, cleanup)
    own = _databases(folder, cleanup)
    say(console, "Preparing the databases")
    services.migrate({name: database.migration for name, database in own.items()})
    say(console, "Waiting for RabbitMQ")
    broker.wait()
    asyncio.run(
        apply_topology(broker.url, CATALOGUE, api_url=broker.api, say=lambda line: say(console, line))
    )
    broker_urls = _broker_users(broker, folder, console)
    environments = {
        name: services.environment(
            name,
            addresses=addresses,
            rabbitmq_url=broker_urls.get(name),
            database_url=own[name].runtime_url,
            service_key=service_key,
            corpus=options.corpus,
            gateway_keys=folder.gateway_keys(),
        )
        for name in services.PROCESSES
    }
    if writing:
        environments["orchestrator"] |= {"MODEL_URL": f"{addresses.url('gateway')}/v1", **model.PATIENCE}
    say(console, "Starting the services")
    children: list[processes.ChildProcess] = []
    cleanup.callback(services.stop, children)
    for name in services.PROCESSES:
        children.append(services.start(name, environments[name], folder.logs))
        folder.remember(children[-1])
    services.wait_until_ready(children, addresses)
    if writing:
        writing.wait()
        children.append(writing.child)
        with GatewayClient(ServiceAccess(addresses.url("gateway"), service_key)) as gateway:
            gateway.call("PUT", f"/providers/{model.ACCOUNT}", writing.account)
    folder.announce({name: addresses.url(name) for name in services.PROCESSES}, service_key)
    return DemoStack(addresses, service_key, tuple(children))


def _model(folder: LocalFolder, cleanup: ExitStack) -> model.LocalModel:
    if os.environ.get("POSTGRES_URL"):
        # A shared database would outlive the model, and may have another model under its name.
        raise processes.StartError("the small model takes a private PostgreSQL: unset POSTGRES_URL")
    server = model.launch(Path(), log=folder.logs / "model.log")
    cleanup.callback(server.stop)
    folder.remember(server.child)
    return server


@dataclass(frozen=True, slots=True)
class _DemoBroker:
    url: str
    """With an administrator's credentials."""
    api: str | None
    """The management API, with an administrator's credentials; None if there is none."""
    wait: Callable[[], None]


def _given(variable: str, schemes: Collection[str], example: str) -> str | None:
    """The URL of a server to use instead of a private one, with an administrator's credentials; None if unset."""
    try:
        return addresses.given(os.environ, variable, schemes=schemes, example=example)
    except ValueError as error:
        raise processes.StartError(str(error)) from None


def _rabbitmq(folder: LocalFolder, cleanup: ExitStack) -> _DemoBroker:
    if given := _given("RABBITMQ_URL", BROKER_SCHEMES, BROKER_EXAMPLE):
        # Never guessed: another broker may listen at the usual port of that host.
        return _DemoBroker(given, secret_files.read(os.environ, "RABBITMQ_API_URL"), wait=lambda: None)
    node = rabbitmq.launch(
        folder.run / "rabbitmq",
        port=services.choose_port("RABBITMQ_PORT"),
        management=True,
        management_port=services.choose_port("RABBITMQ_MANAGEMENT_PORT"),
        log=folder.logs / "rabbitmq.log",
    )
    cleanup.callback(node.stop)
    folder.remember(node.child, node.name_server)
    return _DemoBroker(node.url, node.management_url, node.wait)


def _broker_users(broker: _DemoBroker, folder: LocalFolder, console: Console) -> dict[str, str]:
    """Service → broker URL with a user of its own; without a management API, all share one URL."""
    if broker.api is None:
        say(
            console,
            "All services use RABBITMQ_URL; with RABBITMQ_API_URL each gets a user of its own",
            "yellow",
        )
        return dict.fromkeys(services.NAMES, broker.url)
    names = {service: f"brand_{service}" for service in services.NAMES}
    try:
        return broker_users.create(
            broker.url, broker.api, names, lambda user: folder.derive(f"broker user {user}")
        )
    except UsersError as error:
        raise processes.StartError(f"cannot make the broker's users: {error}") from error


def _databases(folder: LocalFolder, cleanup: ExitStack) -> dict[str, databases.Database]:
    """Service → its own database."""
    server = _given(
        "POSTGRES_URL", {"postgresql", "postgres"}, "postgresql://user:password@host:5432/postgres"
    )
    private = not server
    if not server:
        node = postgres.launch(
            folder.run / "postgres",
            port=services.choose_port("POSTGRES_PORT"),
            log=folder.logs / "postgres.log",
        )
        cleanup.callback(node.stop)
        folder.remember(node.child)
        node.wait()
        server = node.url
    names = {service: f"brand_{service}" for service in services.PROCESSES}
    try:
        made = databases.create(server, list(names.values()), folder.derive, private=private)
    except (asyncpg.PostgresError, OSError) as error:
        where = f"{urlsplit(server).hostname}:{urlsplit(server).port or 5432}"
        raise processes.StartError(f"cannot prepare the databases on {where}: {error}") from error
    return {service: made[name] for service, name in names.items()}


def _pipeline(
    stack: DemoStack, brand: BrandForm, keywords: tuple[str, ...], options: DemoOptions, console: Console
) -> CycleKeywords:
    """Submits the keywords and follows them until they have ended, or for `patience` seconds if the demo ends by itself."""
    say(console, f"{brand.name}: {len(keywords)} keyword{'s' if len(keywords) > 1 else ''}")
    died = _DeathWatcher(stack, console)
    with OrchestratorClient(ServiceAccess(stack.addresses.url("orchestrator"), stack.service_key)) as api:
        api.put_brand(brand)
        cycle_id = api.submit(brand.slug, keywords)
        deadline = time.monotonic() + options.patience
        with progress.ProgressView(console) as view:
            while True:
                cycle = api.cycle(cycle_id)
                view.show(cycle)
                if cycle.ended or died.report():
                    return cycle
                if options.ends and time.monotonic() > deadline:
                    say(console, f"Not every keyword ended within {options.patience:.0f} s", "red")
                    return cycle
                time.sleep(_POLL_SECONDS)


def _by_model(
    stack: DemoStack, brand: BrandForm, keyword: str, options: DemoOptions, console: Console
) -> CycleKeywords:
    """Submits the first keyword again, for a brand that the small model writes for; an article takes it minutes."""
    say(console, "")
    say(console, _TOY, "bold")
    second = replace(brand, slug=f"{brand.slug}-model", name=f"{brand.name}, by a model", writer="model")
    cycle = _pipeline(stack, second, (keyword,), options, console)
    progress.show_links(console, second.slug, cycle, stack.addresses)
    return cycle


def _hints(console: Console, folder: LocalFolder, report: Path) -> None:
    say(console, "")
    say(console, f"Report: {report}")
    say(console, f"Logs: {folder.logs}/")
    say(console, f"Addresses and service key, for a shell: . {folder.settings}")


def _stay(stack: DemoStack, console: Console) -> None:
    say(console, "Everything stays up until Ctrl-C.", "bold")
    died = _DeathWatcher(stack, console)
    try:
        while True:
            died.report()
            time.sleep(_WATCH_SECONDS)
    except signals.Interrupted:
        return


class _DeathWatcher:
    """Reports each service that ended unexpectedly, once."""

    def __init__(self, stack: DemoStack, console: Console) -> None:
        self._watched = list(stack.children)
        self._console = console

    def report(self) -> bool:
        """Reports services that died since the last call; returns whether there are any."""
        dead = [child for child in self._watched if not child.running]
        for child in dead:
            self._watched.remove(child)
            say(
                self._console,
                f"{child.name} died with code {child.process.returncode}. The end of {child.log}:",
                "red",
            )
            say(self._console, child.log_tail())
        return bool(dead)
