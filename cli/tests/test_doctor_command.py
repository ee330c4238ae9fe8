"""`brandctl doctor` as a process of its own, with a real orchestrator, broker and database; the other services are away."""

import aio_pika
import pytest

from brandctl.local import broker_users
from envelope.brand import CATALOGUE
from messaging.topology import describe
from tests.fixtures.commands.brandctl import Operator

QUEUE = "research-commands"


@pytest.fixture
def operator(lone_orchestrator: Operator) -> Operator:
    return lone_orchestrator.of("doctor")


async def test_the_services_and_the_administrator_look_at_the_servers(
    operator: Operator, rabbitmq_url: str, rabbitmq_api_url: str
) -> None:
    plain = await operator()
    assert plain.code == 1
    assert all(name in plain.err for name in ("research", "publisher", "social", "monitor"))
    assert "delivery limits" in plain.err
    heading, *lines = plain.out.splitlines()
    assert heading == "of\tstatus\tprobe\tfound\twhat to do"
    assert {line.split("\t")[0] for line in lines} == {"orchestrator"}
    assert {line.split("\t")[1] for line in lines} == {"ok"}

    vhost = broker_users.vhost_of(rabbitmq_url)
    sound = await operator("--api-url", rabbitmq_api_url, "--vhost", vhost, "--json")
    assert {each["status"] for each in sound.json()["findings"]} == {"ok"}
    assert {each["service"] for each in sound.json()["findings"]} == {"orchestrator", "broker"}
    assert "failed" not in sound.err

    arguments = next(queue.arguments for queue in describe(CATALOGUE).queues if queue.name == QUEUE)
    async with await aio_pika.connect(rabbitmq_url) as connection, connection.channel() as channel:
        await channel.queue_delete(QUEUE)
        await channel.declare_queue(QUEUE, durable=True, arguments=arguments | {"x-delivery-limit": 7})
    wrong = await operator("--api-url", rabbitmq_api_url, "--vhost", vhost)
    failed = [line.split("\t") for line in wrong.out.splitlines() if "\tfailed\t" in line]
    assert [line[:3] for line in failed] == [["broker", "failed", "queue_arguments"]]
    assert f"{QUEUE} has x-delivery-limit 7 instead of 50" in failed[0][3]
    assert (wrong.code, "1 probe failed" in wrong.err) == (1, True)


async def test_an_address_that_is_none_is_refused(operator: Operator) -> None:
    refused = await operator("--api-url", "broker")
    assert (refused.code, "http://user:password@host:15672" in refused.err) == (1, True)
