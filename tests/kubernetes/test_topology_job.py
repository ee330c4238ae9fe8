"""The Job of the development overlay, run against a real broker: topology, users, the autoscaler's user."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import aio_pika
import httpx
import pytest

from brandctl.local import rabbitmq
from envelope.brand import CATALOGUE, SERVICES
from manifests.cluster import Cluster, environment
from messaging import topology
from messaging.topology import permissions


@pytest.fixture
def node(tmp_path: Path) -> Iterator[rabbitmq.RabbitNode]:
    """A broker of its own: the Job makes users, and those are the same on all vhosts."""
    node = rabbitmq.launch(tmp_path / "rabbitmq", management=True)
    try:
        node.wait()
        yield node
    finally:
        node.stop()


def run(cluster: Cluster, node: rabbitmq.RabbitNode) -> None:
    """The Job's containers, one after the other, with the variables of the manifest."""
    assert node.management_url is not None
    hosts = {"rabbitmq:5672": node.url, "rabbitmq:15672": node.management_url}
    secrets = {"rabbitmq-administrator": {"username": rabbitmq.USER, "password": node.password}}
    (job,) = [each for each in cluster.workloads if str(each) == "Job/topology"]
    for container in job.containers:
        values: dict[str, str] = {}
        for name, value in environment(container).items():
            if isinstance(value, str):
                for known, given in values.items():
                    value = value.replace(f"$({known})", given)  # noqa: PLW2901
                for host, url in hosts.items():
                    value = value.replace(host, urlsplit(url).netloc.rpartition("@")[2])  # noqa: PLW2901
                values[name] = value
            else:
                secret, key = value["secretKeyRef"]["name"], value["secretKeyRef"]["key"]
                values[name] = secrets.get(secret, {}).get(key, f"a-{secret}-{key}")
        program, *arguments = container["command"]
        assert program == "python"
        subprocess.run(
            [sys.executable, *arguments], check=True, timeout=60, env={"PATH": os.environ["PATH"], **values}
        )


@pytest.mark.extended
async def test_topology_and_users_are_there_afterwards(overlay, node: rabbitmq.RabbitNode) -> None:
    cluster = Cluster("dev", overlay("dev"))
    run(cluster, node)
    # Safe to repeat.
    run(cluster, node)
    address = f"{urlsplit(node.url).hostname}:{node.port}"
    for service in SERVICES:
        connection = await aio_pika.connect(f"amqp://{service}:a-{service}-broker-password@{address}/%2F")
        async with connection, connection.channel() as channel:
            for queue in permissions.service_permissions(CATALOGUE, service).queues:
                await channel.get_queue(queue, ensure=True)
    keda = httpx.Client(
        base_url=f"http://{urlsplit(node.management_url or '').netloc.rpartition('@')[2]}",
        auth=("keda", "a-keda-broker-password"),
        timeout=60,
    )
    with keda:
        for queue in topology.describe(CATALOGUE).queues:
            assert keda.get(f"/api/queues/%2F/{queue.name}").status_code == httpx.codes.OK
        assert keda.delete("/api/queues/%2F/orchestrator-events").status_code >= httpx.codes.BAD_REQUEST
        assert keda.get("/api/users").status_code == httpx.codes.UNAUTHORIZED
