"""The stack in containers, as `make up` starts it: complete, confined, traced, and robust.

Takes some minutes and a Docker engine, so it is asked for: `make test ARGS="-m compose"`.
"""

import asyncio
import json
import os
import re
import shutil
import tomllib
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import httpx
import pytest

from brandctl.local.ports import free_port
from brandctl.local.services import PROCESSES
from chassis.testing import eventually
from envelope.brand import SERVICES

pytestmark = pytest.mark.compose

ROOT = Path(__file__).parents[2]
KEYWORDS = (
    "pour-over coffee",
    "grind size",
    "water quality for coffee",
    "cold brew",
    "french press",
    "moka pot",
    "espresso",
)
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
OF_TESTS = ("chassis.testing", "messaging.testing", "receipts.testing")
SERVERS = {"rabbitmq": "rabbitmq", "postgres": "postgres"}
"""Each with the user that its process runs as."""


class Stack(Protocol):
    said: str
    environment: dict[str, str]

    def up(self, **environment: str) -> None: ...
    def script(self, name: str, *arguments: str, **environment: str) -> Any: ...
    def compose(self, *arguments: str, check: bool = True) -> Any: ...
    def docker(self, *arguments: str, check: bool = True) -> Any: ...
    def brandctl(self, *arguments: str, folder: Path = ROOT) -> Any: ...
    def containers(self, service: str) -> list[str]: ...
    def inspect(self, container: str) -> dict[str, Any]: ...
    def secrets_shown(self) -> list[str]: ...
    def url(self, name: str) -> str: ...
    def setting(self, name: str) -> str: ...
    def empty(self, *names: str) -> None: ...
    def client(self, name: str) -> httpx.AsyncClient: ...


async def submit(stack: Stack, brand: str, keywords: tuple[str, ...]) -> dict[str, Any]:
    """Hands in keywords, over and over while somebody is away: under one key they begin one cycle."""
    key = {"Idempotency-Key": str(uuid4())}

    async def accepted() -> dict[str, Any] | None:
        try:
            async with stack.client("orchestrator") as api:
                await api.put(f"/v1/brands/{brand}", json={"name": brand.title()})
                answer = await api.post(
                    f"/v1/brands/{brand}/research", json={"keywords": keywords}, headers=key
                )
        except httpx.TransportError:
            return None
        return answer.json() if answer.status_code == 202 else None

    submitted: dict[str, Any] = await eventually(accepted)
    return submitted


async def ended(stack: Stack, cycle_id: str, *, within: float = 120) -> dict[str, Any]:
    async def done() -> dict[str, Any] | None:
        try:
            async with stack.client("orchestrator") as api:
                answer = await api.get(f"/v1/cycles/{cycle_id}")
        except httpx.TransportError:
            return None
        return answer.json() if answer.status_code == 200 and answer.json()["percent"] == 100 else None

    cycle: dict[str, Any] = await eventually(done, within=within)
    return cycle


async def healthy(stack: Stack, service: str, copies: int = 1) -> None:
    """Waits for it; the health check asks every 20 seconds, of servers and tools every 30."""

    def states() -> bool:
        described = [stack.inspect(container)["State"] for container in stack.containers(service)]
        return [state.get("Health", {}).get("Status") for state in described] == ["healthy"] * copies

    await eventually(states)


def test_what_make_up_names_at_its_end_answers(stack: Stack) -> None:
    addresses = re.findall(r"http://localhost:\d+\S*", stack.said.split("Hand in")[0])
    assert len(addresses) == 10
    for address in addresses:
        answer = httpx.get(address.replace("localhost", "127.0.0.1"), timeout=60, trust_env=False)
        # Some show a page only after a login; all of them answer.
        assert answer.status_code < 500, address
    for service in SERVICES[:1]:
        assert httpx.get(f"{stack.url(service)}/health/ready", trust_env=False).status_code == 200


async def test_the_sample_keywords_run_through(stack: Stack) -> None:
    sample = json.loads((ROOT / "deploy/demo/brand.json").read_text())
    submitted = await submit(stack, sample["slug"], tuple(sample["keywords"]))
    cycle = await ended(stack, submitted["cycle_id"])
    states = {keyword["keyword"]: keyword["state"] for keyword in cycle["keywords"]}
    off_topic = "mortgage refinancing"
    assert states == {**dict.fromkeys(sample["keywords"], "completed"), off_topic: "refused"}
    async with httpx.AsyncClient(timeout=60, trust_env=False) as visitor:
        for keyword in cycle["keywords"]:
            if keyword["keyword"] != off_topic:
                assert (await visitor.get(keyword["published_url"])).status_code == 200
                (post,) = keyword["posts"]
                assert keyword["published_url"] in (await visitor.get(post["url"])).text


# -- traces ------------------------------------------------------------------------------------------------------------


def attributes(span: dict[str, Any]) -> dict[str, str]:
    return {each["key"]: each["value"].get("stringValue", "") for each in span.get("attributes", ())}


async def spans_of(stack: Stack, correlation_id: str) -> dict[str, dict[str, Any]]:
    """What Jaeger finds for a correlation id: spans by id, each with the service that made it."""
    now = datetime.now(UTC)
    query = {
        "query.serviceName": "orchestrator",
        "query.startTimeMin": (now - timedelta(hours=1)).isoformat(),
        "query.startTimeMax": (now + timedelta(minutes=1)).isoformat(),
        "query.attributes": json.dumps({"correlation_id": correlation_id}),
        "query.searchDepth": "10",
    }
    async with httpx.AsyncClient(base_url=stack.url("jaeger"), timeout=60, trust_env=False) as jaeger:
        answer = await jaeger.get("/api/v3/traces", params=query)
    if answer.status_code == 404:
        return {}
    answer.raise_for_status()
    return {
        span["spanId"]: {**span, "service": attributes(resource["resource"])["service.name"]}
        for resource in answer.json()["result"]["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    }


def handlers_up_to(span: dict[str, Any], spans: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    """The services that handled a message on the way from the request to this span."""
    above = spans.get(span.get("parentSpanId", ""))
    before = handlers_up_to(above, spans) if above else ()
    handled = attributes(span).get("messaging.operation.type") == "process"
    return (*before, span["service"]) if handled else before


async def test_a_chain_is_found_in_jaeger_by_its_correlation_id_as_one_tree(stack: Stack) -> None:
    submitted = await submit(stack, "traced", ("cold brew", "moka pot"))
    await ended(stack, submitted["cycle_id"])
    whole = (
        "research",  # research.requested
        "orchestrator",  # research.completed
        "orchestrator",  # content.generate
        "orchestrator",  # content.generated
        "publisher",  # content.publish
        "orchestrator",  # content.published
        "social",  # social.create
        "orchestrator",  # social.posted
    )

    async def complete() -> dict[str, dict[str, Any]] | None:
        """Services send their spans every few seconds."""
        spans = await spans_of(stack, submitted["correlation_id"])
        ends = Counter(handlers_up_to(span, spans) for span in spans.values() if handles(span))
        return spans if ends[whole] == 2 else None

    def handles(span: dict[str, Any]) -> bool:
        return attributes(span).get("messaging.operation.type") == "process"

    spans = await eventually(complete)
    in_chain = [span for span in spans.values() if not span.get("links")]
    assert len({span["traceId"] for span in in_chain}) == 1
    (root,) = [span for span in in_chain if span.get("parentSpanId", "") not in spans]
    assert root["service"] == "orchestrator"
    assert {attributes(span).get("correlation_id") for span in spans.values()} == {
        submitted["correlation_id"]
    }


async def test_prometheus_sees_every_service_and_the_broker(stack: Stack) -> None:
    async def all_up() -> bool:
        async with httpx.AsyncClient(base_url=stack.url("prometheus"), timeout=60, trust_env=False) as client:
            answer = await client.get("/api/v1/query", params={"query": "up"})
        found = {series["metric"]["job"]: series["value"][1] for series in answer.json()["data"]["result"]}
        return {name: found.get(name) for name in (*PROCESSES, "rabbitmq")} == dict.fromkeys(
            (*PROCESSES, "rabbitmq"), "1"
        )

    await eventually(all_up)


@pytest.mark.parametrize("service", ["orchestrator", "publisher", "social", "monitor"])
def test_no_host_port_shows_figures(stack: Stack, service: str) -> None:
    assert httpx.get(f"{stack.url(service)}/metrics", timeout=60, trust_env=False).status_code == 404
    # They say what is running, where Prometheus asks.
    (container,) = stack.containers(service)
    assert f'version="{VERSION}"' in figures(stack, container)


async def test_alertmanager_is_told_of_what_fires(stack: Stack) -> None:
    async def known() -> bool:
        async with httpx.AsyncClient(base_url=stack.url("prometheus"), timeout=60, trust_env=False) as client:
            answer = await client.get("/api/v1/alertmanagers")
        return len(answer.json()["data"]["activeAlertmanagers"]) == 1

    await eventually(known)
    async with httpx.AsyncClient(base_url=stack.url("alertmanager"), timeout=60, trust_env=False) as client:
        status = (await client.get("/api/v2/status")).json()
    assert "name: people" in status["config"]["original"]


@pytest.mark.parametrize(
    "noun",
    [
        "drafts",
        "posts",
        "dead-letters",
        "documents",
        "providers",
        "accounts",
        "notifications",
        "receipts",
    ],
)
def test_the_operators_command_reaches_whom_it_asks(stack: Stack, noun: str) -> None:
    said = stack.brandctl(noun, "list", "--json")
    # 1: there is none.
    assert said.returncode in {0, 1}, said.stderr
    assert isinstance(json.loads(said.stdout), dict | list)


async def test_the_operators_command_reads_and_writes_files_of_its_user(stack: Stack, tmp_path: Path) -> None:
    async with stack.client("orchestrator") as api:
        (await api.put("/v1/brands/with-files", json={"name": "With Files"})).raise_for_status()
    (tmp_path / "guide.md").write_text("# Guide\n\nCold brew steeps for twelve hours.\n")
    added = stack.brandctl("documents", "add", "guide.md", "--brand", "with-files", "--own", folder=tmp_path)
    assert added.returncode == 0, added.stderr
    written = stack.brandctl("brands", "export", "with-files", "--to", "all.zip", folder=tmp_path)
    assert written.returncode == 0, written.stderr
    about = (tmp_path / "all.zip").stat()
    assert about.st_size > 0
    assert (about.st_uid, about.st_gid) == (os.getuid(), os.getgid())


async def test_a_browser_comes_back_from_a_log_in_to_the_operators_command(stack: Stack) -> None:
    assert stack.brandctl("accounts", "app", "x", "--client-id", "acme", "--no-secret").returncode == 0
    port = free_port()
    connecting = await asyncio.create_subprocess_exec(
        ROOT / "brandctl",
        *("accounts", "connect", "x", "--all-brands", "--port", str(port)),
        env=stack.environment,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert connecting.stderr is not None
    async with asyncio.timeout(120):
        while not (line := await connecting.stderr.readline()).startswith(b"https://"):
            assert line, "it ended before it said where to log in"
        state = httpx.URL(line.decode().strip()).params["state"]
        async with httpx.AsyncClient(trust_env=False) as browser:
            back = await browser.get(
                f"http://127.0.0.1:{port}/callback", params={"state": state, "error": "access_denied"}
            )
        assert back.status_code == 200
        said = await connecting.stderr.read()
        assert await connecting.wait() == 1
    assert b"The provider refused: access_denied" in said


# -- confinement -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("service", PROCESSES)
def test_a_service_has_no_rights_and_no_installer(stack: Stack, service: str) -> None:
    (container,) = stack.containers(service)
    described = stack.inspect(container)
    assert described["HostConfig"]["ReadonlyRootfs"] is True
    assert described["HostConfig"]["CapDrop"] == ["ALL"]
    assert described["HostConfig"]["Memory"] > 0
    labels = described["Config"]["Labels"]
    assert labels["org.opencontainers.image.title"] == f"brand-engine/{service}"
    assert labels["org.opencontainers.image.version"] == "test"
    said = stack.docker(
        "exec", container, "sh", "-c", "id -u; touch /opt/app/x 2>&1; touch /tmp/x && echo writes"
    )
    assert said.stdout.splitlines()[0] == "10001"
    assert "Read-only file system" in said.stdout
    assert "writes" in said.stdout
    for module in ("pip", "ensurepip", "hatchling", "pytest", *OF_TESTS):
        tried = stack.docker("exec", container, "python", "-c", f"import {module}", check=False)
        assert "ModuleNotFoundError" in tried.stderr, module
    tests = stack.docker("exec", container, "find", "/opt", "-type", "d", "-name", "tests").stdout
    assert tests == ""


def test_no_secret_stands_where_the_engine_shows_it(stack: Stack) -> None:
    assert stack.secrets_shown() == []


def test_a_service_cannot_open_the_database_of_another(stack: Stack) -> None:
    (container,) = stack.containers("postgres")

    def run(statement: str, database: str, role: str = "research_runtime") -> Any:
        kind = "RUNTIME" if role.endswith("_runtime") else "DATABASE"
        password = f"PGPASSWORD={stack.setting(f'RESEARCH_{kind}_PASSWORD')}"
        psql = ["psql", "--host", "127.0.0.1", "--username", role, "--command", statement, database]
        return stack.docker("exec", "--env", password, container, *psql, check=False)

    for role in ("research", "research_runtime"):
        assert run("select 1", "research", role).returncode == 0
        for other in ("orchestrator", "publisher", "social", "monitor", "gateway", "postgres"):
            assert "permission denied for database" in run("select 1", other, role).stderr, other
    assert "must be owner of table outbox" in run("drop table outbox", "research").stderr


OUTSIDE = """
import socket, sys
for host in sys.argv[1:]:
    try:
        socket.create_connection((host, 443), timeout=5).close()
        print(host, "answers")
    except OSError as error:
        print(host, "is out of reach:", error)
"""
ADDRESSES = ("1.1.1.1", "8.8.8.8", "9.9.9.9")
"""Of the public internet, each of which has been there for years."""


@pytest.mark.parametrize("service", PROCESSES)
def test_the_outside_is_reached_by_the_gateway_alone(stack: Stack, service: str) -> None:
    (container,) = stack.containers(service)
    said = stack.docker("exec", container, "python", "-c", OUTSIDE, *ADDRESSES).stdout
    if service == "gateway":
        if "answers" not in said:
            pytest.skip(f"this machine has no way out itself: {said}")
    else:
        assert said.count("is out of reach") == len(ADDRESSES)


async def test_the_broker_has_no_guest_and_one_user_for_each_service(stack: Stack) -> None:
    administrator = ("admin", stack.setting("RABBITMQ_PASSWORD"))
    async with httpx.AsyncClient(
        base_url=stack.url("rabbitmq_ui"), auth=administrator, trust_env=False
    ) as api:
        users = {user["name"] for user in (await api.get("/api/users")).json()}
    assert users == {"admin", *SERVICES}


# -- trouble -----------------------------------------------------------------------------------------------------------


async def test_killing_any_container_loses_nothing_and_doubles_nothing(stack: Stack) -> None:
    cycles = {}
    for name in (*SERVERS, *PROCESSES, "jaeger"):
        submitted = await submit(stack, f"without-{name}", KEYWORDS[:3])
        # As when memory runs out: no goodbye; nobody but Docker's restart policy brings it back.
        user = ("--user", SERVERS[name]) if name in SERVERS else ()
        (container,) = stack.containers(name)
        stack.docker("exec", *user, container, "sh", "-c", "kill -9 -1", check=False)
        await eventually(lambda container=container: stack.inspect(container)["RestartCount"] > 0)
        cycles[name] = submitted["cycle_id"]
    for name in cycles:
        await healthy(stack, name)
    for name, cycle_id in cycles.items():
        cycle = await ended(stack, cycle_id, within=180)
        assert {keyword["keyword"]: keyword["state"] for keyword in cycle["keywords"]} == dict.fromkeys(
            KEYWORDS[:3], "completed"
        )
        assert [len(keyword["posts"]) for keyword in cycle["keywords"]] == [1, 1, 1]
        async with stack.client("social") as visitor:
            feed = await visitor.get(f"/feeds/without-{name}/feed.xml")
        assert feed.text.count("<entry>") == 3
    async with stack.client("monitor") as monitor:
        assert (await monitor.get("/v1/dead-letters")).json()["items"] == []


async def test_three_copies_of_research_share_the_work(stack: Stack) -> None:
    stack.compose("up", "--detach", "--no-build", "--scale", "research=3", "research")
    try:
        await healthy(stack, "research", copies=3)
        cycles = [await submit(stack, f"shared-{number}", KEYWORDS) for number in range(4)]
        for cycle in cycles:
            await ended(stack, cycle["cycle_id"])
        done = [handled(stack, container) for container in stack.containers("research")]
        assert len(done) == 3
        assert all(count > 0 for count in done), done
    finally:
        stack.compose("up", "--detach", "--no-build", "--scale", "research=1", "research")


def figures(stack: Stack, container: str) -> str:
    """A service's figures about itself, requested from within."""
    ask = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:9464/metrics').read().decode())"
    return str(stack.docker("exec", container, "python", "-c", ask).stdout)


def handled(stack: Stack, container: str) -> float:
    """Messages that this copy has handled, by its own metrics."""
    text = figures(stack, container)
    values = re.findall(r"^brand_engine_messages_processed_total\{.*\} (\S+)$", text, re.MULTILINE)
    return sum(map(float, values))


async def test_rotated_passwords_lose_nothing_and_the_old_ones_are_refused(stack: Stack) -> None:
    names = [f"{name.upper()}_{kind}_PASSWORD" for name in PROCESSES for kind in ("DATABASE", "RUNTIME")]
    names += [f"{name.upper()}_BROKER_PASSWORD" for name in SERVICES]
    before = {name: stack.setting(name) for name in names}
    cycles = [await submit(stack, f"rotated-{number}", KEYWORDS) for number in range(4)]
    stack.empty(*names)
    stack.up()
    assert not {stack.setting(name) for name in names} & {*before.values(), ""}
    for submitted in cycles:
        cycle = await ended(stack, submitted["cycle_id"])
        assert cycle["completed"] == len(KEYWORDS)
    async with stack.client("monitor") as monitor:
        assert (await monitor.get("/v1/dead-letters")).json()["items"] == []
    (postgres,), (rabbitmq,) = stack.containers("postgres"), stack.containers("rabbitmq")
    for name in PROCESSES:
        for role, kind in ((name, "DATABASE"), (f"{name}_runtime", "RUNTIME")):
            old = f"PGPASSWORD={before[f'{name.upper()}_{kind}_PASSWORD']}"
            # By its name on the network: from within, on the loopback, PostgreSQL's image asks for no password.
            psql = ["psql", "--host", "postgres", "--username", role, "--command", "select 1", name]
            refused = stack.docker("exec", "--env", old, postgres, *psql, check=False)
            assert "password authentication failed" in refused.stderr, role
    for name in SERVICES:
        variable = f"{name.upper()}_BROKER_PASSWORD"
        check = ["exec", rabbitmq, "rabbitmqctl", "authenticate_user", name]
        assert stack.docker(*check, stack.setting(variable), check=False).returncode == 0, name
        assert stack.docker(*check, before[variable], check=False).returncode != 0, name


def test_minimal_takes_the_tools_away_and_leaves_the_data(stack: Stack) -> None:
    stack.up(MINIMAL="1")
    assert "Dashboards" not in stack.said
    running = stack.compose("ps", "--services").stdout.split()
    assert set(running) == {*SERVERS, *PROCESSES}
    feeds = httpx.get(f"{stack.url('social')}/feeds/daily-grind/feed.xml", timeout=60, trust_env=False)
    assert feeds.text.count("<entry>") == 3


async def test_a_backup_in_the_midst_of_work_brings_everything_back(stack: Stack, tmp_path: Path) -> None:
    """The last test: the restored data replaces the stack that the others looked at."""
    # As an operator makes it: the user of the containers may write there.
    published = tmp_path / "published"
    published.mkdir()
    published.chmod(0o777)
    stack.environment["PUBLISH_FOLDER"] = str(published)
    stack.up()
    (publisher,) = stack.containers("publisher")
    stack.docker(
        "exec", publisher, "sh", "-c", "mkdir /published/acme && echo text >/published/acme/article.md"
    )
    cycles = {name: await submit(stack, name, KEYWORDS) for name in (f"backup-{n}" for n in range(6))}
    stack.script("backup.sh", str(tmp_path / "backup"))
    assert "GATEWAY_KEYS" not in (tmp_path / "backup/settings.env").read_text()
    stack.script("down.sh", VOLUMES="1")
    shutil.rmtree(published / "acme")
    stack.script("restore.sh", str(tmp_path / "backup"))
    article = published / "acme/article.md"
    assert (article.read_text(), article.stat().st_uid) == ("text\n", 10001)
    for name, submitted in cycles.items():
        cycle = await ended(stack, submitted["cycle_id"])
        assert cycle["completed"] == len(KEYWORDS)
        async with stack.client("social") as visitor:
            feed = await visitor.get(f"/feeds/{name}/feed.xml")
        assert feed.text.count("<entry>") == len(KEYWORDS)
