"""`brandctl run` as a small team runs it: killed, started again, backed up, restored."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brandctl.local import processes, services
from brandctl.local.folder import LocalFolder
from brandctl.run import restart_delay, take_settings
from tests.fixtures.commands.local_run import LocalRun, local_run

ROOT = Path(__file__).parents[3]
WITHIN_SECONDS = 180
KEYWORDS = ["grind size", "cold brew", "french press", "moka pot", "espresso"]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[LocalRun]:
    with local_run(tmp_path) as made:
        yield made


def assert_each_was_done_once(run: LocalRun, keywords: list[dict[str, Any]]) -> None:
    addresses = sorted(keyword["published_url"] for keyword in keywords)
    assert len(set(addresses)) == len(keywords)
    sitemap = run.get("publisher", "/sites/acme/sitemap.xml").text
    pages = [part.split("</loc>")[0] for part in sitemap.split("<loc>")[1:]]
    assert sorted(page for page in pages if not page.endswith("/")) == addresses
    assert run.get("social", "/feeds/acme/feed.xml").text.count("<entry>") == len(keywords)
    assert run.get("monitor", "/v1/dead-letters").json()["items"] == []


@pytest.mark.extended
def test_killed_in_the_midst_of_work_it_goes_on_backs_up_and_comes_back(
    run: LocalRun, tmp_path: Path
) -> None:
    run.start()
    first = run.recorded()
    run.put("/v1/brands/acme", {"name": "Acme"})
    cycle = run.submit(*KEYWORDS)
    ports = (run.local / "data" / "ports.json").read_text()
    run.kill_everything()

    # As if another program had the pid that the killed server left behind.
    pid_file = (run.local / "data" / "postgres").resolve() / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
    run.start()
    assert "Going on with the data" in run.output.read_text()
    assert (run.local / "data" / "ports.json").read_text() == ports
    keywords = run.wait_until_completed(cycle)
    assert_each_was_done_once(run, keywords)
    assert not set(first.values()) & set(run.recorded().values())

    second = run.command("run")
    assert second.returncode == 1
    assert "another run holds" in second.stderr

    # A service and the servers end unexpectedly, and start again.
    for name in ("research", "PostgreSQL", "RabbitMQ"):
        before = run.recorded()[name]
        os.kill(before, signal.SIGKILL)
        run.wait_for(lambda name=name, before=before: run.recorded().get(name, before) != before)
    keywords += run.wait_until_completed(run.submit("water quality for coffee"))
    assert_each_was_done_once(run, keywords)

    backup = tmp_path / "backup"
    made = run.command("backup", backup)
    assert made.returncode == 0, made.stderr
    assert {f"{name}.dump" for name in services.PROCESSES} < {path.name for path in backup.iterdir()}
    assert backup.stat().st_mode & 0o777 == 0o700
    assert run.get("monitor", "/health/ready").status_code == 200  # everything runs again

    stopped = run.command("stop")
    assert stopped.returncode == 0
    assert "has ended" in stopped.stderr
    assert run.process is not None
    assert run.process.wait(90) == 0
    assert "Nothing runs" in run.command("stop").stderr

    refused = run.command("restore", backup)
    assert refused.returncode == 1
    assert "there are data" in refused.stderr
    keys = (run.local / "data" / "gateway-keys").read_text().strip()
    LocalFolder(run.local, keeps=True).discard()
    shutil.rmtree(run.local)
    without_keys = run.command("restore", backup)
    assert without_keys.returncode == 1
    assert "GATEWAY_KEYS" in without_keys.stderr
    restored = run.command("restore", backup, GATEWAY_KEYS=keys)
    assert restored.returncode == 0, restored.stderr

    run.start()
    assert_each_was_done_once(run, keywords)
    keywords += run.wait_until_completed(run.submit("pour-over coffee"))
    assert_each_was_done_once(run, keywords)


def test_a_first_start_that_was_cut_off_is_begun_anew(run: LocalRun) -> None:
    data = run.local / "data"
    for half in (data / "postgres", data / "rabbitmq"):
        half.mkdir(parents=True)
        (half / "half-written").touch()
    folder = LocalFolder(run.local, keeps=True)
    with folder.held():
        folder.clean()
        assert not (data / "postgres").exists()
        assert not (data / "rabbitmq").exists()
        folder.begin()
        (data / "rabbitmq").mkdir()
        folder.clean()
        assert (data / "rabbitmq").exists()
    (data / "begun").unlink()


@pytest.mark.extended
def test_a_restore_that_broke_off_is_not_taken_for_data(run: LocalRun) -> None:
    folder = LocalFolder(run.local, keeps=True)
    folder.root.mkdir()
    with pytest.raises(OSError, match="no space"), folder.restored():
        raise OSError("no space")
    refused = run.command("run")
    assert refused.returncode == 1
    assert "a restore broke off" in refused.stderr
    (folder.run / "restoring").unlink()


def test_a_kept_port_that_is_taken_is_told_with_its_setting(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path, keeps=True)
    folder.run.mkdir()
    port = folder.choose_port("POSTGRES_PORT")
    assert folder.choose_port("POSTGRES_PORT") == port
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(services.PortTakenError, match=f"port {port}.*POSTGRES_PORT"),
    ):
        folder.choose_port("POSTGRES_PORT")


def test_settings_are_read_as_for_containers_and_the_shell_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CORPUS", "GATEWAY_MODEL_NAME", "SEARXNG_URL", "RABBITMQ_MANAGEMENT_PORT"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("WRITERS", "3")
    file = tmp_path / ".env"
    file.write_text(
        "CORPUS=./texts # ours\nGATEWAY_MODEL_NAME='a # name'\nWRITERS=5\n#SEARXNG_URL=x\nBRAVE_API_KEY=\nRABBITMQ_UI_PORT=15672\n"
    )
    take_settings(file)
    assert os.environ["CORPUS"] == str(tmp_path / "texts")
    assert os.environ["GATEWAY_MODEL_NAME"] == "a # name"
    assert os.environ["WRITERS"] == "3"
    assert os.environ["RABBITMQ_MANAGEMENT_PORT"] == "15672"
    assert not {"SEARXNG_URL", "BRAVE_API_KEY"} & os.environ.keys()


def test_a_service_that_ends_again_and_again_waits_longer_each_time() -> None:
    delays = [restart_delay(None, 0)]
    for _ in range(7):
        delays.append(restart_delay(delays[-1], ran_for=1))
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60]
    assert restart_delay(60, ran_for=3600) == 1


def test_a_log_stays_within_its_bounds_while_its_writer_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "research.log"
    with log.open("ab") as output:
        writer = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=output, bufsize=0)
    assert writer.stdin is not None
    for line in (b"one\n", b"two\n", b"three\n", b"four\n"):
        before = log.stat().st_size
        writer.stdin.write(line)
        while log.stat().st_size < before + len(line):
            time.sleep(0.01)
        processes.limit_log(log, most=3, kept=2)
    writer.stdin.close()
    assert writer.wait() == 0
    kept = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert kept == {"research.log": "", "research.log.1": "four\n", "research.log.2": "three\n"}
