"""The health check of a service's container (deploy/images/health.py), against real answers."""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from starlette.applications import Starlette

from chassis.http.server import health_routes
from chassis.testing import serving

ROOT = Path(__file__).parents[2]
CHECK = ROOT / "deploy" / "images" / "health.py"


class Problems(dict[str, str]):
    """What keeps the service from working; empty when it is ready."""

    async def __call__(self) -> dict[str, str]:
        return dict(self)


@pytest.fixture
def problems() -> Problems:
    return Problems()


@pytest.fixture
async def port(problems: Problems) -> AsyncIterator[str]:
    async with serving(Starlette(routes=health_routes(problems))) as address:
        yield str(urlsplit(address).port)


async def check(*arguments: str, script: Path = CHECK, **environment: str) -> tuple[int | None, str]:
    """Its exit status and what it says, started as containers do: without packages, and with the proxy of a company set."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", str(script), *arguments,
        env={"PATH": os.environ["PATH"], "http_proxy": "http://127.0.0.1:1", **environment},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    return process.returncode, said.decode()


async def test_a_service_that_works_is_well(port: str) -> None:
    assert await check("ready", HTTP_PORT=port) == (0, "")
    assert await check("live", HTTP_PORT=port) == (0, "")
    assert await check(HTTP_PORT=port) == (0, "")


async def test_a_service_that_is_not_ready_says_why(port: str, problems: Problems) -> None:
    problems["database"] = "does not answer"
    status, said = await check("ready", HTTP_PORT=port)
    assert status == 1
    assert said.startswith("/health/ready answers 503: ")
    assert '"database":"does not answer"' in said
    assert await check("live", HTTP_PORT=port) == (0, "")


async def test_the_port_is_the_services_own_where_no_other_is_set(tmp_path: Path, port: str) -> None:
    script = Path(shutil.copy(CHECK, tmp_path))
    (tmp_path / "port").write_text(f"{port}\n")
    assert await check("ready", script=script) == (0, "")
    assert await check("ready", script=script, HTTP_PORT="") == (0, "")


async def test_a_service_that_is_gone_is_not_well(free_port: Callable[[], int]) -> None:
    gone = free_port()
    status, said = await check("ready", HTTP_PORT=str(gone))
    assert status == 1
    assert said.startswith(f"/health/ready on port {gone} does not answer: ")


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1", b"200 OK\r\n\r\n", b"\xff\xfe 200 \r\n\r\n"])
async def test_what_does_not_answer_by_http_is_not_well(answer: bytes) -> None:
    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Closing before the request was read would reset the connection.
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(say, "127.0.0.1", 0) as other:
        taken = other.sockets[0].getsockname()[1]
        status, said = await check("ready", HTTP_PORT=str(taken))
    assert (status, said) == (1, f"/health/ready on port {taken} does not answer by HTTP\n")


def test_containers_check_their_services_so() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    command = ["CMD", "python", "-I", "-S", "/opt/service/health.py", "ready"]
    for name in ("orchestrator", "research", "publisher", "social", "monitor", "gateway", "console"):
        assert services[name]["healthcheck"]["test"] == command
    assert (
        'CMD ["python", "-I", "-S", "/opt/service/health.py"]'
        in (ROOT / "deploy/images/Dockerfile").read_text()
    )
