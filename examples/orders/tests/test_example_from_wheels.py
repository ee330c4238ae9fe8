"""The backbone without this checkout: another system needs only its built packages."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from brandctl.local import processes, services
from chassis.testing import eventually
from shop_demo.processes import Customer
from tests.fixtures.databases import Roles

ROOT = Path(__file__).parents[3]
BUILT = ("shared/envelope", "shared/chassis", "shared/messaging", "examples/orders")
OURS = ("envelope", "chassis", "messaging", "shop", "orders", "payments")
# Without `site`, nobody reads the .pth files that lead from site-packages back to the checkout.
PYTHON = (sys.executable, "-S", "-P")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the content of all wheels."""
    folder = tmp_path_factory.mktemp("wheels")
    for member in BUILT:
        build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
        subprocess.run(build, cwd=ROOT / member, check=True, capture_output=True, timeout=60)
    for wheel in folder.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(folder / "unpacked")
    return folder / "unpacked"


@pytest.fixture
def environment(wheels: Path) -> dict[str, str]:
    path = os.pathsep.join([str(wheels), sysconfig.get_path("platlib")])
    return {
        **os.environ,
        "PYTHONPATH": path,
        "SERVICE_KEY": "a-key-for-tests-only",
        "RETRY_BASE_SECONDS": "1",
    }


def run(environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [*PYTHON, *arguments],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_wheels_have_the_migrations_and_say_that_they_are_typed(wheels: Path) -> None:
    assert {name for name in OURS if not (wheels / name / "py.typed").exists()} == set()
    sources = {
        "messaging/storage": ROOT / "shared/messaging/src",
        "orders": ROOT / "examples/orders/src",
        "payments": ROOT / "examples/orders/src",
    }
    for package, source in sources.items():
        written = {path.name: path.read_text() for path in (source / package / "migrations").glob("*.sql")}
        packed = {path.name: path.read_text() for path in (wheels / package / "migrations").glob("*.sql")}
        assert packed == written
        assert packed


def test_nothing_of_the_checkout_is_seen(wheels: Path, environment: dict[str, str]) -> None:
    look = (
        "import importlib, importlib.util, json\n"
        f"files = {{name: importlib.import_module(name).__file__ for name in {OURS}}}\n"
        "files['brandctl'] = importlib.util.find_spec('brandctl') and 'found'\n"
        "print(json.dumps(files))"
    )
    files = json.loads(run(environment, "-c", look))
    assert files.pop("brandctl") is None
    assert {name for name, file in files.items() if not Path(file).is_relative_to(wheels)} == set()


async def test_the_example_works_from_wheels(
    environment: dict[str, str],
    make_vhost: Callable[..., Awaitable[str]],
    make_database: Callable[[None], Awaitable[str]],
    database_roles: Roles,
    free_port: Callable[[], int],
    tmp_path: Path,
) -> None:
    environment["RABBITMQ_URL"] = await make_vhost(topology=False)
    declared = run(environment, "-m", "messaging", "topology", "shop.catalogue")
    assert declared.startswith("declared 4 exchanges, 6 queues")

    addresses = services.ServiceAddresses({name: free_port() for name in ("orders", "payments")})
    children = []
    try:
        for name, port in addresses.port_of.items():
            owner_url = await make_database(None)
            owner = {"DATABASE_URL": owner_url, "DATABASE_RUNTIME_ROLE": database_roles.runtime_role}
            migrated = run(environment | owner, "-m", name, "migrate")
            assert migrated.startswith(f"{name}: messaging/0001_inbox_outbox.sql")
            runtime = {"DATABASE_URL": database_roles.runtime(owner_url), "HTTP_PORT": str(port)}
            settings = environment | runtime
            command = [*PYTHON, "-m", name]
            children.append(processes.start(name, command, log=tmp_path / f"{name}.log", env=settings))
        services.wait_until_ready(children, addresses)
        async with Customer(addresses.url("orders"), environment["SERVICE_KEY"]) as customer:
            order_id = await customer.place("expired")

            async def is_declined() -> bool:
                return await customer.state(order_id) == "declined"

            await eventually(is_declined)
    finally:
        services.stop(children)
