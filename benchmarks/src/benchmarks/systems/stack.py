"""The real services on fresh servers, with the built-in site and feed, and a generated corpus."""

import asyncio
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from benchmarks.accounting import MEGABYTE, cpu_seconds, resident_bytes
from benchmarks.servers.nodes import RUNTIME_ROLE, Nodes
from brandctl.local import processes
from brandctl.local import services as local
from envelope.brand import CATALOGUE
from messaging import topology

_REST_SECONDS: Final = 2.0
"""Time for background work after a service's start."""
KEY: Final = "a-key-for-benchmarks-only"

CORPUS: Final = Path(__file__).parents[4] / "deploy" / "demo" / "corpus"

KEYWORDS: Final = (
    "cold brew", "coffee roast levels", "espresso", "extraction", "french press", "grind size", "moka pot", "paper filter",
    "pour-over coffee", "water quality for coffee",
)  # fmt: skip
"""Topics of the corpus, each with enough text for a different article; every brand submits all of them."""


@dataclass(frozen=True, slots=True)
class Stack:
    """The services as processes, ready."""

    addresses: local.ServiceAddresses
    rabbitmq_url: str
    children: dict[str, processes.ChildProcess]
    environments: Mapping[str, Mapping[str, str]]
    folder: Path
    modules: Mapping[str, str]
    """Modules that replace a service's own."""

    @property
    def pids(self) -> list[int]:
        return [child.process.pid for child in self.children.values()]

    def cpu_by_service(self) -> dict[str, float]:
        """Processor seconds of each service so far."""
        return {name: cpu_seconds([child.process.pid]) for name, child in self.children.items()}

    def client(self, service: str) -> httpx.Client:
        """Calls the service's API with the operator's key."""
        return httpx.Client(
            base_url=self.addresses.url(service),
            headers={"X-Service-Key": KEY},
            timeout=60,
            trust_env=False,
        )

    def log_of(self, service: str) -> list[dict[str, Any]]:
        """Its log so far, line by line."""
        lines = (self.folder / f"{service}.log").read_text(errors="replace").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def database_url(self, service: str) -> str:
        return self.environments[service]["DATABASE_URL"]

    def rss_at_rest(self) -> dict[str, float]:
        """Memory of each idle service after its start, in MB."""
        time.sleep(_REST_SECONDS)
        return {
            name: round(resident_bytes(child.process.pid) / MEGABYTE, 1)
            for name, child in self.children.items()
        }

    def replace_killed(self, service: str) -> None:
        """Kills a service with SIGKILL and starts it again."""
        self.children[service].process.kill()
        self.children[service].process.wait()
        self.start(service)

    def start(self, service: str) -> None:
        module = self.modules.get(service, service)
        self.children[service] = processes.start(
            service,
            [sys.executable, "-m", module],
            log=self.folder / f"{service}.log",
            env=self.environments[service],
        )


@contextmanager
def stack(
    nodes: Nodes,
    names: Sequence[str] = local.NAMES,
    *,
    corpus: Path = CORPUS,
    modules: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
) -> Iterator[Stack]:
    """Starts services and waits until they are ready.

    Args:
        nodes: the servers.
        names: of the services, the gateway included.
        corpus: the folder that research reads.
        modules: modules that replace a service's own.
        variables: environment variables for all of them.
    """
    with ExitStack() as cleanup:
        place = cleanup.enter_context(nodes.place())
        asyncio.run(topology.declare(place.rabbitmq_url, CATALOGUE))
        databases = {name: cleanup.enter_context(nodes.database()) for name in names}
        addresses = local.choose_addresses()
        environments = {
            name: {
                **local.environment(
                    name,
                    addresses=addresses,
                    rabbitmq_url=place.rabbitmq_url if name in local.NAMES else None,
                    database_url=nodes.runtime_url(databases[name]),
                    service_key=KEY,
                    corpus=corpus,
                ),
                **(variables or {}),
            }
            for name in names
        }
        local.migrate(
            {
                name: {"DATABASE_URL": url, "DATABASE_RUNTIME_ROLE": RUNTIME_ROLE}
                for name, url in databases.items()
            }
        )
        children: dict[str, processes.ChildProcess] = {}
        cleanup.callback(lambda: local.stop(list(children.values())))
        services = Stack(addresses, place.rabbitmq_url, children, environments, nodes.folder, modules or {})
        for name in names:
            services.start(name)
        local.wait_until_ready(list(children.values()), addresses)
        yield services
