"""Secrets reach containers as files: what `secrets.sh` writes, what the compose files mount, and that no value stands elsewhere."""

import importlib
import json
import os
import re
import shutil
import stat
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from brandctl.local.services import PROCESSES
from chassis.settings import is_secret
from envelope.brand import PAIRS, SERVICES
from tests.compose.test_compose_files import MAIN, TEXT, TOOLS, everything, example

ROOT = Path(__file__).parents[2]
OPTIONAL = {
    *("BRAVE_API_KEY", "GATEWAY_MODEL_API_KEY", "OIDC_CLIENT_SECRET", "SMTP_PASSWORD", "ALERT_WEBHOOK_URL"),
    *("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "BROKER_USERS_API_URL", "MOVES_KEY"),
}
ENVIRONMENT = {"PATH": os.environ["PATH"]}


class Settings:
    """Settings in a file, and what `secrets.sh` makes of them."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "settings.env"
        self.folder = folder / "settings.env.secrets"
        lines = (ROOT / ".env.example").read_text().splitlines()
        self.file.write_text(
            "\n".join(f"{line}of-{line}7Kq" if line.endswith("=") else line for line in lines)
        )

    def write(self, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [ROOT / "deploy/compose/secrets.sh"],
            env=ENVIRONMENT | {"ENV_FILE": str(self.file)} | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def set(self, line: str) -> None:
        """As if somebody wrote it: of several lines of one name, the last one holds."""
        self.file.write_text(f"{self.file.read_text()}\n{line}\n")

    def secrets(self) -> dict[str, str]:
        return {path.name: path.read_text().rstrip("\n") for path in self.folder.iterdir()}

    def versions(self) -> dict[str, str]:
        """By service."""
        found = re.findall(r"(?m)^([A-Z]+)_SECRETS=(\w+)$", self.file.read_text())
        return {name.lower(): version for name, version in found}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path)


@pytest.fixture
def written(settings: Settings) -> Settings:
    done = settings.write()
    assert done.returncode == 0, done.stderr
    return settings


def mounted(container: dict[str, Any]) -> set[str]:
    return {each if isinstance(each, str) else each["source"] for each in container.get("secrets", ())}


# -- the script --------------------------------------------------------------------------------------------------------


def test_nobody_else_of_this_machine_reads_them_and_every_container_can(written: Settings) -> None:
    assert stat.S_IMODE(written.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in written.folder.iterdir()} == {0o644}
    # A stranger cannot change this, nor leave it to be changed.
    written.folder.chmod(0o755)
    assert written.write().returncode == 0
    assert stat.S_IMODE(written.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(written.file.stat().st_mode) & 0o077 == 0


def test_they_are_what_the_containers_need(written: Settings) -> None:
    given, secrets = example(), written.secrets()
    assert set(secrets) == set(MAIN["secrets"]) | set(TOOLS["secrets"])
    for name in given.keys() & secrets.keys() - OPTIONAL:
        assert secrets[name] == f"of-{name}=7Kq"
    assert {secrets[name] for name in OPTIONAL} == {""}
    assert secrets["SERVICE_KEY_HASH"] == f"sha256:{sha256(b'of-SERVICE_KEY=7Kq').hexdigest()}"
    for service in PROCESSES:
        upper, at = service.upper(), f"postgres:5432/{service}"
        owner, runtime = f"of-{upper}_DATABASE_PASSWORD=7Kq", f"of-{upper}_RUNTIME_PASSWORD=7Kq"
        assert secrets[f"{upper}_OWNER_URL"] == f"postgresql://{service}:{owner}@{at}"
        assert secrets[f"{upper}_DATABASE_URL"] == f"postgresql://{service}_runtime:{runtime}@{at}"
    for service in SERVICES:
        password = f"of-{service.upper()}_BROKER_PASSWORD=7Kq"
        assert secrets[f"{service.upper()}_BROKER_URL"] == f"amqp://{service}:{password}@rabbitmq:5672/"
    administrator = "of-RABBITMQ_PASSWORD=7Kq"
    assert secrets["BROKER_ADMINISTRATOR"] == f"default_user = admin\ndefault_pass = {administrator}"
    assert secrets["BROKER_ADMINISTRATOR_URL"] == f"amqp://admin:{administrator}@rabbitmq:5672/"
    assert secrets["BROKER_API_URL"] == f"http://admin:{administrator}@rabbitmq:15672"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("plain", "plain"),
        ("plain # a comment", "plain"),
        ("with#out", "with#out"),
        ("ends   ", "ends"),
        ("'si ngle$ \"#x'", 'si ngle$ "#x'),
        ('"dou ble #x" # a comment', "dou ble #x"),
    ],
)
def test_a_value_is_read_as_docker_compose_reads_it(settings: Settings, line: str, value: str) -> None:
    settings.set(f"SMTP_PASSWORD={line}")
    assert settings.write().returncode == 0
    assert settings.secrets()["SMTP_PASSWORD"] == value


@pytest.mark.parametrize("line", ["pa$word", '"pa$word"', '"back\\slash"'])
def test_a_value_that_docker_compose_would_change_is_refused(settings: Settings, line: str) -> None:
    settings.set(f"SMTP_PASSWORD={line}")
    done = settings.write()
    assert done.returncode == 1
    assert "SMTP_PASSWORD in" in done.stderr
    assert "in single quotes" in done.stderr
    assert "word" not in done.stderr.replace("SMTP_PASSWORD", "")


def test_the_environment_wins_over_the_file(settings: Settings) -> None:
    assert settings.write(GRAFANA_PASSWORD="from-the-environment").returncode == 0
    assert settings.secrets()["GRAFANA_PASSWORD"] == "from-the-environment"


def test_a_secret_without_which_nothing_starts_is_named(settings: Settings) -> None:
    settings.set("MONITOR_BROKER_PASSWORD=")
    done = settings.write()
    assert done.returncode == 1
    assert "MONITOR_BROKER_PASSWORD is empty" in done.stderr
    assert "make up" in done.stderr


def test_the_folder_is_a_setting(settings: Settings, tmp_path: Path) -> None:
    settings.set(f"SECRETS_FOLDER={tmp_path}/elsewhere/secrets")
    assert settings.write().returncode == 0
    assert (tmp_path / "elsewhere/secrets/SERVICE_KEY").exists()
    assert not settings.folder.exists()


def test_what_is_as_before_is_not_touched_and_what_changes_stays_the_same_file(written: Settings) -> None:
    """A mounted file is known by its inode: the gateway reads new keys in the file that it has."""
    before = {path.name: path.stat() for path in written.folder.iterdir()}
    text, versions = written.file.read_text(), written.versions()
    assert written.write().returncode == 0
    assert {path.name: path.stat().st_mtime_ns for path in written.folder.iterdir()} == {
        name: each.st_mtime_ns for name, each in before.items()
    }
    assert written.file.read_text() == text
    written.set("GATEWAY_KEYS=a-new-one,the-one-before")
    assert written.write().returncode == 0
    keys = written.folder / "GATEWAY_KEYS"
    assert keys.read_text() == "a-new-one,the-one-before\n"
    assert keys.stat().st_ino == before["GATEWAY_KEYS"].st_ino
    # No container has to be replaced for it.
    assert written.versions() == versions


CHANGED = (
    *("SERVICE_KEY", "POSTGRES_PASSWORD", "RABBITMQ_PASSWORD", "GRAFANA_PASSWORD", *sorted(OPTIONAL)),
    *("RESEARCH_TO_GATEWAY_KEY", "MONITOR_TO_SOCIAL_KEY", "GATEWAY_RUNTIME_PASSWORD"),
    *("PUBLISHER_RUNTIME_PASSWORD", "PUBLISHER_DATABASE_PASSWORD", "SOCIAL_BROKER_PASSWORD"),
)


@pytest.mark.extended
@pytest.mark.parametrize("name", CHANGED)
def test_a_container_is_replaced_when_a_secret_of_its_own_changes(written: Settings, name: str) -> None:
    secrets, versions = written.secrets(), written.versions()
    written.set(f"{name}=another9Zx")
    assert written.write().returncode == 0
    changed = {each for each, value in written.secrets().items() if secrets[each] != value}
    assert changed
    # The salt of all of them; a rotated service key replaces all services anyhow.
    if name == "SERVICE_KEY":
        changed.add("ALERT_WEBHOOK_URL")
    containers = everything()
    asking = {each for each in versions if mounted(containers[each]) & changed}
    assert {each for each, value in written.versions().items() if versions[each] != value} == asking


# -- the compose files -------------------------------------------------------------------------------------------------


def variables(container: dict[str, Any]) -> dict[str, str]:
    return container.get("environment") or {}


@pytest.mark.parametrize("name", everything())
def test_a_container_gets_the_files_that_its_variables_name_and_no_other(name: str) -> None:
    container = everything()[name]
    named = {
        secret
        for value in variables(container).values()
        for secret in re.findall(r"/run/secrets/(\w+)", str(value))
    }
    # RabbitMQ has a configuration file in place of a variable.
    assert mounted(container) == (named | {"BROKER_ADMINISTRATOR"} if name == "rabbitmq" else named)
    assert mounted(container) <= set(MAIN["secrets"]) | set(TOOLS["secrets"])


@pytest.mark.parametrize("service", [*PROCESSES, "alertmanager"])
def test_a_container_has_the_version_of_its_secrets(service: str) -> None:
    assert everything()[service]["labels"] == {"brand-engine.secrets": f"${{{service.upper()}_SECRETS:-}}"}


def test_every_secret_is_a_file_of_the_folder() -> None:
    for secrets in (MAIN["secrets"], TOOLS["secrets"]):
        for name, described in secrets.items():
            assert described == {"file": f"${{SECRETS_FOLDER:-./.secrets}}/{name}"}


def secret_settings() -> set[str]:
    """Every variable of the settings whose value is a secret."""
    return {name for name, value in example().items() if not value} | OPTIONAL


def test_no_value_of_a_secret_is_put_into_a_compose_file() -> None:
    """Whether there is one may be asked (`:+`)."""
    put = set(re.findall(r"\$\{([A-Z_]+)(?!:\+)[:}]", TEXT)) - set(re.findall(r"\$\{([A-Z_]+):\+", TEXT))
    assert put & secret_settings() == set()
    assert {f"{one}_TO_{other}_KEY".upper() for one, other in PAIRS} <= secret_settings()


@pytest.mark.parametrize("service", PROCESSES)
def test_every_secret_of_a_service_comes_as_a_file(service: str) -> None:
    settings = importlib.import_module(f"{service}.settings").Settings
    given = variables(MAIN["services"][service])
    for name, field in settings.model_fields.items():
        if is_secret(field):
            assert name.upper() not in given
            assert f"{name.upper()}_FILE" in given


def test_what_docker_compose_makes_of_the_files_shows_no_secret(written: Settings) -> None:
    docker = shutil.which("docker")
    if (
        docker is None
        or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode
    ):
        pytest.skip("there is no Docker Compose")
    for name in OPTIONAL:
        written.set(f"{name}=of-{name}=7Kq")
    assert written.write().returncode == 0
    files = ["--file", "compose.yaml", "--file", "compose.observability.yaml"]
    command = [
        docker,
        "compose",
        *files,
        "--env-file",
        written.file,
        "--profile",
        "*",
        "config",
        "--format",
        "json",
    ]
    home = {"HOME": os.environ.get("HOME", "/")}
    done = subprocess.run(
        command, cwd=ROOT, env=ENVIRONMENT | home, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert set(PROCESSES) <= set(shown["services"])
    for name, value in written.secrets().items():
        assert value
        assert value not in done.stdout, name
    assert "7Kq" not in done.stdout
