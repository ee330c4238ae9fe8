"""`make up` and `make down` as a user meets them, on a Docker that only pretends: settings, refusals, addresses."""

import os
import shutil
import socket
import stat
import subprocess
from base64 import urlsafe_b64decode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PORTS = (
    "ORCHESTRATOR_PORT",
    "PUBLISHER_PORT",
    "SOCIAL_PORT",
    "MONITOR_PORT",
    "EVENTS_PORT",
    "CONSOLE_PORT",
    "RABBITMQ_UI_PORT",
    "JAEGER_PORT",
    "PROMETHEUS_PORT",
    "ALERTMANAGER_PORT",
    "GRAFANA_PORT",
)

DOCKER = """#!/bin/sh
# Notes how it was called, and answers as the files beside it say.
here=$(dirname "$0")
echo "$COMPOSE_FILE $*" >>"$here/calls"
case "$*" in
"version "*) [ -e "$here/no-engine" ] && { echo "Cannot connect to the Docker daemon" >&2; exit 1; }; echo 27.0 ;;
"compose version "*) cat "$here/compose-version" ;;
"volume inspect "*) test -e "$here/has-data" ;;
"compose "*" config --images postgres") echo postgres:18 ;;
"run "*" postgres:18 /data/PG_VERSION") cat "$here/has-data" ;;
"image inspect --format "*) echo PATH=/bin; echo PG_MAJOR=18 ;;
"compose "*" config") cat "$here/config" ;;
"compose "*" config --services") cat "$here/services" ;;
"network inspect "*) for name; do :; done; cat "$here/network-$name" 2>/dev/null || exit 1 ;;
"ps --all "*oneoff=False*) cat "$here/containers" ;;
"ps --all"*) cat "$here/statuses" ;;
"logs "*) echo "the log of $4" ;;
"compose --project-name "*" down "*) rm -f "$here"/network-* "$here/up-fails" ;;
"compose "*" build") echo "$COMPOSE_PROFILES" >"$here/profiles-of-build" ;;
"compose "*" up "*) [ ! -e "$here/up-fails" ] || { cat "$here/up-fails" >&2; exit 1; } ;;
esac
"""


class Up:
    """The script in a world of its own: pretended Docker, settings and ports."""

    def __init__(self, folder: Path, free_port: Callable[[], int]) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.settings = folder / "settings.env"
        self.secrets = folder / "settings.env.secrets"
        docker = self.bin / "docker"
        docker.write_text(DOCKER)
        docker.chmod(0o755)
        self.tell("compose-version", "2.40.3")
        self.tell("config")
        self.tell("services", "research\ntopology\nother\n")
        self.tell("containers", "1 research\n2 topology\n3 other\n")
        self.tell(
            "statuses",
            "1 research Up 9 seconds (healthy)\n2 topology Exited (0) 8 seconds ago\n3 other Up 1 second\n",
        )
        self.environment = {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "ENV_FILE": str(self.settings),
            "BACKUP_RECORD_FOLDER": str(self.settings.parent / "backup-record"),
            "COMPOSE_PROJECT_NAME": "pretended",
            "UP_TIMEOUT": "0",
            **{name: str(free_port()) for name in PORTS},
        }

    def tell(self, file: str, text: str = "") -> None:
        (self.bin / file).write_text(text)

    def __call__(self, script: str = "up.sh", **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [shutil.which("bash") or "bash", ROOT / "deploy/compose" / script],
            env=self.environment | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def calls(self) -> str:
        return (self.bin / "calls").read_text()

    def values(self) -> dict[str, str]:
        lines = self.settings.read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


@pytest.fixture
def up(tmp_path: Path, free_port: Callable[[], int]) -> Up:
    return Up(tmp_path, free_port)


def test_it_builds_starts_and_says_where_everything_is(up: Up) -> None:
    done = up()
    assert done.returncode == 0, done.stderr
    for name in PORTS:
        assert f"http://localhost:{up.environment[name]}/" in done.stdout
    assert "compose.yaml:compose.observability.yaml compose --project-name pretended" in up.calls()
    assert up.calls().index(" build") < up.calls().index(" up --detach")


def test_the_operators_command_is_built_along_and_not_started(up: Up) -> None:
    """Beside the services of a newer version, that of the version before would otherwise stay."""
    for profiles, building in (("", "tools\n"), ("other", "other,tools\n")):
        done = up(COMPOSE_PROFILES=profiles)
        assert done.returncode == 0, done.stderr
        assert (up.bin / "profiles-of-build").read_text() == building
    assert "./brandctl --help" in done.stdout


def test_minimal_leaves_the_tools_out(up: Up) -> None:
    done = up(MINIMAL="1")
    assert done.returncode == 0, done.stderr
    assert "Dashboards" not in done.stdout
    assert f":{up.environment['JAEGER_PORT']}/" not in done.stdout
    assert "compose.yaml compose --project-name pretended" in up.calls()


def test_the_first_start_makes_settings_with_secrets_that_nobody_else_reads(up: Up) -> None:
    assert up().returncode == 0
    values = up.values()
    secrets = [
        value
        for name, value in values.items()
        if name.endswith(("SERVICE_KEY", "_PASSWORD")) or "_TO_" in name
    ]
    assert len(secrets) == len(set(secrets)) == 43
    assert all(len(secret) == 48 and secret.isalnum() for secret in secrets)
    assert len(urlsafe_b64decode(values["GATEWAY_KEYS"])) == 32
    assert values["PUBLIC_BIND"] == "127.0.0.1"
    assert stat.S_IMODE(up.settings.stat().st_mode) == 0o600
    assert list(up.settings.parent.glob("settings.env.*")) == [up.secrets]


def test_later_starts_keep_the_settings(up: Up) -> None:
    assert up().returncode == 0
    before = up.settings.read_text()
    assert up().returncode == 0
    assert up.settings.read_text() == before


def test_settings_of_an_older_version_are_completed(up: Up) -> None:
    up.settings.write_text(
        "SERVICE_KEY=mine-and-long-enough\n# a note\nPOSTGRES_PASSWORD=\nPUBLIC_BIND=127.0.0.1"
    )
    assert up().returncode == 0
    values = up.values()
    assert values["SERVICE_KEY"] == "mine-and-long-enough"
    hashed = (up.secrets / "SERVICE_KEY_HASH").read_text()
    assert hashed == f"sha256:{sha256(b'mine-and-long-enough').hexdigest()}\n"
    assert values["POSTGRES_PASSWORD"]
    assert values["RESEARCH_BROKER_PASSWORD"]
    assert "# a note" in up.settings.read_text()
    assert up.settings.read_text().count("SERVICE_KEY=") == 1


def test_data_whose_passwords_are_gone_are_not_locked_out_by_new_ones(up: Up) -> None:
    up.tell("has-data")
    done = up()
    assert done.returncode == 1
    assert "make down VOLUMES=1" in done.stderr
    assert list(up.settings.parent.glob("settings.env*")) == []


@pytest.mark.extended
def test_databases_of_another_major_version_are_not_touched(up: Up) -> None:
    assert up().returncode == 0
    up.tell("has-data", "18\n")
    assert up().returncode == 0
    up.tell("has-data", "17\n")
    (up.bin / "calls").unlink()
    done = up()
    assert done.returncode == 1
    assert "the databases are of PostgreSQL 17, and postgres:18 is 18" in done.stderr
    assert "upgrade-postgres.sh postgres:18" in done.stderr
    assert " up " not in up.calls()


def test_without_docker_it_says_so(up: Up) -> None:
    (up.bin / "docker").unlink()
    # Some machines have Docker in /usr/bin, beside everything else that the script takes.
    for tool in ("dirname", "sed"):
        (up.bin / tool).symlink_to(shutil.which(tool) or tool)
    done = up(PATH=str(up.bin))
    assert done.returncode == 1
    assert "Docker is not installed" in done.stderr
    assert "docs.docker.com" in done.stderr


def test_an_engine_that_does_not_answer_is_told_with_its_reason(up: Up) -> None:
    up.tell("no-engine")
    done = up()
    assert done.returncode == 1
    assert "engine does not answer" in done.stderr
    assert "Cannot connect to the Docker daemon" in done.stderr


@pytest.mark.parametrize("version", ["1.29.2", "2.3.3", "v2.19.9"])
def test_a_compose_that_is_too_old_is_refused(up: Up, version: str) -> None:
    up.tell("compose-version", version)
    done = up()
    assert done.returncode == 1
    assert f"Docker Compose {version.removeprefix('v')} is too old" in done.stderr


@pytest.mark.extended
@pytest.mark.parametrize("version", ["2.20.0", "v2.24.6", "5.0.1", "2.40.3-desktop.1"])
def test_a_compose_that_is_new_enough_is_taken(up: Up, version: str) -> None:
    up.tell("compose-version", version)
    assert up().returncode == 0


def test_a_taken_port_is_told_with_the_setting_that_helps(up: Up) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        done = up(MONITOR_PORT=str(port))
    assert done.returncode == 1
    assert f"port {port} of 127.0.0.1 is in use" in done.stderr
    assert f"MONITOR_PORT={port % 50000 + 10000} make up" in done.stderr
    assert " up " not in up.calls()


def test_a_port_that_only_docker_finds_taken_is_explained_too(up: Up) -> None:
    up.tell("up-fails", "Bind for 127.0.0.1:8010 failed: port is already allocated\n")
    done = up()
    assert done.returncode == 1
    assert "A port is in use by another program" in done.stderr


def test_addresses_that_another_network_has_are_told_with_the_setting_that_helps(up: Up) -> None:
    up.tell("up-fails", "invalid pool request: Pool overlaps with other one on this address space\n")
    done = up()
    assert done.returncode == 1
    assert "PROXY_NETWORK: choose others" in done.stderr


def test_authorities_are_a_file_with_its_whole_path(up: Up, tmp_path: Path) -> None:
    done = up(SSL_CERT_FILE="authorities.pem")
    assert done.returncode == 1
    assert "SSL_CERT_FILE=authorities.pem must be a whole path" in done.stderr
    done = up(SSL_CERT_FILE=f"{tmp_path}/authorities.pem")
    assert done.returncode == 1
    assert "authorities.pem is no file" in done.stderr
    (tmp_path / "authorities.pem").write_text("")
    assert up(SSL_CERT_FILE=f"{tmp_path}/authorities.pem").returncode == 0


@pytest.mark.extended
def test_only_pages_are_looked_for_where_everybody_may_reach_them(up: Up) -> None:
    up.settings.write_text("PUBLIC_BIND=192.0.2.7\n")
    said = up().stdout
    assert f"Site         http://192.0.2.7:{up.environment['PUBLISHER_PORT']}/" in said
    assert f"API          http://localhost:{up.environment['ORCHESTRATOR_PORT']}/docs" in said


def test_what_opened_everything_is_told_to_mean_nothing_any_more(up: Up) -> None:
    up.settings.write_text("BIND=0.0.0.0\n")
    done = up()
    assert "BIND in" in done.stderr
    assert "PUBLIC_BIND" in done.stderr
    assert f"Site         http://localhost:{up.environment['PUBLISHER_PORT']}/" in done.stdout


@pytest.mark.extended
def test_settings_that_fix_a_version_are_told(up: Up) -> None:
    up.settings.write_text("VERSION=0.0.9\nPOSTGRES_IMAGE=postgres:16\n")
    assert "fixes VERSION POSTGRES_IMAGE;" in up().stderr
    up.settings.write_text("LOG_LEVEL=info\n")
    assert "fixes" not in up().stderr


def test_of_a_range_of_ports_the_first_is_shown_and_looked_at(up: Up) -> None:
    first = int(up.environment["ORCHESTRATOR_PORT"])
    done = up(ORCHESTRATOR_PORT=f"{first}-{first + 2}")
    assert done.returncode == 0, done.stderr
    assert f"API          http://localhost:{first}/docs" in done.stdout


def test_a_door_to_the_outside_needs_the_addresses_of_its_visitors(
    up: Up, free_port: Callable[[], int]
) -> None:
    ports = {"TLS_PORT": str(free_port()), "TLS_REDIRECT_PORT": str(free_port())}
    done = up(COMPOSE_PROFILES="tls", PUBLISHER_URL="https://articles.example.org", **ports)
    assert done.returncode == 1
    assert "SOCIAL_URL must say under which https:// address" in done.stderr
    addresses = {"PUBLISHER_URL": "https://articles.example.org", "SOCIAL_URL": "https://posts.example.org"}
    done = up(COMPOSE_PROFILES="tls", **addresses, **ports)
    assert done.returncode == 0, done.stderr
    assert "https://articles.example.org/ and https://posts.example.org/" in done.stdout


@pytest.mark.extended
def test_nobody_being_told_of_alerts_is_said(up: Up) -> None:
    assert "sent to nobody" in up().stdout
    assert "sent to nobody" not in up(ALERT_WEBHOOK_URL="https://chat.example.org/hook").stdout


def test_a_corpus_that_is_no_folder_is_refused(up: Up) -> None:
    done = up(CORPUS="/no/such/folder")
    assert done.returncode == 1
    assert "CORPUS=/no/such/folder is no folder" in done.stderr


def test_a_container_that_fails_is_shown_with_its_log(up: Up) -> None:
    up.tell("up-fails", "service did not complete successfully\n")
    up.tell(
        "statuses",
        "7 migrate-social Exited (1) 2 seconds ago\n8 social Created\n9 postgres Up 4 seconds (healthy)\n",
    )
    done = up()
    assert done.returncode == 1
    assert "-- migrate-social: Exited (1) 2 seconds ago" in done.stderr
    assert "the log of 7" in done.stderr
    assert "the log of 8" not in done.stderr
    assert "the log of 9" not in done.stderr


def test_a_service_that_does_not_become_healthy_is_named_with_its_log(up: Up) -> None:
    up.tell("statuses", "5 research Up 9 seconds (health: starting)\n6 social Restarting (1) 2 seconds ago\n")
    done = up()
    assert done.returncode == 1
    assert "not healthy after 0 s: research social" in done.stderr
    assert "the log of 5" in done.stderr
    assert "the log of 6" in done.stderr


# -- what an older version or other settings have left ----------------------------------------------------------------

CONFIG = """\
name: pretended
services:
  rabbitmq:
    networks:
      front: null
networks:
  broker:
    name: pretended_broker
    internal: true
  front:
    name: pretended_front
    driver_opts:
      com.docker.network.bridge.enable_ip_masquerade: "false"
  outside:
    name: pretended_outside
  proxy:
    name: pretended_proxy
    ipam:
      config:
        - subnet: 10.213.77.0/28
    internal: true
volumes:
  rabbitmq:
    name: pretended_rabbitmq
"""
NETWORKS = {
    "broker": "true 172.20.0.0/16\n\n",
    "front": "false 172.21.0.0/16\ncom.docker.network.bridge.enable_ip_masquerade false\n\n",
    "outside": "false 172.22.0.0/16\ncom.docker.network.enable_ipv6 false\n\n",
    "proxy": "true 10.213.77.0/28\n\n",
}
"""As Docker describes them: whether they are internal, their subnet, their options."""


@pytest.mark.extended
@pytest.mark.parametrize(
    ("network", "described"),
    [
        ("front", "false 172.21.0.0/16\n\n"),
        ("broker", "false 172.20.0.0/16\n\n"),
        ("outside", "true 172.22.0.0/16\n\n"),
        ("outside", "false 172.22.0.0/16\ncom.docker.network.bridge.enable_ip_masquerade false\n\n"),
        ("proxy", "true 172.23.0.0/16\n\n"),
    ],
)
def test_networks_of_an_older_version_are_made_anew_and_the_data_stay(
    up: Up, network: str, described: str
) -> None:
    up.tell("config", CONFIG)
    for name, text in (NETWORKS | {network: described}).items():
        up.tell(f"network-pretended_{name}", text)
    done = up()
    assert done.returncode == 0, done.stderr
    assert f"other networks: pretended_{network}. All containers are stopped" in done.stderr
    calls = up.calls()
    assert "--volumes" not in calls
    order = [" build", " down --remove-orphans\n", " up --detach"]
    assert [calls.index(each) for each in order] == sorted(calls.index(each) for each in order)


def test_a_network_that_only_docker_compose_finds_changed_is_made_anew_too(up: Up) -> None:
    up.tell(
        "up-fails",
        "Error response from daemon: error while removing network: network pretended_front id 303f has active endpoints\n",
    )
    done = up()
    assert done.returncode == 0, done.stderr
    assert "other networks: pretended_front." in done.stderr
    assert up.calls().count(" up --detach") == 2


@pytest.mark.parametrize("existing", [{}, NETWORKS])
def test_networks_that_are_as_described_are_left_alone(up: Up, existing: dict[str, str]) -> None:
    up.tell("config", CONFIG)
    for name, text in existing.items():
        up.tell(f"network-pretended_{name}", text)
    done = up()
    assert done.returncode == 0, done.stderr
    assert " down " not in up.calls()


def test_what_the_settings_no_longer_ask_for_is_removed(up: Up) -> None:
    up.tell("containers", "1 research\n7 caddy\n8 former-service\n")
    done = up()
    assert done.returncode == 0, done.stderr
    assert "Removing what the settings no longer ask for: caddy former-service" in done.stderr
    assert "stop 7 8\n" in up.calls()
    assert "rm 7 8\n" in up.calls()
    assert "stop 1" not in up.calls()


def test_without_a_list_of_services_nothing_is_removed(up: Up) -> None:
    (up.bin / "services").unlink()
    done = up()
    assert done.returncode == 1
    assert "the compose files could not be read" in done.stderr
    assert "stop" not in up.calls()


def test_down_keeps_the_data_unless_told_otherwise(up: Up) -> None:
    assert up("down.sh").returncode == 0
    assert "--project-name pretended down --remove-orphans\n" in up.calls()
    assert up("down.sh", VOLUMES="1").returncode == 0
    assert "--project-name pretended down --remove-orphans --volumes\n" in up.calls()
