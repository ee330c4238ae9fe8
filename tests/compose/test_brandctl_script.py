"""`./brandctl` as an operator types it, on a Docker that only pretends: where it runs, what it sees, what it gets."""

import os
import socket
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from brandctl.app import assemble
from brandctl.gateway.accounts import LOGINS
from client.connections import Service
from tests.fixtures.commands.brandctl_script import ROOT, Script

BRANDCTL = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["brandctl"]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    return Script(tmp_path)


# -- where it runs -----------------------------------------------------------------------------------------------------


def test_beside_the_containers_it_runs_among_them(script: Script) -> None:
    script.tell("code", "1")
    done = script("sources", "show", "acme", "--json", typed="a line\n")
    assert (done.returncode, done.stdout, done.stderr) == (1, "the result\n", "")
    words = script.words()
    assert words[:6] == [
        "compose",
        *("--project-name", "brand-engine"),
        *("--env-file", str(script.checkout / ".env")),
        "run",
    ]
    assert script.arguments() == ["sources", "show", "acme", "--json"]
    assert {"--rm", "--no-deps", "-T"} <= set(script.options())
    assert script.told("typed") == "a line\n"
    assert script.told("variables").startswith("compose.yaml:compose.observability.yaml ")


def test_settings_and_project_are_those_of_make_up(script: Script) -> None:
    other = script.checkout / "other.env"
    other.write_text("COMPOSE_FILE=compose.yaml:mine.yaml\nBRANDCTL_BY=ann\n")
    script("spend", ENV_FILE="other.env", COMPOSE_PROJECT_NAME="mine")
    assert script.words()[2:5] == ["mine", "--env-file", str(other)]
    # Docker Compose takes BRANDCTL_BY from there.
    assert script.told("variables") == "compose.yaml:mine.yaml \n"


def test_without_its_image_it_is_built_and_the_result_stays_alone(script: Script) -> None:
    (script.bin / "has-image").unlink()
    done = script("spend")
    assert done.stdout == "the result\n"
    assert "Building brand-engine/brandctl:pretended" in done.stderr


def test_without_containers_it_is_that_of_the_checkout(script: Script) -> None:
    script.tell("running")
    done = script("spend", "calls")
    assert done.stdout == f"here: spend calls (of {script.checkout})\n"
    assert script.words() == []
    script.local.unlink()
    done = script("spend")
    assert done.returncode == 2
    assert "no containers of `make up` can be asked" in done.stderr
    assert "`make setup`" in done.stderr


def test_beside_a_local_run_too_it_says_whom_it_asks(script: Script) -> None:
    (script.checkout / ".local").mkdir()
    (script.checkout / ".local/endpoints.json").write_text("{}")
    done = script("spend")
    assert done.stdout == "the result\n"
    assert "asks the containers" in done.stderr


def test_an_engine_that_may_not_be_asked_is_said(script: Script) -> None:
    script.tell("no-engine")
    done = script("spend")
    assert "the Docker engine does not answer" in done.stderr
    assert "permission denied" in done.stderr
    assert done.stdout.startswith("here: spend")
    # Of a checkout that never ran in containers there is nothing to say.
    (script.checkout / ".env").unlink()
    assert script("spend").stderr == ""


@pytest.mark.parametrize(
    "typed",
    [
        "demo --exit",
        "run",
        "stop",
        "backup /backups/1",
        "restore /backups/1",
        "drafts edit ID -m shorter",
        "spend --gateway-url http://localhost:8015",
        "spend --gateway-url=http://localhost:8015",
        "audit-log --of gateway --url http://localhost:8015",
        "topology declare --url amqp://localhost/",
    ],
)
def test_what_takes_this_machine_runs_on_it(script: Script, typed: str) -> None:
    assert script(*typed.split()).stdout == f"here: {typed} (of {script.checkout})\n"
    script.local.unlink()
    done = script(*typed.split())
    assert done.returncode == 2
    assert "`make setup`" in done.stderr
    assert script.words() == []


def test_an_address_in_the_environment_is_one_of_this_machine_too(script: Script) -> None:
    assert script("spend", GATEWAY_URL="http://localhost:8015").stdout.startswith("here: ")
    # These say to containers where visitors find the pages.
    script("spend", PUBLISHER_URL="https://articles.example.org", SOCIAL_URL="https://posts.example.org")
    assert script.arguments() == ["spend"]


def test_a_draft_in_a_file_takes_no_editor(script: Script) -> None:
    script("drafts", "edit", "ID", "--file", "draft.md")
    assert script.arguments() == ["drafts", "edit", "ID", "--file", "draft.md"]


def test_it_is_found_by_a_link(script: Script) -> None:
    (script.bin / "brandctl").symlink_to(script.checkout / "brandctl")
    script.checkout /= "../bin"
    assert script("spend").stdout == "the result\n"


# -- what it sees ------------------------------------------------------------------------------------------------------


def test_the_current_folder_can_be_read_and_belongs_to_its_owner(script: Script) -> None:
    script("documents", "add", "guide.pdf", "--brand", "acme", "--own")
    folder = str(script.folder)
    state = f"{script.environment['HOME']}/.local/state/brandctl:/run/state/brandctl"
    assert script.values("--volume") == [f"{folder}:{folder}:ro", state]
    assert script.values("--workdir") == [folder]
    assert script.values("--user") == [f"{os.getuid()}:{os.getgid()}"]
    assert "XDG_STATE_HOME=/run/state" in script.values("--env")


def test_files_elsewhere_are_seen_where_arguments_name_them(script: Script, tmp_path: Path) -> None:
    (tmp_path / "guides").mkdir()
    for name in ("key", "a.pdf", "not-named"):
        (tmp_path / name).touch()
    script(
        *("documents", "add", f"{tmp_path}/a.pdf", "../a.pdf", "../guides/", f"{tmp_path}/missing.pdf"),
        *(
            "--brand",
            "acme",
            f"--key-file={tmp_path}/key",
            "--title",
            "/",
            "--url",
            "https://acme.example/..",
        ),
    )
    named = [each for each in script.values("--volume") if each.endswith(":ro")][1:]
    assert named == [f"{tmp_path / each}:{tmp_path / each}:ro" for each in ("a.pdf", "guides", "key")]


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in getattr(group, "commands", {}).items():
        yield (*path, name), command
        yield from commands(command, (*path, name))


WRITING = sorted(
    path
    for path, command in commands(typer.main.get_command(assemble()))
    # Its file is read: it says where another installation is.
    if path != ("brands", "move")
    and any(
        each.name in {"to", "out"} and each.type_descriptor.annotation is Path
        for each in getattr(command, "params", ())
    )
)


def test_what_writes_files_is_known() -> None:
    assert WRITING == [
        ("brands", "export"),
        ("calendar", "export"),
        ("site", "export"),
        ("site", "newsletter"),
    ]


@pytest.mark.parametrize("command", WRITING)
def test_what_writes_files_may_write_them(script: Script, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "backups").mkdir()
    script(*command, "acme", "--to", f"{tmp_path}/backups/acme.zip")
    folders = script.values("--volume")[:2]
    assert folders == [f"{each}:{each}:rw" for each in (script.folder, tmp_path / "backups")]


def test_a_folder_that_the_container_has_itself_is_not_covered(script: Script) -> None:
    for folder in ("/", "/usr", "/opt", "/tmp"):
        script.folder = Path(folder)
        script("spend")
        assert [each for each in script.values("--volume") if "/run/state" not in each] == []
        assert script.values("--workdir") == []


def test_a_path_that_docker_cannot_take_is_told(script: Script, tmp_path: Path) -> None:
    script.folder = tmp_path / "a:b"
    script.folder.mkdir()
    done = script("spend")
    assert done.returncode == 2
    assert "a:b has a colon in it" in done.stderr


# -- who asks ----------------------------------------------------------------------------------------------------------


def test_a_key_of_the_caller_is_used_and_shown_nowhere(script: Script) -> None:
    done = script("drafts", "list", SERVICE_KEY="be_0001_of-ann")
    assert done.returncode == 0
    assert script.told("key") == "be_0001_of-ann\n"
    assert "SERVICE_KEY_FILE=/run/key" in script.values("--env")
    assert not any("of-ann" in word for word in script.words())
    (mounted,) = (each.split(":")[0] for each in script.values("--volume") if each.endswith(":/run/key:ro"))
    assert not Path(mounted).exists()


def test_a_key_file_of_the_caller_is_used(script: Script) -> None:
    (script.folder / "key").write_text("be_0002_of-bob")
    script("drafts", "list", SERVICE_KEY_FILE="key")
    assert script.told("key") == "be_0002_of-bob"
    done = script("drafts", "list", SERVICE_KEY_FILE="key", SERVICE_KEY="be_0001_of-ann")
    assert (done.returncode, script.words()) == (2, [])
    assert "both set" in done.stderr
    done = script("drafts", "list", SERVICE_KEY_FILE="none")
    assert (done.returncode, script.words()) == (2, [])


def test_who_decides_is_somebody_of_this_machine(script: Script) -> None:
    script("drafts", "list")
    assert f"@{socket.gethostname()}" in script.told("variables")
    script("drafts", "list", BRANDCTL_BY="ann")
    assert script.told("variables").endswith(" ann\n")
    assert "TZ=UTC" in script.values("--env")


# -- logging in --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(LOGINS))
def test_the_port_of_a_log_in_leads_to_the_container(
    script: Script, kind: str, free_port: Callable[[], int]
) -> None:
    port = free_port()
    script("accounts", "connect", "--all-brands", kind, "--port", str(port))
    assert script.values("--publish") == [f"127.0.0.1:{port}:{port}"]
    assert "BRANDCTL_CALLBACK_HOST=0.0.0.0" in script.values("--env")
    script("accounts", "connect", kind, "--brand", "acme", f"--port={port}")
    assert script.values("--publish") == [f"127.0.0.1:{port}:{port}"]


def test_any_free_port_is_one_of_this_machine(script: Script) -> None:
    script("accounts", "connect", "x", "--brand", "acme", "--port", "0")
    *typed, option, port = script.arguments()
    assert (typed[-2:], option) == (["--port", "0"], "--port")
    assert script.values("--publish") == [f"127.0.0.1:{port}:{port}"]


@pytest.mark.parametrize(
    "typed",
    [
        "accounts connect mastodon --brand acme --name x",
        "accounts connect x --brand acme --paste",
        "accounts connect x --brand acme --token",
        "accounts connect x --keep --brand acme",
        "accounts connect x --help",
        "accounts app x --client-id ID",
        "accounts list",
    ],
)
def test_nothing_else_opens_a_port(script: Script, typed: str) -> None:
    script(*typed.split())
    assert script.arguments() == typed.split()
    assert script.values("--publish") == []


def test_a_taken_port_is_told_before_anything_runs(script: Script) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = script("accounts", "connect", "x", "--brand", "acme", "--port", str(port))
    assert (done.returncode, script.words()) == (2, [])
    assert f"port {port} is taken: give another one with --port" in done.stderr


# -- what it reaches ---------------------------------------------------------------------------------------------------


def test_every_service_that_commands_ask_is_known_and_reached_there() -> None:
    typer.main.get_command(assemble())
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    asked = {each.service for each in Service.__subclasses__() if each.__module__.startswith("client.")}
    assert {"research", "gateway", "monitor"} <= asked
    for service in asked:
        assert typing.cast("str", BRANDCTL["environment"][f"{service.upper()}_URL"]).startswith(
            f"http://{service}:"
        )
        assert set(BRANDCTL["networks"]) & set(services[service]["networks"])
