"""Providers' keys: sealed in the database, never given back, rotated while requests go on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr, ValidationError
from starlette.responses import JSONResponse

from chassis import redaction
from chassis.testing import eventually, running, serving
from gateway.app import GatewayApp
from gateway.credentials import Keyring
from gateway.problems import CallProblemError
from gateway.settings import Settings
from tests.fixtures.commands.brandctl import Operator
from tests.fixtures.providers import FakeBrave

KEY = "test-service-key-0123456789"
FIRST, SECOND = "brave-key-first-0123456789", "brave-key-second-0123456789"


def new_key() -> str:
    return Fernet.generate_key().decode()


@pytest.fixture
async def url(make_database: Callable[[str], Awaitable[str]]) -> str:
    return await make_database("gateway")


@pytest.fixture
def keys_file(tmp_path: Path) -> Path:
    file = tmp_path / "gateway-keys"
    file.write_text(new_key())
    return file


@pytest.fixture
async def replicas(url: str, keys_file: Path) -> AsyncIterator[tuple[GatewayApp, GatewayApp]]:
    def settings() -> Settings:
        given: dict[str, Any] = {
            "database_url": url,
            "service_key": KEY,
            "http_port": 0,
            "gateway_keys": keys_file.read_text(),
            "gateway_keys_file": keys_file,
        }
        return Settings.model_validate(given)

    async with running(GatewayApp(settings())) as one, running(GatewayApp(settings())) as other:
        yield one, other


def put_first(file: Path, key: str) -> None:
    file.write_text(f"{key}\n{file.read_text()}")


def put_alone(file: Path, key: str) -> None:
    file.write_text(key)


def client(gateway: GatewayApp) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{gateway.port}",
        headers={"X-Service-Key": KEY},
        trust_env=False,
        timeout=60,
    )


def brave_at(url: str, key: str | None = FIRST) -> dict[str, Any]:
    settings = {"url": url, "per_minute": 60_000, "together": 1000, "at_once": 100}
    return {"kind": "brave", "settings": settings} | ({} if key is None else {"key": key})


def test_the_first_key_seals_and_all_open() -> None:
    old, new = new_key(), new_key()
    sealed = Keyring(SecretStr(old)).seal("brave", "a secret")
    both = Keyring(SecretStr(f"{new},\n{old}"))
    assert b"a secret" not in sealed
    assert both.open("brave", sealed).get_secret_value() == "a secret"
    anew = both.reseal("brave", sealed)
    assert Keyring(SecretStr(new)).open("brave", anew).get_secret_value() == "a secret"
    for keyring, name, what in (
        (Keyring(SecretStr(old)), "brave", anew),
        (both, "another name", anew),
        (both, "brave", anew[:-3]),
    ):
        with pytest.raises(CallProblemError, match=r"credentials\.sealed"):
            keyring.open(name, what)
    with pytest.raises(CallProblemError, match=r"credentials\.no_keys"):
        Keyring(None).seal("brave", "a secret")


def test_a_key_of_another_kind_is_refused_at_start_without_being_quoted() -> None:
    for wrong in ("not-a-key-at-all", f"{new_key()},short"):
        with pytest.raises(ValidationError, match="32 bytes in base64") as raised:
            Settings.model_validate(
                {"database_url": "postgresql://a:b@c/d", "service_key": KEY, "gateway_keys": wrong}
            )
        assert wrong not in str(raised.value)


def test_a_half_written_file_changes_nothing(keys_file: Path) -> None:
    keyring = Keyring(None, keys_file)
    sealed = keyring.seal("brave", "a secret")
    good = keys_file.read_text()
    keys_file.write_text(good[:10])
    assert keyring.open("brave", sealed).get_secret_value() == "a secret"
    keys_file.write_text(f"{new_key()} {good}")
    assert keyring.open("brave", sealed).get_secret_value() == "a secret"
    with pytest.raises(CallProblemError, match=r"credentials\.sealed"):
        Keyring(SecretStr(good)).open("brave", keyring.seal("brave", "a secret"))


async def test_a_key_goes_in_and_never_comes_back(replicas: tuple[GatewayApp, GatewayApp], url: str) -> None:
    async with client(replicas[0]) as api, serving(FakeBrave({FIRST})) as brave_url:
        assert (await api.put("/v1/providers/brave", json=brave_at(brave_url))).status_code == 204
        listed = await api.get("/v1/providers")
        (told,) = listed.json()["items"]
        assert (told["name"], told["has_key"], told["key_end"]) == ("brave", True, FIRST[-4:])
        assert told["key_set_at"] is not None
        for path in ("/v1/providers", "/v1/spend", "/openapi.json", "/metrics"):
            assert FIRST not in (await api.get(path)).text
        # A short key would be guessed from its end.
        await api.put("/v1/providers/brave", json=brave_at(brave_url, "short-key"))
        assert (await api.get("/v1/providers")).json()["items"][0]["key_end"] is None
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch("select * from providers")
    finally:
        await connection.close()
    assert "short-key" not in str(rows)


async def test_a_key_is_hidden_where_a_provider_quotes_it(replicas: tuple[GatewayApp, GatewayApp]) -> None:
    brave = FakeBrave({FIRST})
    async with client(replicas[0]) as api, serving(brave) as url:
        await api.put("/v1/providers/brave", json=brave_at(url))
        error = {"code": "VALIDATION", "detail": f"The token {FIRST} is odd"}
        brave.next_answers = [JSONResponse({"error": error}, 400), JSONResponse({"oops": FIRST}, 500)]
        for query in ("a", "b"):
            refused = await api.post("/v1/search", json={"query": query, "brand": "acme"})
            assert (refused.status_code >= 400, FIRST in refused.text) == (True, False)
        ledger = await api.get("/v1/spend/calls")
        assert FIRST not in ledger.text
    assert redaction.text(f"it was {FIRST}") == "it was ***"


async def test_a_key_that_is_known_is_not_sent_elsewhere(replicas: tuple[GatewayApp, GatewayApp]) -> None:
    async with client(replicas[0]) as api, serving(FakeBrave({FIRST})) as url:
        await api.put("/v1/providers/brave", json=brave_at(url))
        cheaper = brave_at(url, None)
        cheaper["settings"]["price"] = "0.003"
        assert (await api.put("/v1/providers/brave", json=cheaper)).status_code == 204
        (told,) = (await api.get("/v1/providers")).json()["items"]
        assert (told["settings"]["price"], told["has_key"]) == ("0.003", True)
        stolen = await api.put("/v1/providers/brave", json=brave_at("http://127.0.0.1:9", None))
        assert (stolen.status_code, stolen.json()["type"]) == (422, "credentials.key_missing")
        assert (await api.get("/v1/providers")).json()["items"][0]["settings"]["url"] == url


async def test_what_cannot_be_connected_is_refused_in_words(replicas: tuple[GatewayApp, GatewayApp]) -> None:
    async with client(replicas[0]) as api:
        for wrong, word in (
            ({"kind": "nobody"}, "kind"),
            ({"kind": "searxng", "settings": {}}, "settings.url"),
            ({"kind": "brave", "settings": {"price": -1}}, "settings.price"),
            ({"kind": "brave", "settings": {"prize": 1}}, "settings.prize"),
            ({"kind": "brave", "key": "two\nlines"}, "visible ASCII"),
        ):
            refused = await api.put("/v1/providers/brave", json=wrong)
            assert (refused.status_code, word in refused.json()["detail"]) == (422, True), refused.text
            assert "lines" not in refused.text
        assert (await api.delete("/v1/providers/brave")).status_code == 404


@pytest.mark.extended
async def test_rotating_both_kinds_of_keys_under_load_fails_nothing(
    replicas: tuple[GatewayApp, GatewayApp], keys_file: Path
) -> None:
    brave = FakeBrave({FIRST})
    rotated = asyncio.Event()
    answers: list[httpx.Response] = []

    async with client(replicas[0]) as one, client(replicas[1]) as other, serving(brave) as url:
        await one.put("/v1/providers/brave", json=brave_at(url))

        async def load(worker: int) -> None:
            api, number = (one, other)[worker % 2], 0
            while not rotated.is_set():
                body = {"query": f"question {worker} {number}", "brand": "acme", "count": 1}
                answers.append(await api.post("/v1/search", json=body))
                number += 1

        await one.put("/v1/spend/caps/*", json={"day": 1000, "month": 1000})
        await one.put("/v1/spend/caps/acme", json={"day": 1000, "month": 1000})
        workers = [asyncio.create_task(load(worker)) for worker in range(6)]

        async def some_more() -> None:
            seen = len(answers)
            await eventually(lambda: len(answers) > seen + 20)

        await some_more()
        # The encryption key: the new one first, sealed anew, the old one taken away.
        new = new_key()
        put_first(keys_file, new)
        await some_more()
        assert (await other.post("/v1/providers/rotate")).json() == {"sealed_anew": 1}
        put_alone(keys_file, new)
        await some_more()
        # The provider's key: it takes the old one no longer at the moment when it makes the new one.
        brave.keys = {FIRST, SECOND}
        assert (await one.put("/v1/providers/brave", json=brave_at(url, SECOND))).status_code == 204
        brave.keys = {SECOND}
        await some_more()
        rotated.set()
        await asyncio.gather(*workers)
    assert {answer.status_code for answer in answers} == {200}
    assert {request.headers["X-Subscription-Token"] for request in brave.requests} == {FIRST, SECOND}


@pytest.mark.extended
async def test_an_operator_connects_lists_and_disconnects(
    replicas: tuple[GatewayApp, GatewayApp], tmp_path: Path, keys_file: Path
) -> None:
    address = f"http://127.0.0.1:{replicas[0].port}"
    operator = Operator(tmp_path, {"GATEWAY_URL": address, "SERVICE_KEY": KEY}, "providers")

    async def brandctl(*arguments: str, given: bytes = b"") -> tuple[int, str]:
        ended = await operator(*arguments, typed=given.decode())
        return ended.code, ended.told

    assert (await brandctl("list"))[0] == 1
    code, told = await brandctl("connect", "brave", "--price", "0.003", given=FIRST.encode() + b"\n")
    assert (code, FIRST in told) == (0, False), told
    keys_file.with_name("model-key").write_text(SECOND)
    code, told = await brandctl(
        "connect", "model", "--name", "drafts", "--url", "https://api.openai.com/v1", "--model", "a-model",
        "--read-price", "0.25", "--written-price", "2", "--api-key-file", str(keys_file.with_name("model-key")),
    )  # fmt: skip
    assert code == 0, told
    assert (await brandctl("connect", "searxng", "--url", "http://searx.example:8080", "--no-key"))[0] == 0
    _, listed = await brandctl("list")
    assert f"brave\tbrave\thttps://api.search.brave.com\t…{FIRST[-4:]}\t" in listed
    assert f"drafts\tmodel\thttps://api.openai.com/v1\t…{SECOND[-4:]}\t" in listed
    assert "searxng\tsearxng\thttp://searx.example:8080\tnone\t" in listed
    assert (await brandctl("rotate"))[1] == "2 keys are sealed with the first of GATEWAY_KEYS\n"
    # What nobody names stays as it is.
    assert (await brandctl("connect", "brave", "--keep-key", "--per-minute", "30"))[0] == 0
    async with client(replicas[0]) as api:
        brave = (await api.get("/v1/providers")).json()["items"][0]
    assert (brave["settings"]["per_minute"], brave["settings"]["price"], brave["has_key"]) == (
        30,
        "0.003",
        True,
    )
    code, told = await brandctl("connect", "brave", given=b"")
    assert (code, "no key" in told) == (2, True)
    assert (await brandctl("disconnect", "drafts"))[0] == 0
    assert "drafts" not in (await brandctl("list"))[1]


async def test_the_environment_connects_what_nobody_else_has(url: str) -> None:
    given = {
        "database_url": url,
        "service_key": KEY,
        "http_port": 0,
        "gateway_keys": new_key(),
        "brave_api_key": FIRST,
        "gateway_model_url": "https://api.example.org/v1",
        "gateway_model_name": "small-1",
        "gateway_model_read_price": "0.25",
    }
    brave = FakeBrave({SECOND})
    async with (
        running(GatewayApp(Settings.model_validate(given))) as app,
        client(app) as api,
        serving(brave) as address,
    ):
        told = {each["name"]: each for each in (await api.get("/v1/providers")).json()["items"]}
        assert (told["brave"]["from_environment"], told["brave"]["key_end"]) == (True, FIRST[-4:])
        assert (told["model"]["settings"]["read_price"], told["model"]["has_key"]) == ("0.25", False)
        # An operator takes its place, and gives it back.
        await api.put("/v1/providers/brave", json=brave_at(address, SECOND))
        assert (await api.post("/v1/search", json={"query": "a", "brand": "acme"})).status_code == 200
        await api.delete("/v1/providers/brave")
        assert (await api.get("/v1/providers")).json()["items"][0]["key_end"] == FIRST[-4:]
    with pytest.raises(ValidationError, match="GATEWAY_MODEL_NAME"):
        Settings.model_validate(given | {"gateway_model_name": None})
