"""An outage of the broker leaves no forgotten open connection behind, and no lines of the client library."""

import asyncio
import gc
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final

import aio_pika
import pytest

from chassis.tasks import cancel_all
from chassis.testing import eventually
from envelope.brand import CATALOGUE
from messaging import Service, ServiceSettings
from messaging.broker.publisher import Publisher


@pytest.mark.extended
async def test_an_attempt_to_connect_that_failed_leaves_no_connection_to_be_closed(
    free_port: Callable[[], int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL", "aiormq")  # what pytest keeps of a line holds the connection
    collected: list[bool] = []
    port = free_port()

    def note(connection: aio_pika.Connection) -> None:
        if connection.url.port == port:  # others are those of tests before
            collected.append(connection.is_closed)

    monkeypatch.setattr(aio_pika.Connection, "__del__", note)
    url = f"amqp://user:password@127.0.0.1:{port}/"
    values = {
        "rabbitmq_url": url,
        "database_url": "postgresql://nowhere",
        "service_key": "a-key-for-tests-only",
    }
    service = Service("research", ServiceSettings.model_validate(values), CATALOGUE)
    trying = [
        asyncio.create_task(each) for each in (Publisher(url, name="test").run(), service._connect_broker())
    ]

    await eventually(lambda: gc.collect() >= 0 and len(collected) >= 6)
    await cancel_all(trying)

    assert all(collected)


_OUTAGE: Final = """
import asyncio, sys
from chassis.observing import logs
from messaging.broker.publisher import Publisher

async def wait_in_vain():
    try:
        async with asyncio.timeout(3):
            await Publisher(sys.argv[1], name="test").run()
    except TimeoutError:
        pass

logs.configure("test", sys.argv[2])
asyncio.run(wait_in_vain())
"""


@pytest.mark.extended
@pytest.mark.parametrize(("level", "library_speaks"), [("info", False), ("debug", True)])
def test_an_outage_is_told_in_our_words_once_for_each_attempt(
    free_port: Callable[[], int], level: str, *, library_speaks: bool
) -> None:
    url = f"amqp://user:password@127.0.0.1:{free_port()}/"
    ended = subprocess.run(
        [sys.executable, "-c", _OUTAGE, url, level], capture_output=True, text=True, check=True, timeout=60
    )
    lines: list[dict[str, Any]] = [json.loads(line) for line in ended.stdout.splitlines()]
    of_libraries = {line["logger"] for line in lines if line["logger"].startswith(("aio_pika", "aiormq"))}
    assert bool(of_libraries) is library_speaks
    assert {line["event"] for line in lines if line["logger"].startswith("messaging")} == {
        "broker_unavailable"
    }
    assert not ended.stderr
