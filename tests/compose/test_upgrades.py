"""Upgrades of the stack in containers by `make up` alone: from earlier states of this repository, with their data and settings.

Takes some minutes, a Docker engine and the history of the repository: `make test ARGS="-m compose"`.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from brandctl.local import ports
from brandctl.local.services import PROCESSES
from chassis.testing import eventually
from tests.compose.conftest import ROOT, ContainerStack, why_not

pytestmark = pytest.mark.compose

NETWORKS_WITH_A_WAY_OUT = "417733813ab9620dc775200248d5906227b66752"
"""The broker is where host ports lead, and `front` lets everybody out."""
SECRETS_IN_ENVIRONMENTS = "0b350606ba7f830fe2a0b0019705f04f151bc72c"
KEYWORDS = ("cold brew", "moka pot")


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[ContainerStack]:
    stack = ContainerStack(tmp_path, name="upgraded")
    if reason := why_not(stack, tmp_path):
        pytest.skip(reason)
    try:
        yield stack
    finally:
        stack.down()
        assert stack.left() == []


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Any]:
    """Makes checkouts of earlier states."""
    made: list[Path] = []

    def of(revision: str) -> Path:
        folder = tmp_path / revision[:7]
        add = ["git", "worktree", "add", "--detach", str(folder), revision]
        if git(*add[1:]).returncode != 0:
            pytest.skip(f"the history that is here does not go back to {revision[:7]}: git fetch --unshallow")
        made.append(folder)
        return folder

    yield of
    for folder in made:
        git("worktree", "remove", "--force", str(folder))


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


async def hand_in(stack: ContainerStack, brand: str) -> str:
    """The cycle of some keywords."""
    async with stack.client("orchestrator") as api:
        (await api.put(f"/v1/brands/{brand}", json={"name": brand.title()})).raise_for_status()
        answer = await api.post(
            f"/v1/brands/{brand}/research",
            json={"keywords": KEYWORDS},
            headers={"Idempotency-Key": str(uuid4())},
        )
    assert answer.status_code == 202, answer.text
    return str(answer.json()["cycle_id"])


async def completed(stack: ContainerStack, cycle_id: str) -> None:
    async def done() -> bool:
        async with stack.client("orchestrator") as api:
            cycle = (await api.get(f"/v1/cycles/{cycle_id}")).raise_for_status().json()
        return bool(cycle["completed"] == len(KEYWORDS))

    await eventually(done)


def running(stack: ContainerStack) -> set[str]:
    return set(stack.compose("ps", "--services").stdout.split())


@pytest.mark.parametrize("revision", [NETWORKS_WITH_A_WAY_OUT, SECRETS_IN_ENVIRONMENTS])
async def test_make_up_alone_takes_over_what_an_earlier_state_has_left(
    stack: ContainerStack, checkout: Any, revision: str
) -> None:
    earlier = checkout(revision)
    stack.script("up.sh", root=earlier)
    before = await hand_in(stack, "before")
    await completed(stack, before)
    key = stack.setting("SERVICE_KEY")
    stack.up()
    assert set(PROCESSES) <= running(stack)
    assert stack.setting("SERVICE_KEY") == key
    await completed(stack, before)
    await completed(stack, await hand_in(stack, "after"))
    (front,) = json.loads(stack.docker("network", "inspect", f"{stack.project}_front").stdout)
    assert front["Options"] == {"com.docker.network.bridge.enable_ip_masquerade": "false"}
    assert stack.secrets_shown() == []
    containers = {service: stack.containers(service) for service in running(stack)}
    stack.up()
    assert {service: stack.containers(service) for service in running(stack)} == containers


async def test_the_proxy_comes_and_goes_with_its_profile_and_says_for_whom_it_asks(
    stack: ContainerStack,
) -> None:
    port, plain = ports.free_port(), ports.free_port()
    addresses = {"PUBLISHER_URL": "https://articles.localhost", "SOCIAL_URL": "https://posts.localhost"}
    bound = {
        "TLS_BIND": "127.0.0.1",
        "TLS_PORT": str(port),
        "TLS_REDIRECT_PORT": str(plain),
        "TLS": "internal",
    }
    stack.environment |= {"MINIMAL": "1", "COMPOSE_FILE": "compose.yaml", **addresses, **bound}
    stack.up(COMPOSE_PROFILES="tls", API_URL="https://api.localhost")
    assert "caddy" in running(stack)
    # Whoever tries keys from outside locks out the address that the proxy saw, and not the proxy, nor those on this machine.
    wrong = {
        "X-Service-Key": "a-wrong-key-of-somebody",
        "Host": "api.localhost",
        "X-Forwarded-For": "192.0.2.7",
    }
    async with httpx.AsyncClient(verify=False, timeout=60, trust_env=False) as stranger:

        async def refused() -> bool:
            answer = await stranger.get(
                f"https://127.0.0.1:{port}/v1/brands",
                headers=wrong,
                extensions={"sni_hostname": "api.localhost"},
            )
            assert answer.status_code in {401, 429}
            return answer.status_code == 429

        await eventually(refused)
    async with httpx.AsyncClient(base_url=stack.url("orchestrator"), timeout=60, trust_env=False) as local:
        answer = await local.get("/v1/brands", headers={"X-Service-Key": "a-wrong-key-of-somebody-else"})
    assert answer.status_code == 401
    (caddy,) = stack.containers("caddy")
    for_another = [
        "--header",
        "X-Service-Key: a-wrong-key-of-another",
        "--header",
        "X-Forwarded-For: 192.0.2.8",
    ]
    asked = stack.docker(
        "exec",
        caddy,
        "wget",
        "-S",
        "-O",
        "-",
        *for_another,
        "http://orchestrator:8010/v1/brands",
        check=False,
    )
    assert "401" in asked.stderr
    stack.up()
    assert "caddy" not in running(stack)
    assert f":{port}->" not in stack.docker("ps", "--format", "{{.Ports}}").stdout
