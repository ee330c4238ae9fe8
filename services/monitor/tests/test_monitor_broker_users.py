"""Users of other systems at a real broker, made over the monitor's API, and a monitor that may not make any."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import quote, urlsplit

import httpx
import pika
import pytest
from pydantic import SecretStr, ValidationError

from brandctl.local.broker_users import vhost_of
from chassis.http.service_key import ServiceKey
from chassis.testing import serving
from messaging import Database
from messaging.topology import OUTSIDE, OUTSIDE_KEY, outside
from monitor.broker_users import BrokerUsers
from monitor.dead_letters import DeadLetterOperations
from monitor.http_api import create_api
from monitor.settings import Settings

KEY = "test-service-key-0123456789"
USERS = "/v1/broker-users"
KEY_ID = "0aZ9bY8cX7dW"


@asynccontextmanager
async def asking(database: Database, users: BrokerUsers | None) -> AsyncIterator[httpx.AsyncClient]:
    app = create_api(database, DeadLetterOperations(database), ServiceKey(SecretStr(KEY)), broker_users=users)
    async with (
        serving(app) as origin,
        httpx.AsyncClient(
            base_url=origin, headers={"X-Service-Key": KEY}, trust_env=False, timeout=60
        ) as client,
    ):
        yield client


def opens(rabbitmq_url: str, user: str, password: str) -> bool:
    """Whether the broker lets the user publish to the exchange of other systems."""
    host = urlsplit(rabbitmq_url)._replace(netloc="").geturl()
    place = urlsplit(rabbitmq_url).netloc.rpartition("@")[2]
    url = pika.URLParameters(
        urlsplit(host)._replace(scheme="amqp", netloc=f"{quote(user)}:{quote(password)}@{place}").geturl()
    )
    try:
        with pika.BlockingConnection(url) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            channel.basic_publish(OUTSIDE, OUTSIDE_KEY, b"{}", pika.BasicProperties(user_id=user))
    except pika.exceptions.AMQPConnectionError:
        return False
    return True


async def test_a_user_is_added_renewed_and_removed(
    database: Database, rabbitmq_url: str, rabbitmq_api_url: str
) -> None:
    users = BrokerUsers(
        SecretStr(rabbitmq_api_url), vhost_of(rabbitmq_url), "amqps://broker.example.org:5671"
    )
    async with asking(database, users) as client:
        try:
            added = await client.post(USERS, json={"key_id": KEY_ID})
            assert added.status_code == 201, added.text
            user, password = added.json()["user"], added.json()["password"]
            assert user == f"outside-{KEY_ID}"
            assert opens(rabbitmq_url, user, password)
            again = await client.post(USERS, json={"key_id": KEY_ID})
            assert (again.status_code, again.json()["code"]) == (409, "broker_user_exists")
            listed = (await client.get(USERS)).json()
            assert {"user": user, "key_id": KEY_ID} in listed["items"]
            told = (listed["is_connected"], listed["problem"], listed["address"], listed["exchange"])
            assert told == (True, None, "amqps://broker.example.org:5671", "outside")
            renewed = await client.post(f"{USERS}/{KEY_ID}/rotate")
            assert not opens(rabbitmq_url, user, password)
            assert opens(rabbitmq_url, user, renewed.json()["password"])
            assert (await client.delete(f"{USERS}/{KEY_ID}")).json()["user"] == user
            for gone in (
                await client.delete(f"{USERS}/{KEY_ID}"),
                await client.post(f"{USERS}/{KEY_ID}/rotate"),
            ):
                assert (gone.status_code, gone.json()["code"]) == (404, "unknown_broker_user")
            log = (await client.get("/v1/audit-log")).text
            assert password not in log
            assert renewed.json()["password"] not in log
        finally:
            outside.remove(rabbitmq_api_url, KEY_ID)


async def test_a_monitor_without_the_address_or_whose_broker_is_away_says_so(database: Database) -> None:
    async with asking(database, None) as client:
        assert (await client.get(USERS)).json()["is_connected"] is False
        for answer in (
            await client.post(USERS, json={"key_id": KEY_ID}),
            await client.post(f"{USERS}/{KEY_ID}/rotate"),
            await client.delete(f"{USERS}/{KEY_ID}"),
        ):
            assert (answer.status_code, answer.json()["code"]) == (422, "broker_not_connected")
    async with asking(database, BrokerUsers(SecretStr("http://a:secret@127.0.0.1:1"), "/")) as client:
        found = (await client.get(USERS)).json()
        assert (found["is_connected"], found["items"]) == (True, [])
        assert "127.0.0.1:1" in found["problem"]
        assert "secret" not in found["problem"]
        answer = await client.post(USERS, json={"key_id": KEY_ID})
        assert (answer.status_code, answer.json()["code"]) == (503, "broker_not_asked")
        assert (await client.post(USERS, json={"key_id": "../x"})).status_code == 422


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("broker_public_url", "amqps://user:password@broker.example.org"),
        ("broker_public_url", "https://broker.example.org"),
        ("rabbitmq_api_url", "amqp://user:password@broker"),
    ],
)
def test_addresses_are_checked(name: str, value: str) -> None:
    settings = {
        "database_url": "postgresql://nobody@127.0.0.1:1/none",
        "rabbitmq_url": "amqp://nobody@127.0.0.1:1/a%2Fb",
        "service_key": KEY,
    }
    assert Settings.model_validate(settings).broker_vhost == "a/b"
    with pytest.raises(ValidationError, match=name):
        Settings.model_validate(settings | {name: value})
