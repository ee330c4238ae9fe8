"""Three brokers that are one, behind a load balancer that knows nothing of AMQP."""

import asyncio
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote, urlsplit

import httpx

from chassis.testing import TcpProxy, eventually
from faults.surroundings.nodes import RabbitMqServer

_NODES: Final = 3
# As for the cluster in deploy/kubernetes, which has the reason.
_SETTINGS: Final = {"cluster_partition_handling": "pause_minority", "net_ticktime": "6"}


class RabbitMqCluster:
    """Nodes of one RabbitMQ cluster.

    Quorum queues have a member on each node, and their leader is where they were declared: on `first`. What observes
    and submits goes to `last`, which no scenario touches, so that a fault stops only those who are under test.
    """

    def __init__(self, nodes: list[RabbitMqServer]) -> None:
        self.nodes = nodes

    @classmethod
    async def formed(cls, folder: Path, cleanup: ExitStack) -> Self:
        """New nodes below `folder`, ended and removed with `cleanup`."""
        first = RabbitMqServer(folder / "rabbitmq-1", settings=_SETTINGS)
        cleanup.callback(first.close)
        await first.ready()
        nodes = [first]
        for number in range(2, _NODES + 1):
            node = RabbitMqServer(folder / f"rabbitmq-{number}", joins=first, settings=_SETTINGS)
            cleanup.callback(node.close)
            nodes.append(node)
        for node in nodes[1:]:
            await node.ready()
        cluster = cls(nodes)
        await cluster._all_in()
        return cluster

    @property
    def first(self) -> RabbitMqServer:
        return self.nodes[0]

    @property
    def last(self) -> RabbitMqServer:
        return self.nodes[-1]

    @property
    def running(self) -> bool:
        return all(node.running for node in self.nodes)

    async def start(self) -> None:
        """Starts what has ended. All at once: a node waits for those that went down after it."""
        await asyncio.gather(*(node.start() for node in self.nodes if not node.running))

    async def leader(self, vhost: str, queue: str) -> RabbitMqServer:
        """The node that leads a quorum queue."""
        async with httpx.AsyncClient(base_url=self.last.management_url, timeout=10, trust_env=False) as api:
            answer = await api.get(f"/api/queues/{quote(vhost, safe='')}/{quote(queue, safe='')}")
            name = answer.raise_for_status().json()["leader"]
        return next(node for node in self.nodes if node.name == name)

    async def cut_off(self, node: RabbitMqServer) -> None:
        """Parts a node from the two others: their connections end, and neither side lets the other in again.

        Clients reach every node as before. Nothing is silent: a node that only stops answering is `freeze`.
        """
        await node.evaluate(
            "[begin erlang:set_cookie(Node, parted), erlang:disconnect_node(Node) end || Node <- nodes()]."
        )
        await eventually(lambda: self._is_away(node), within=30)

    async def mend(self, node: RabbitMqServer) -> None:
        """Lets a node that was cut off and the others find each other again."""
        others = ", ".join(f"'{each.name}'" for each in self.nodes if each is not node)
        await node.evaluate(f"[erlang:set_cookie(Node, erlang:get_cookie()) || Node <- [{others}]].")
        await self._all_in()

    async def is_spared(self, node: RabbitMqServer) -> bool:
        """Whether every queue keeps a majority without this node, so that it may be stopped."""
        async with httpx.AsyncClient(base_url=node.management_url, timeout=10, trust_env=False) as api:
            answer = await api.get("/api/health/checks/node-is-quorum-critical")
        return answer.status_code == httpx.codes.OK

    async def _is_away(self, node: RabbitMqServer) -> bool:
        """Whether the others have given it up."""
        nodes = await self._seen_nodes()
        return bool(nodes) and not any(each["running"] for each in nodes if each["name"] == node.name)

    async def _all_in(self) -> None:
        await eventually(self._is_complete, within=30)

    async def _is_complete(self) -> bool:
        running = [each for each in await self._seen_nodes() if each["running"]]
        return len(running) == _NODES

    async def _seen_nodes(self) -> list[dict[str, Any]]:
        """The nodes as the last one sees them; none while it cannot say, as RabbitMQ 4.3 when one has just come or gone."""
        async with httpx.AsyncClient(base_url=self.last.management_url, timeout=10, trust_env=False) as api:
            answer = await api.get("/api/nodes")
        if answer.is_server_error:
            return []
        found: list[dict[str, Any]] = answer.raise_for_status().json()
        return found


class ConnectionBalancer(TcpProxy):
    """Leads each new connection to the next node that takes it; resets it where none does."""

    def __init__(self, cluster: RabbitMqCluster) -> None:
        super().__init__("127.0.0.1", cluster.first.port)
        self._ports = [node.port for node in cluster.nodes]
        self._turns = cycle(range(len(self._ports)))

    async def _reach_target(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        turn = next(self._turns)
        for port in self._ports[turn:] + self._ports[:turn]:
            try:
                return await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                continue
        raise ConnectionRefusedError("no node takes connections")

    def url(self, direct: str) -> str:
        """The address of a node, led through the balancer."""
        parts = urlsplit(direct)
        return parts._replace(netloc=f"{parts.username}:{parts.password}@127.0.0.1:{self.port}").geturl()
