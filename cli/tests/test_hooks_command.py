"""`brandctl hooks` as processes of their own, beside the API of `events`."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.testing import serving
from envelope.brand import CATALOGUE
from events.http_api import create_api
from events.live.follower import EventFollower
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from tests.fixtures.commands.brandctl import Operator

KEY = "test-service-key-0123456789"


@pytest.fixture
async def run(make_database: Callable[[str], Awaitable[str]], tmp_path: Path) -> AsyncIterator[Operator]:
    connections = Connections(await make_database("events"), name="events test", size=4)
    await connections.open()
    relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
    database = Database(connections, relay, "events", CATALOGUE)
    # Nothing here watches live.
    follower = EventFollower(Connections("postgresql://nobody@127.0.0.1:1/none", name="none", size=1), most=0)
    async with serving(create_api(database, ServiceKey(SecretStr(KEY)), follower)) as url:
        yield Operator(tmp_path, {"EVENTS_URL": url, "SERVICE_KEY": KEY})
    await connections.close()


async def test_a_hook_is_made_used_renewed_and_removed(run: Operator) -> None:
    nothing = await run("hooks", "list", "acme")
    made = await run(
        *("hooks", "add", "acme", "cms", "--kind", "path", "--keyword", "/title", "--keyword", "tea"),
        *("--when", "/action=published", "--when", "/count=2"),
    )
    secret = made.out.strip()
    again = await run("hooks", "add", "acme", "cms", "--kind", "path", "--data", '{"keywords": ["oat"]}')
    shown = await run("hooks", "show", "acme", "cms", "--json")
    listed = await run("hooks", "list", "acme")
    async with httpx.AsyncClient(base_url=run.variables["EVENTS_URL"], trust_env=False) as sender:
        taken = await sender.post(f"/v1/hooks/acme.cms/{secret}", json={})
        refused = await sender.post("/v1/hooks/acme.cms/wrong", json={})
    arrivals = await run("hooks", "arrivals", "acme", "cms")
    renewed = await run("hooks", "rotate", "acme", "cms", "--grace-hours", "1")
    removed = await run("hooks", "remove", "acme", "cms", "--yes")
    gone = await run("hooks", "show", "acme", "cms")

    assert (nothing.code, "there is no incoming webhook" in nothing.err) == (0, True)
    assert (made.code, "/v1/hooks/acme.cms/SECRET" in made.err, secret in made.err) == (0, True, False)
    assert (again.code, again.out, "its secret stays" in again.err) == (0, "", True)
    assert json.loads(shown.out)["command"]["data"] == {"keywords": ["oat"]}
    assert listed.out.splitlines()[1].split("\t")[:4] == ["cms", "path", "cycle.start", "/v1/hooks/acme.cms"]
    assert (taken.status_code, refused.status_code) == (202, 403)
    assert arrivals.out.splitlines()[1].split("\t")[1:3] == ["refused", "signature_invalid"]
    assert arrivals.out.splitlines()[2].split("\t")[1] == "waiting"
    assert (renewed.code, renewed.out.strip() not in {"", secret}) == (0, True)
    assert (removed.code, gone.code) == (0, 1)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--data", "{"), "not valid JSON"),
        (("--data", "{}", "--keyword", "tea"), "--keyword or --data"),
        (("--when", "/action"), "/place=value"),
    ],
)
async def test_what_is_mistyped_is_told_before_anything_is_asked(
    run: Operator, given: tuple[str, ...], told: str
) -> None:
    answer = await run("hooks", "add", "acme", "cms", *given)
    assert (answer.code, told in answer.err) == (2, True)
