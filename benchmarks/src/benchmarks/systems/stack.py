"""The five real services on a fresh place, with the built-in site and feed, and a corpus written for the purpose."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.accounting import MEGABYTE, resident_bytes
from benchmarks.servers.nodes import RUNTIME_ROLE, Nodes
from brandctl.local import processes
from brandctl.local import services as local
from envelope.brand import CATALOGUE
from messaging import topology

_REST_SECONDS: Final = 2.0
"""For what a service does in the background once it is up."""
KEY: Final = "a-key-for-benchmarks-only"

_CORPUS: Final = Path(__file__).parents[4] / "deploy" / "demo" / "corpus"

KEYWORDS: Final = (
    "cold brew", "dark roast", "espresso", "extraction", "french press", "grind size", "moka pot", "paper filter",
    "pour-over coffee", "water quality for coffee",
)  # fmt: skip
"""What the corpus has enough to say about for articles that do not repeat each other; every brand asks for all of them."""


@dataclass(frozen=True, slots=True)
class Stack:
    """The services as processes, ready."""

    addresses: local.Addresses
    rabbitmq_url: str
    children: dict[str, processes.Child]
    environments: Mapping[str, Mapping[str, str]]
    folder: Path

    @property
    def pids(self) -> list[int]:
        return [child.process.pid for child in self.children.values()]

    def database_url(self, service: str) -> str:
        return self.environments[service]["DATABASE_URL"]

    def rss_at_rest(self) -> dict[str, float]:
        """MB of each service that has handled nothing yet."""
        time.sleep(_REST_SECONDS)
        return {
            name: round(resident_bytes(child.process.pid) / MEGABYTE, 1)
            for name, child in self.children.items()
        }

    def replace_killed(self, service: str) -> None:
        """Kills a service as the kernel does when memory runs out, and starts it again."""
        self.children[service].process.kill()
        self.children[service].process.wait()
        self.children[service] = local.start(service, self.environments[service], self.folder)


@contextmanager
def stack(nodes: Nodes) -> Iterator[Stack]:
    with ExitStack() as cleanup:
        place = cleanup.enter_context(nodes.place())
        asyncio.run(topology.declare(place.rabbitmq_url, CATALOGUE))
        databases = {name: cleanup.enter_context(nodes.database()) for name in local.NAMES}
        addresses = local.choose_addresses()
        environments = {
            name: local.environment(
                name,
                addresses=addresses,
                rabbitmq_url=place.rabbitmq_url,
                database_url=nodes.runtime_url(databases[name]),
                service_key=KEY,
                corpus=_CORPUS,
            )
            for name in local.NAMES
        }
        local.migrate(
            {
                name: {"DATABASE_URL": url, "DATABASE_RUNTIME_ROLE": RUNTIME_ROLE}
                for name, url in databases.items()
            }
        )
        children: dict[str, processes.Child] = {}
        cleanup.callback(lambda: local.stop(list(children.values())))
        for name, environment in environments.items():
            children[name] = local.start(name, environment, nodes.folder)
        local.wait_until_ready(list(children.values()), addresses)
        yield Stack(addresses, place.rabbitmq_url, children, environments, nodes.folder)
