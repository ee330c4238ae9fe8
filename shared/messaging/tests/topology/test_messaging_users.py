"""`python -m messaging users` on a real broker: makes, renews, leaves others alone, and says what is wrong."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import aio_pika
import httpx
import pytest

from envelope.brand import CATALOGUE, SERVICES
from messaging.testing import Broker
from messaging.topology import permissions, users
from messaging.topology.users import Credentials, UsersError

PASSWORDS = {f"{service.upper()}_BROKER_PASSWORD": secrets.token_urlsafe(18) for service in SERVICES}


def run(**environment: str) -> "subprocess.CompletedProcess[str]":
    ours = {"RABBITMQ_API_URL", "RABBITMQ_VHOST", *PASSWORDS}
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    return subprocess.run(
        [sys.executable, "-m", "messaging", "users", "envelope.brand"],
        env=inherited | environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def vhost_of(url: str) -> str:
    return url.rpartition("/")[2]


def of_user(url: str, service: str, password: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=f"{service}:{password}@{parts.hostname}:{parts.port}").geturl()


@pytest.fixture
def users_to_be(rabbitmq_api: httpx.Client) -> Iterator[None]:
    """The names of the five users are free before the test, and again afterwards."""
    taken = {user["name"] for user in rabbitmq_api.get("/api/users").json()} & set(SERVICES)
    if taken:
        pytest.skip(f"the broker has users {', '.join(sorted(taken))}: they are in use by somebody else")
    yield
    for service in SERVICES:
        rabbitmq_api.delete(f"/api/users/{service}")


def granted(rabbitmq_api: httpx.Client, vhost: str, user: str) -> tuple[dict[str, str], dict[str, str]]:
    """A user's rights on a vhost: configure, write and read, and the routing keys by exchange."""
    plain = rabbitmq_api.get(f"/api/permissions/{vhost}/{user}").json()
    topics = rabbitmq_api.get(f"/api/topic-permissions/{vhost}/{user}").json()
    assert all(each["read"] == "^$" for each in topics)
    return (
        {name: plain[name] for name in ("configure", "write", "read")},
        {each["exchange"]: each["write"] for each in topics},
    )


@pytest.mark.extended
@pytest.mark.usefixtures("users_to_be")
async def test_users_are_made_and_renewed(
    rabbitmq_url: str, rabbitmq_api_url: str, rabbitmq_api: httpx.Client
) -> None:
    vhost = vhost_of(rabbitmq_url)
    environment = {"RABBITMQ_API_URL": rabbitmq_api_url, "RABBITMQ_VHOST": vhost, **PASSWORDS}
    first = run(**environment)
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == "renewed the users orchestrator, research, publisher, social, monitor, events\n"
    for service in SERVICES:
        allowed = permissions.service_permissions(CATALOGUE, service)
        expected = {"configure": allowed.configure, "write": allowed.write, "read": allowed.read}
        assert granted(rabbitmq_api, vhost, service) == (expected, allowed.topics)
        assert not rabbitmq_api.get(f"/api/users/{service}").json()["tags"]

    # Somebody has given one of them too much; the passwords are changed.
    everything = {"configure": ".*", "write": ".*", "read": ".*"}
    rabbitmq_api.put(f"/api/permissions/{vhost}/social", json=everything).raise_for_status()
    too_much = {"exchange": "commands", "write": ".*", "read": ".*"}
    rabbitmq_api.put(f"/api/topic-permissions/{vhost}/social", json=too_much).raise_for_status()
    body = {"password": "p", "tags": "administrator"}
    rabbitmq_api.put("/api/users/social", json=body).raise_for_status()
    renewed = {name: f"{password} &/:@ é" for name, password in PASSWORDS.items()}
    assert run(**(environment | renewed)).returncode == 0
    allowed = permissions.service_permissions(CATALOGUE, "social")
    expected = {"configure": allowed.configure, "write": allowed.write, "read": allowed.read}
    assert granted(rabbitmq_api, vhost, "social") == (expected, allowed.topics)
    assert not rabbitmq_api.get("/api/users/social").json()["tags"]

    with pytest.raises(aio_pika.exceptions.AMQPError):
        await aio_pika.connect(
            of_user(rabbitmq_url, "social", PASSWORDS["SOCIAL_BROKER_PASSWORD"]), timeout=60
        )
    password = httpx.URL("http://host", password=renewed["SOCIAL_BROKER_PASSWORD"]).userinfo.decode()[1:]
    async with Broker.connected(of_user(rabbitmq_url, "social", password)) as broker:
        assert await broker.depth("social-commands") == 0


@pytest.mark.usefixtures("users_to_be")
async def test_what_is_not_ours_stays_as_it_is(
    rabbitmq_url: str, rabbitmq_api_url: str, rabbitmq_api: httpx.Client, make_vhost
) -> None:
    vhost, elsewhere = vhost_of(rabbitmq_url), vhost_of(await make_vhost(topology=False))
    stranger = f"stranger-{vhost}"
    rights = {"configure": "^a$", "write": "^b$", "read": "^c$"}
    topic = {"exchange": "commands", "write": "^d$", "read": "^$"}
    # RabbitMQ 4.3 takes no rights to exchanges that are not there.
    rabbitmq_api.put(
        f"/api/exchanges/{elsewhere}/commands", json={"type": "topic", "durable": True}
    ).raise_for_status()
    for user, place in ((stranger, vhost), ("research", elsewhere)):
        rabbitmq_api.put(
            f"/api/users/{user}", json={"password": "p", "tags": "monitoring"}
        ).raise_for_status()
        rabbitmq_api.put(f"/api/permissions/{place}/{user}", json=rights).raise_for_status()
        rabbitmq_api.put(f"/api/topic-permissions/{place}/{user}", json=topic).raise_for_status()
    try:
        done = run(RABBITMQ_API_URL=rabbitmq_api_url, RABBITMQ_VHOST=vhost, **PASSWORDS)
        assert done.returncode == 0, done.stderr
        assert granted(rabbitmq_api, vhost, stranger) == (rights, {"commands": "^d$"})
        assert granted(rabbitmq_api, elsewhere, "research") == (rights, {"commands": "^d$"})
        assert "monitoring" in rabbitmq_api.get(f"/api/users/{stranger}").json()["tags"]
    finally:
        rabbitmq_api.delete(f"/api/users/{stranger}")


def test_what_is_missing_is_named() -> None:
    done = run(RESEARCH_BROKER_PASSWORD="p")
    assert done.returncode == 1
    assert done.stderr.startswith(
        "cannot renew the users: not set: EVENTS_BROKER_PASSWORD, MONITOR_BROKER_PASSWORD, ORCHESTRATOR_BROKER_PASSWORD, "
    )
    assert "RABBITMQ_API_URL" in done.stderr
    assert "RESEARCH_BROKER_PASSWORD" not in done.stderr


@pytest.mark.parametrize(
    "url", ["broker:15672", "amqp://u:p@broker:5672", "http://broker:15672", "http://u:p@b:port"]
)
def test_an_address_that_is_none_is_refused_without_telling_the_password(url: str) -> None:
    with pytest.raises(UsersError, match=r"http://user:password@host:15672") as refused:
        users.renew(CATALOGUE, url, "/", {})
    assert "u:p@" not in str(refused.value)


def test_a_broker_that_is_away_is_named(free_port) -> None:
    port = free_port()
    with pytest.raises(UsersError, match=rf"127\.0\.0\.1:{port} cannot be reached: .*refused"):
        users.renew(CATALOGUE, f"http://user:secret@127.0.0.1:{port}", "/", {})


async def test_a_vhost_that_is_not_there_is_named_and_nothing_is_made(
    rabbitmq_api_url: str, rabbitmq_api: httpx.Client
) -> None:
    user = f"new-{secrets.token_hex(4)}"
    with pytest.raises(UsersError, match=r"no vhost 'nowhere/at all'"):
        users.renew(CATALOGUE, rabbitmq_api_url, "nowhere/at all", {"research": Credentials(user, "p")})
    assert rabbitmq_api.get(f"/api/users/{user}").status_code == httpx.codes.NOT_FOUND


@pytest.mark.parametrize("tags", ["", "monitoring"])
async def test_whoever_is_no_administrator_is_refused(
    rabbitmq_url: str, rabbitmq_api_url: str, rabbitmq_api: httpx.Client, tags: str
) -> None:
    user, vhost = f"new-{secrets.token_hex(4)}", vhost_of(rabbitmq_url)
    rabbitmq_api.put(f"/api/users/{user}", json={"password": "secret", "tags": tags}).raise_for_status()
    everything = {"configure": ".*", "write": ".*", "read": ".*"}
    rabbitmq_api.put(f"/api/permissions/{vhost}/{user}", json=everything).raise_for_status()
    parts: Any = urlsplit(rabbitmq_api_url)
    try:
        for password in ("secret", "wrong"):
            url = parts._replace(netloc=f"{user}:{password}@{parts.hostname}:{parts.port}").geturl()
            with pytest.raises(UsersError, match=f"refuses {user}: .*must be an administrator") as refused:
                users.renew(CATALOGUE, url, vhost, {"research": Credentials(f"{user}-research", "p")})
            assert password not in str(refused.value).replace("password", "")
        assert rabbitmq_api.get(f"/api/users/{user}-research").status_code == httpx.codes.NOT_FOUND
    finally:
        rabbitmq_api.delete(f"/api/users/{user}")
