"""The whole stack in containers, started once for all tests that look at it, as `make up` does; skipped without Docker."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from brandctl.local import ports
from brandctl.local.services import PROCESSES

ROOT = Path(__file__).parents[2]
_VERSION = "test"
_PORTS = (
    *("ORCHESTRATOR", "PUBLISHER", "SOCIAL", "MONITOR", "EVENTS", "CONSOLE", "RABBITMQ_UI"),
    *("JAEGER", "PROMETHEUS", "ALERTMANAGER", "GRAFANA"),
)


class ContainerStack:
    """A project with its own settings, ports and data, apart from all others on this engine."""

    def __init__(self, folder: Path, name: str = "test") -> None:
        self.project = f"brand-engine-{name}-{os.getpid()}"
        self._settings = folder / "settings.env"
        self.secrets = folder / "settings.env.secrets"
        self._port_of = {name: ports.free_port() for name in _PORTS}
        self.environment = {
            **os.environ,
            "ENV_FILE": str(self._settings),
            "BACKUP_RECORD_FOLDER": str(folder / "backup-record"),
            "COMPOSE_PROJECT_NAME": self.project,
            "COMPOSE_FILE": "compose.yaml:compose.observability.yaml",
            # Images of their own: those of somebody who runs the stack here stay as they are.
            "VERSION": _VERSION,
            "RETRY_BASE_SECONDS": "0.5",
            # No two networks of one engine may share addresses.
            "PROXY_NETWORK": f"10.{214 + len(name) % 20}.{os.getpid() % 250}.0/24",
            **{f"{name}_PORT": str(port) for name, port in self._port_of.items()},
        }
        self.said = ""

    def up(self, **environment: str) -> None:
        """`make up`, to its end."""
        self.said = self.script("up.sh", **environment).stdout

    def down(self) -> None:
        """`make down VOLUMES=1`, and the images of this run too."""
        self.script("down.sh", VOLUMES="1")
        images = [f"brand-engine/{service}:{_VERSION}" for service in (*PROCESSES, "brandctl")]
        self._run(["docker", "image", "rm", *images], check=False)

    def script(
        self, name: str, *arguments: str, root: Path = ROOT, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs one of `deploy/compose`, of another checkout if that is said."""
        return self._run([str(root / "deploy/compose" / name), *arguments], **environment)

    def brandctl(self, *arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
        """Runs `./brandctl` in this folder; returns its result, even a failure."""
        return self._run([str(ROOT / "brandctl"), *arguments], check=False, folder=folder)

    def left(self) -> list[str]:
        """Containers, networks and volumes of this project."""
        label = f"label=com.docker.compose.project={self.project}"
        kinds = (["ps", "--all"], ["network", "ls"], ["volume", "ls"])
        return [
            line
            for kind in kinds
            for line in self._run(["docker", *kind, "--quiet", "--filter", label]).stdout.splitlines()
        ]

    def compose(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self._run(["docker", "compose", "--env-file", str(self._settings), *arguments], check=check)

    def docker(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self._run(["docker", *arguments], check=check)

    def containers(self, service: str) -> list[str]:
        return self.compose("ps", "--quiet", service).stdout.split()

    def inspect(self, container: str) -> dict[str, Any]:
        described: dict[str, Any] = json.loads(self.docker("inspect", container).stdout)[0]
        return described

    def secrets_shown(self) -> list[str]:
        """The secrets whose values stand in what `docker inspect` says of any container, those that have ended among them."""
        label = f"label=com.docker.compose.project={self.project}"
        shown = self.docker(
            "inspect", *self.docker("ps", "--all", "--quiet", "--filter", label).stdout.split()
        ).stdout
        values = {path.name: path.read_text().strip() for path in self.secrets.iterdir()}
        assert values["GATEWAY_KEYS"]
        # Of several lines, the last has the password.
        return [name for name, value in values.items() if value and value.splitlines()[-1] in shown]

    def url(self, name: str) -> str:
        """Of what has a host port: `orchestrator`, `jaeger`, `rabbitmq_ui` and so on."""
        return f"http://127.0.0.1:{self._port_of[name.upper()]}"

    def setting(self, name: str) -> str:
        lines = self._settings.read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))[name]

    def empty(self, *names: str) -> None:
        """Takes the values of settings away, so that the next `up` gives them new ones."""
        lines = self._settings.read_text().splitlines()
        emptied = [f"{name}=" if (name := line.split("=", 1)[0]) in names else line for line in lines]
        self._settings.write_text("\n".join(emptied) + "\n")

    def client(self, name: str) -> httpx.AsyncClient:
        """For the HTTP API of a service, with the key."""
        headers = {"X-Service-Key": self.setting("SERVICE_KEY")}
        return httpx.AsyncClient(base_url=self.url(name), headers=headers, timeout=60, trust_env=False)

    def _run(
        self, command: list[str], *, check: bool = True, folder: Path = ROOT, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command,
            cwd=folder,
            env=self.environment | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        assert not check or done.returncode == 0, f"{command}:\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
        return done


def why_not(stack: ContainerStack, folder: Path) -> str | None:
    """Why the stack cannot run here; None if it can."""
    try:
        engine = stack.docker("version", "--format", "{{.Server.Version}}", check=False)
    except FileNotFoundError:
        return "Docker is not installed"
    if engine.returncode != 0:
        return f"no Docker engine answers: {engine.stderr.strip()}"
    # The example has no secrets, which some variables must have before the files can be read.
    lines = (ROOT / ".env.example").read_text().splitlines()
    filled = folder / "filled.env"
    filled.write_text("\n".join(f"{line}unused" if line.endswith("=") else line for line in lines))
    asked = stack.docker("compose", "--env-file", str(filled), "config", "--images", check=False)
    if asked.returncode != 0:
        return f"no Docker Compose that reads these files: {asked.stderr.strip()}"
    images = {image for image in asked.stdout.split() if not image.startswith("brand-engine/")}
    for image in sorted({*images, "python:3.13-slim"}):
        if stack.docker("image", "inspect", image, check=False).returncode != 0:
            pulled = stack.docker("pull", "--quiet", image, check=False)
            if pulled.returncode != 0:
                return f"the image {image} cannot be had: {pulled.stderr.strip()}"
    return None


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ContainerStack]:
    folder = tmp_path_factory.mktemp("compose")
    stack = ContainerStack(folder)
    if reason := why_not(stack, folder):
        pytest.skip(reason)
    try:
        stack.up()
        yield stack
    finally:
        stack.down()
        assert stack.left() == []
