"""The two services as processes of this machine, and a customer."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Self
from uuid import UUID, uuid4

import httpx

from brandctl.local import ports, services
from brandctl.local.processes import ChildProcess

NAMES: Final = ("orders", "payments")
CATALOGUE: Final = "shop.catalogue"
_KEY: Final = "a-key-for-this-machine-only"


def declare_topology(rabbitmq_url: str, environment: Mapping[str, str] | None = None) -> None:
    """Declares the topology, as an operator does once for each version of the catalogue."""
    command = [sys.executable, "-m", "messaging", "topology", CATALOGUE]
    environment = {**os.environ, **(environment or {}), "RABBITMQ_URL": rabbitmq_url}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command


class ShopProcesses:
    """Runs both services on an existing broker and databases; `stop` ends them."""

    def __init__(
        self,
        rabbitmq_url: str,
        database_urls: Mapping[str, str],
        smtp_server: str,
        logs: Path,
        free_port: Callable[[], int] = ports.free_port,
    ) -> None:
        self._addresses = services.ServiceAddresses({name: free_port() for name in NAMES})
        self._environments = {
            name: {
                **os.environ,
                "RABBITMQ_URL": rabbitmq_url,
                "DATABASE_URL": database_urls[name],
                "HTTP_PORT": str(self._addresses.port_of[name]),
                "SMTP_SERVER": smtp_server,
                "RETRY_BASE_SECONDS": "1",
            }
            for name in NAMES
        }
        self._environments["orders"]["SERVICE_KEY"] = _KEY  # which alone has an API
        self._logs = logs
        self._children: dict[str, ChildProcess] = {}

    def start(self, *names: str) -> None:
        """Starts services and waits until they are ready."""
        for name in names:
            self._children[name] = services.start(name, self._environments[name], self._logs)
        services.wait_until_ready([self._children[name] for name in names], self._addresses)

    def kill(self, name: str) -> None:
        """As the kernel does when memory runs out: no signal handler, no goodbye."""
        self._children[name].process.kill()
        self._children[name].process.wait()

    def stop(self) -> None:
        services.stop(list(self._children.values()))

    def customer(self) -> "Customer":
        return Customer(self._addresses.url("orders"), _KEY)


class Customer:
    def __init__(self, url: str, service_key: str) -> None:
        headers = {"X-Service-Key": service_key}
        # Idle connections are closed here first, before the service can close one under a request.
        limits = httpx.Limits(keepalive_expiry=2)
        self._client = httpx.AsyncClient(
            base_url=url, headers=headers, timeout=30, limits=limits, trust_env=False
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def place(self, card: str = "good", cents: int = 4200, order_id: UUID | None = None) -> UUID:
        order_id = order_id or uuid4()
        form = {"email": "customer@example.org", "cents": cents, "card": card}
        (await self._client.put(f"/orders/{order_id}", json=form)).raise_for_status()
        return order_id

    async def state(self, order_id: UUID) -> str:
        return str((await self._client.get(f"/orders/{order_id}")).raise_for_status().json())

    async def states(self, order_ids: Sequence[UUID]) -> list[str]:
        return list(await asyncio.gather(*map(self.state, order_ids)))
