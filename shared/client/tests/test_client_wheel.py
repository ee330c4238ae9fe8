"""The client as others install it: a wheel with the generated code, in an environment that has nothing of ours."""

import asyncio
import json
import os
import subprocess
import sys
import venv
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fastapi import FastAPI, Request, Response

from chassis.testing import serving

pytestmark = pytest.mark.extended

ROOT = Path(__file__).parents[3]
NEEDED = ("httpx", "httpcore", "h11", "anyio", "idna", "certifi", "sniffio", "typing_extensions.py")
"""What the client needs from the registry; there is no network here, so they are taken from this environment."""
PROGRAM = """
import asyncio, json, sys
from client import AsyncBrandEngine, BrandEngine
import client

url = sys.argv[1]
with BrandEngine(url, "be_key") as engine:
    results = engine.submit("acme", ["cold brew", "moka pot"]).wait(timeout=60)

async def again():
    async with AsyncBrandEngine(url, "be_key") as engine:
        return await engine.job(results.cycle_id).wait(timeout=60)

assert asyncio.run(again()) == results
print(json.dumps({
    "from": client.__file__,
    "articles": {each.keyword: each.url for each in results.articles},
    "refused": {each.keyword: each.reason for each in results.refused},
}))
"""


def run(*command: str | Path, **variables: str) -> str:
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | variables
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The Python of an environment with the wheel."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    options = ("--no-deps", "--no-build-isolation", "--no-index")
    run(*pip, "wheel", "-q", *options, "-w", tmp_path / "dist", ROOT / "shared/client")
    (wheel,) = (tmp_path / "dist").glob("brand_engine_client-*.whl")
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    (packages,) = (tmp_path / "venv/lib").glob("python*/site-packages")
    run(*pip, "install", "-q", "--no-deps", "--no-index", "--target", packages, wheel)
    ours = Path(pytest.__file__).parents[1]
    for name in NEEDED:
        if (ours / name).exists():
            (packages / name).symlink_to(ours / name)
    return tmp_path / "venv/bin/python"


@pytest.fixture
async def orchestrator() -> AsyncIterator[str]:
    """Answers as an orchestrator whose keywords have ended; what they become is tried against the real one elsewhere."""
    app = FastAPI()
    cycle = "0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f"
    ended = {"cycle_id": cycle, "state": "completed", "pending": 0, "processing": 0, "not_sent": 0}

    @app.post("/v1/brands/acme/research", status_code=202)
    async def submit(request: Request) -> Response:
        assert request.headers["authorization"] == "Bearer be_key"
        assert request.headers["idempotency-key"]
        assert await request.json() == {"keywords": ["cold brew", "moka pot"]}
        return Response(json.dumps({"cycle_id": cycle, "total": 2}), 202, media_type="application/json")

    @app.get(f"/v1/cycles/{cycle}")
    async def get_cycle() -> dict[str, object]:
        return ended | {"held_up": None, "keywords": [], "next": None}

    @app.get(f"/v1/cycles/{cycle}/keywords")
    async def list_keywords() -> dict[str, object]:
        one = {"keyword": "cold brew", "state": "completed", "reason": None, "content_id": cycle}
        other = {"keyword": "moka pot", "state": "refused", "reason": "two sources", "content_id": None}
        items = [
            one | {"published_url": "https://pages.example/cold-brew", "posts": []},
            other | {"published_url": None, "posts": []},
        ]
        return {"items": items, "next": None}

    async with serving(app) as url:
        yield url


async def test_the_wheel_stands_alone(installed: Path, orchestrator: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    told = json.loads(await asyncio.to_thread(run, installed, program, orchestrator))
    assert told["from"].startswith(str(tmp_path))
    assert told["articles"] == {"cold brew": "https://pages.example/cold-brew"}
    assert told["refused"] == {"moka pot": "two sources"}


def test_its_types_come_with_it(installed: Path, tmp_path: Path) -> None:
    program = tmp_path / "typed.py"
    program.write_text(
        "from client import BrandEngine\n"
        'with BrandEngine("http://127.0.0.1:8010", "be_key") as engine:\n'
        '    job = engine.submit("acme", ["cold brew"])\n'
        "    reveal_type(job.wait(timeout=1).articles[0].url)\n"
        '    reveal_type(engine.orchestrator.get_cycle("x"))\n'
        "    job.wait(timeout='soon')\n"
    )
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-executable", installed, "--cache-dir", tmp_path / "cache", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
        check=False,
    ).stdout  # fmt: skip
    assert 'Revealed type is "str | None"' in checked.replace("builtins.", ""), checked
    assert "CycleView" in checked
    assert 'has incompatible type "str"; expected "float | None"' in checked
