"""The services' own users at the broker of a local run."""

from pathlib import Path

import aio_pika
import httpx
import pytest
from rich.console import Console

from brandctl.local import broker_users, processes, services, stack
from brandctl.local.folder import LocalFolder
from messaging.topology.users import Credentials


@pytest.mark.parametrize(
    ("url", "vhost", "other"),
    [
        ("amqp://root:secret@broker:5672/%2F", "/", "amqp://brand_a:p%2F%40@broker:5672/%2F"),
        ("amqp://broker", "/", "amqp://brand_a:p%2F%40@broker"),
        ("amqps://root:a%40b@[::1]/my%20host?x=1", "my host", "amqps://brand_a:p%2F%40@[::1]/my%20host?x=1"),
    ],
)
def test_the_url_of_another_user_differs_in_nothing_else(url: str, vhost: str, other: str) -> None:
    assert broker_users.vhost_of(url) == vhost
    assert broker_users.url_of(url, Credentials("brand_a", "p/@")) == other


async def test_users_made_again_keep_their_urls_and_work(
    rabbitmq_url: str, rabbitmq_api_url: str, rabbitmq_api: httpx.Client
) -> None:
    user = f"{broker_users.vhost_of(rabbitmq_url)}-one"
    try:
        for _ in range(2):
            urls = broker_users.create(
                rabbitmq_url, rabbitmq_api_url, {"social": user}, lambda name: f"of {name}"
            )
            async with await aio_pika.connect(urls["social"]) as connection, connection.channel() as channel:
                await channel.get_queue("social-commands")
    finally:
        rabbitmq_api.delete(f"/api/users/{user}")


def bring_up(monkeypatch: pytest.MonkeyPatch, folder: LocalFolder, **variables: str) -> dict[str, str]:
    for name in ("RABBITMQ_URL", "RABBITMQ_API_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    local = stack.LocalStack.stopped(folder, Console(quiet=True))
    return stack.create_broker_users(stack.find_broker(local), local)


def test_somebody_elses_broker_is_used_as_it_is_where_no_management_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = "amqp://me:secret@broker.example/mine"
    urls = bring_up(monkeypatch, LocalFolder(tmp_path), RABBITMQ_URL=url)
    assert urls == dict.fromkeys(services.NAMES, url)


def test_a_management_that_is_named_and_does_not_answer_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free_port
) -> None:
    api = f"http://me:secret@127.0.0.1:{free_port()}"
    with pytest.raises(processes.StartError, match=r"cannot make the broker's users: .*cannot be reached"):
        bring_up(monkeypatch, LocalFolder(tmp_path), RABBITMQ_URL="amqp://me:s@broker", RABBITMQ_API_URL=api)
