"""Children end with their parent, and what a crash left behind is found again, and nothing else."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from brandctl.local import ports, processes, services

ENV = {"PATH": os.environ["PATH"]}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., processes.ChildProcess]]:
    with ExitStack() as cleanup:

        def begin(*command: str) -> processes.ChildProcess:
            child = processes.start("sample", command, log=tmp_path / "sample.log", env=ENV)
            cleanup.callback(child.stop, signal.SIGKILL)
            return child

        yield begin


def gone(pid: int, within: float = 60) -> bool:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if processes.identify("sample", pid) is None:
            return True
        time.sleep(0.02)
    return False


def test_a_child_does_not_outlive_a_parent_that_was_killed(tmp_path: Path) -> None:
    parent = f"""
import time
from pathlib import Path
from brandctl.local import processes
child = processes.start("sample", ["sleep", "600"], log=Path({str(tmp_path / "log")!r}), env={ENV!r})
print(child.process.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
    assert gone(child)


def test_a_child_whose_parent_was_gone_before_it_could_be_bound_to_it_does_not_run() -> None:
    bound = processes.as_user(None, signal.SIGTERM)
    ran = subprocess.run([*bound, "echo", "ran"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "ran\n")
    # Somebody else is its parent: to the child the same as an orphan's new one.
    orphan = subprocess.run(
        ["sh", "-c", '"$@"; exit $?', "sh", *bound, "echo", "ran"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (orphan.returncode, orphan.stdout) == (1, "")


def test_a_process_that_ends_while_starting_is_reported_with_the_end_of_its_log(
    start: Callable[..., processes.ChildProcess],
) -> None:
    child = start("sh", "-c", "echo the disk is full; exit 3")
    with pytest.raises(processes.StartError, match=r"sample ended with code 3(.|\n)*the disk is full"):
        child.wait_until(lambda: False, within=60)


def test_a_process_that_ignores_a_polite_request_is_ended_all_the_same(
    start: Callable[..., processes.ChildProcess],
) -> None:
    child = start("sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.1; done")
    child.wait_until(lambda: "deaf" in child.log_tail(), within=60)
    child.stop(grace=0.2)
    assert not child.running


def test_what_an_earlier_run_left_behind_is_ended(
    tmp_path: Path, start: Callable[..., processes.ChildProcess]
) -> None:
    child = start("sleep", "600")
    record = tmp_path / "processes.json"
    processes.record(record, [child])
    assert processes.end_recorded(record) == ["sample"]
    assert not child.running
    assert not record.exists()


def test_a_stranger_with_a_recorded_pid_is_left_alone(
    tmp_path: Path, start: Callable[..., processes.ChildProcess]
) -> None:
    child = start("sleep", "600")
    record = tmp_path / "processes.json"
    processes.record(record, [child])
    (row,) = json.loads(record.read_text())
    record.write_text(json.dumps([{**row, "started": "1"}]))
    assert processes.end_recorded(record) == []
    assert child.running


@pytest.mark.parametrize("content", ["", "{}", '[{"pid": 1}]', "[1]"])
def test_a_damaged_record_names_nobody(tmp_path: Path, content: str) -> None:
    record = tmp_path / "processes.json"
    record.write_text(content)
    assert processes.end_recorded(record) == []


def test_a_free_port_can_be_listened_on_and_then_is_free_no_more() -> None:
    port = ports.free_port()
    with socket.create_server((ports.LOOPBACK, port)):
        assert not ports.is_free(port)
        assert ports.accepts(port)
    assert not ports.accepts(port)


def test_no_port_is_given_twice_before_anybody_listens_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    start = ports.free_port()
    monkeypatch.setattr(ports, "_RANGE", range(start, start + 8))
    here: list[int] = []

    def take_all() -> None:
        while True:
            here.append(ports.free_port())

    with pytest.raises(ports.NoFreePortError):
        take_all()
    assert len(here) == len(set(here)) > 0
    elsewhere = f"""
from brandctl.local import ports
ports._RANGE = range({start}, {start + 8})
try:
    print(ports.free_port())
except ports.NoFreePortError:
    print("none is left")
"""
    asked = subprocess.run([sys.executable, "-c", elsewhere], capture_output=True, text=True, check=True)
    assert asked.stdout == "none is left\n"


@pytest.mark.parametrize("way", ["kept", "wanted"])
def test_a_port_of_an_earlier_run_is_given_to_nobody_before_anybody_listens_on_it(
    monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    asked = [sys.executable, "-c", "from brandctl.local import ports; print(ports.free_port())"]
    port = int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
    monkeypatch.setattr(ports, "_RANGE", range(port, port + 1))
    if way == "wanted":
        monkeypatch.setenv("A_PORT", str(port))
    assert services.choose_port("A_PORT", kept=port if way == "kept" else None) == port
    with pytest.raises(ports.NoFreePortError):
        ports.free_port()


def test_a_configured_port_that_is_taken_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((ports.LOOPBACK, 0)) as taken:
        monkeypatch.setenv("SOCIAL_PORT", str(taken.getsockname()[1]))
        with pytest.raises(services.PortTakenError, match="SOCIAL_PORT"):
            services.choose_addresses()


@pytest.mark.parametrize("value", ["http", "0", "65536", "-1"])
def test_a_configured_port_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("MONITOR_PORT", value)
    with pytest.raises(services.PortTakenError, match="1 to 65535"):
        services.choose_addresses()


def test_services_are_told_their_settings_and_not_the_administrators(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("POSTGRES_URL", "postgresql://root:secret@db/postgres")
    monkeypatch.setenv("RABBITMQ_API_URL", "http://root:secret@broker:15672")
    monkeypatch.setenv("LOG_LEVEL", "debug")
    addresses = services.ServiceAddresses({name: 8010 + n for n, name in enumerate(services.PROCESSES)})
    env = services.environment(
        "publisher",
        addresses=addresses,
        rabbitmq_url="amqp://broker",
        database_url="postgresql://own",
        service_key="a-key-for-tests-only",
        corpus=tmp_path,
    )
    assert env["HTTP_PORT"] == "8012"
    assert env["PUBLIC_URL"] == "http://127.0.0.1:8012"
    assert env["ORCHESTRATOR_URL"] == "http://127.0.0.1:8010"
    assert env["LOG_LEVEL"] == "debug"
    assert not {"POSTGRES_URL", "RABBITMQ_API_URL"} & env.keys()
