"""Refusals of the scripts for backup and restore, and their leftovers after a failure, on a pretended Docker.

That a restored backup is complete shows `tests/end_to_end/test_backup_and_restore.py`.
"""

import os
import shutil
import stat
import subprocess
import time
from base64 import urlsafe_b64decode
from hashlib import sha256
from pathlib import Path

import pytest

from envelope.brand import DEPLOYED
from monitor.backups import last_backup

ROOT = Path(__file__).parents[2]
SERVICES = " ".join(DEPLOYED)
FILES = {
    *(f"{name}.dump" for name in SERVICES.split()),
    *("rabbitmq.tar.gz", "published.tar.gz", "settings.env", "gateway-keys.hashes", "SHA256SUMS"),
}
KEYS = "the-first-of-two,the-second-of-two"

DOCKER = """#!/bin/sh
# Notes how it was called, and answers as the files beside it say.
here=$(dirname "$0")
echo "$*" >>"$here/calls"
case "$*" in
*" ps --quiet postgres") [ -e "$here/is-down" ] || echo database ;;
*" ps --quiet "*) echo broker; echo research-1; echo research-2 ;;
*"$(cat "$here/fails")"*) echo "that failed" >&2; exit 1 ;;
*" pg_dump "*) echo "a dump for $*" ;;
*" publisher -c "*) echo "the published files" ;;
*" --create "*) echo "the files of the broker" ;;
"volume inspect "*) test -e "$here/has-data" ;;
*" pg_restore "* | *" --extract "*) cat >>"$here/restored" ;;
"version "*) echo 27.0 ;;
"compose version "*) echo 2.40.3 ;;
esac
"""


class Scripts:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record = folder / "backup-record"
        self.bin = folder / "bin"
        self.bin.mkdir()
        docker = self.bin / "docker"
        docker.write_text(DOCKER)
        docker.chmod(0o755)
        self.tell("fails", "nothing fails")
        self.settings = folder / "settings.env"
        self.settings.write_text("RABBITMQ_PASSWORD=of-the-broker\nSERVICE_KEY=a-key-for-tests-only\n")
        with self.settings.open("a") as lines:
            lines.write(f"GATEWAY_KEYS={KEYS}\n")
        self("settings.sh")
        self.backup = folder / "backup"

    def tell(self, file: str, text: str = "") -> None:
        (self.bin / file).write_text(text)

    def __call__(
        self, script: str, *arguments: object, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        ports = {f"{name.upper()}_PORT": "0" for name in (*SERVICES.split(), "rabbitmq_ui")}
        return subprocess.run(
            [shutil.which("bash") or "bash", ROOT / "deploy/compose" / script, *map(str, arguments)],
            cwd=self.folder,
            env={
                **os.environ,
                **ports,
                "PATH": f"{self.bin}:{os.environ['PATH']}",
                "ENV_FILE": str(self.settings),
                "COMPOSE_PROJECT_NAME": "pretended",
                "MINIMAL": "1",
                "BACKUP_RECORD_FOLDER": str(self.record),
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def calls(self) -> str:
        return (self.bin / "calls").read_text()


@pytest.fixture
def scripts(tmp_path: Path) -> Scripts:
    return Scripts(tmp_path)


@pytest.fixture
def made(scripts: Scripts) -> Scripts:
    assert scripts("backup.sh", "backup").returncode == 0
    (scripts.bin / "calls").unlink()
    return scripts


# -- backup ------------------------------------------------------------------------------------------------------------


@pytest.mark.extended
def test_a_backup_is_made_while_nothing_moves_and_only_its_owner_may_read_it(scripts: Scripts) -> None:
    done = scripts("backup.sh", "backup")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in scripts.backup.iterdir()} == FILES
    assert {stat.S_IMODE(path.stat().st_mode) for path in scripts.backup.iterdir()} == {0o600}
    assert stat.S_IMODE(scripts.backup.stat().st_mode) == 0o700
    calls = scripts.calls()
    order = [
        f"stop {SERVICES}\n",
        "pg_dump",
        "stop rabbitmq\n",
        "rabbitmq --create",
        "publisher -c",
        "start broker research-1 research-2\n",
    ]
    assert [calls.index(each) for each in order] == sorted(calls.index(each) for each in order)


def test_when_the_last_backup_began_is_kept_where_another_user_reads_it(scripts: Scripts) -> None:
    before = int(time.time())
    assert scripts("backup.sh", "backup").returncode == 0
    last = scripts.record / "last"
    assert before <= last_backup(last) <= time.time()
    assert stat.S_IMODE(last.stat().st_mode) == 0o644
    assert stat.S_IMODE(scripts.record.stat().st_mode) == 0o755


@pytest.mark.extended
def test_a_backup_that_fails_leaves_the_record_of_the_one_before(made: Scripts) -> None:
    (made.record / "last").write_text("1795485583\n")
    made.tell("fails", "publisher -c")
    assert made("backup.sh", "another").returncode != 0
    assert last_backup(made.record / "last") == 1795485583


@pytest.mark.extended
def test_nothing_is_stopped_for_a_backup_that_nobody_would_know_of(scripts: Scripts) -> None:
    scripts.record.write_text("")
    done = scripts("backup.sh", "backup")
    assert done.returncode == 1
    assert f"BACKUP_RECORD_FOLDER={scripts.record} cannot be written to" in done.stderr
    assert " stop " not in scripts.calls()


@pytest.mark.extended
@pytest.mark.parametrize(
    "step", ["pg_dump", "--dbname social", "stop rabbitmq", "rabbitmq --create", "publisher -c"]
)
def test_what_ran_runs_again_when_a_backup_fails_and_nobody_takes_the_rest_for_one(
    scripts: Scripts, step: str
) -> None:
    scripts.tell("fails", step)
    assert scripts("backup.sh", "backup").returncode != 0
    assert scripts.calls().endswith("start broker research-1 research-2\n")
    done = scripts("restore.sh", "backup")
    assert done.returncode == 1
    assert "no finished backup" in done.stderr


def test_a_backup_goes_to_a_new_folder_or_not_at_all(made: Scripts) -> None:
    done = made("backup.sh", "backup")
    assert done.returncode == 1
    assert "must be a new folder" in done.stderr
    assert not (made.bin / "calls").exists()


def test_a_stolen_backup_does_not_open_the_keys_of_providers(made: Scripts) -> None:
    for path in made.backup.iterdir():
        for key in KEYS.split(","):
            assert key not in path.read_text(), path.name
    settings = (made.backup / "settings.env").read_text()
    assert "GATEWAY_KEYS" not in settings
    # Where secrets are written belongs to the machine.
    assert "SECRETS_FOLDER" not in settings
    assert "RABBITMQ_PASSWORD=of-the-broker\n" in settings


def test_without_a_running_database_there_is_no_backup(scripts: Scripts) -> None:
    scripts.tell("is-down")
    done = scripts("backup.sh", "backup")
    assert done.returncode == 1
    assert "PostgreSQL does not run: make up" in done.stderr
    assert "stop" not in scripts.calls()


# -- restore -----------------------------------------------------------------------------------------------------------


@pytest.mark.extended
def test_a_restore_fills_databases_and_broker_before_anything_else_runs(made: Scripts) -> None:
    made.settings.unlink()
    done = made("restore.sh", "backup", GATEWAY_KEYS=KEYS)
    assert done.returncode == 0, done.stderr
    calls = made.calls()
    order = ["run --rm -T databases\n", "pg_restore", "--extract", " up --detach"]
    assert [calls.index(each) for each in order] == sorted(calls.index(each) for each in order)
    restored = (made.bin / "restored").read_text()
    assert restored.count("a dump for") == len(DEPLOYED)
    assert "the files of the broker" in restored
    assert "RABBITMQ_PASSWORD=of-the-broker\n" in made.settings.read_text()
    assert made.settings.read_text().count(f"GATEWAY_KEYS={KEYS}\n") == 1


def test_without_settings_a_restore_takes_the_keys_that_are_kept_elsewhere(made: Scripts) -> None:
    made.settings.unlink()
    done = made("restore.sh", "backup")
    assert done.returncode == 1
    assert "GATEWAY_KEYS=… " in done.stderr
    assert "--new-gateway-keys" in done.stderr
    # The next try begins as this one did.
    assert not made.settings.exists()
    assert not (made.bin / "restored").exists()


@pytest.mark.extended
def test_other_keys_than_those_of_the_backup_are_refused(made: Scripts) -> None:
    before = made.settings.read_text()
    made.settings.write_text(before.replace(KEYS, "neither-of-them"))
    done = made("restore.sh", "backup")
    assert done.returncode == 1
    assert "GATEWAY_KEYS are not those of the backup" in done.stderr
    assert not (made.bin / "restored").exists()
    # In .env, quotes may stand around them.
    made.settings.write_text(before.replace(KEYS, f"'{KEYS}'"))
    assert made("restore.sh", "backup").returncode == 0
    # After a rotation, the one that encrypted is further behind.
    made.settings.write_text(before.replace(KEYS, "a-new-one,the-first-of-two"))
    assert made("restore.sh", "backup").returncode == 0


@pytest.mark.extended
def test_lost_keys_are_made_anew_if_that_is_said(made: Scripts) -> None:
    made.settings.unlink()
    done = made("restore.sh", "--new-gateway-keys", "backup")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in made.settings.read_text().splitlines() if line.startswith("GATEWAY_KEYS=")]
    assert len(urlsafe_b64decode(line.removeprefix("GATEWAY_KEYS="))) == 32


@pytest.mark.extended
def test_a_backup_of_before_that_holds_its_keys_is_restored(made: Scripts) -> None:
    made.settings.rename(made.backup / "settings.env")
    (made.backup / "gateway-keys.hashes").unlink()
    (made.backup / "published.tar.gz").unlink()
    sums = "".join(
        f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in made.backup.iterdir()
        if path.name != "SHA256SUMS"
    )
    (made.backup / "SHA256SUMS").write_text(sums)
    done = made("restore.sh", "backup", PUBLISH_FOLDER=str(made.folder))
    assert done.returncode == 0, done.stderr
    assert f"GATEWAY_KEYS={KEYS}\n" in made.settings.read_text()


@pytest.mark.extended
def test_published_files_are_put_back_where_there_are_none(made: Scripts) -> None:
    folder = made.folder / "published"
    done = made("restore.sh", "backup", PUBLISH_FOLDER=str(folder))
    assert done.returncode == 1
    assert f"mkdir -p {folder} && sudo chown 10001:10001" in done.stderr
    folder.mkdir()
    done = made("restore.sh", "backup", PUBLISH_FOLDER=str(folder))
    assert done.returncode == 0, done.stderr
    assert "the published files" in (made.bin / "restored").read_text()
    (made.bin / "restored").unlink()
    (folder / "newer.md").write_text("newer")
    done = made("restore.sh", "backup", PUBLISH_FOLDER=str(folder))
    assert done.returncode == 0, done.stderr
    assert "is not empty, so it stays as it is" in done.stderr
    assert "the published files" not in (made.bin / "restored").read_text()


@pytest.mark.extended
def test_data_that_are_there_are_not_overwritten(made: Scripts) -> None:
    made.tell("has-data")
    done = made("restore.sh", "backup")
    assert done.returncode == 1
    assert "make down VOLUMES=1" in done.stderr
    assert not (made.bin / "restored").exists()


def test_a_backup_that_has_changed_is_refused(made: Scripts) -> None:
    (made.backup / "social.dump").write_text("something else")
    done = made("restore.sh", "backup")
    assert done.returncode == 1
    assert "is not as it was made" in done.stderr
    assert "social.dump" in done.stderr


def test_settings_that_do_not_fit_the_broker_are_refused(made: Scripts) -> None:
    made.settings.write_text(f"RABBITMQ_PASSWORD=another\nGATEWAY_KEYS={KEYS}\n")
    done = made("restore.sh", "backup")
    assert done.returncode == 1
    assert "RABBITMQ_PASSWORD" in done.stderr
    assert not (made.bin / "restored").exists()


@pytest.mark.extended
def test_a_restore_that_breaks_off_says_how_to_begin_again(made: Scripts) -> None:
    made.tell("fails", "pg_restore")
    done = made("restore.sh", "backup")
    assert done.returncode != 0
    assert "broke off" in done.stderr
    assert "make down VOLUMES=1" in done.stderr
    assert " up --detach" not in made.calls()


# -- another major version of PostgreSQL -------------------------------------------------------------------------------


@pytest.mark.extended
def test_an_upgrade_moves_the_databases_while_nothing_moves_and_keeps_the_broker(scripts: Scripts) -> None:
    done = scripts("upgrade-postgres.sh", "postgres:18", "backup")
    assert done.returncode == 0, done.stderr
    calls = scripts.calls()
    order = [
        f"stop {SERVICES}\n",
        "pg_dump",
        "rm --stop --force postgres databases\n",
        "volume rm pretended_postgres\n",
        "run --rm -T databases\n",
        "pg_restore",
        "vacuumdb",
        " up --detach",
    ]
    assert [calls.index(each) for each in order] == sorted(calls.index(each) for each in order)
    assert "pretended_rabbitmq" not in calls
    assert (scripts.bin / "restored").read_text().count("a dump for") == len(DEPLOYED)
    assert "\nPOSTGRES_IMAGE=postgres:18\n" in scripts.settings.read_text()
    assert {path.name for path in scripts.backup.iterdir()} == FILES


def test_without_a_whole_backup_nothing_is_upgraded_and_everything_runs_again(scripts: Scripts) -> None:
    scripts.tell("fails", "--dbname social")
    assert scripts("upgrade-postgres.sh", "postgres:18", "backup").returncode != 0
    assert "volume rm" not in scripts.calls()
    assert scripts.calls().endswith(f"start {SERVICES}\n")
    assert "POSTGRES_IMAGE" not in scripts.settings.read_text()


@pytest.mark.extended
def test_an_upgrade_that_breaks_off_says_how_to_go_back(scripts: Scripts) -> None:
    scripts.tell("fails", "pg_restore")
    done = scripts("upgrade-postgres.sh", "postgres:18", "backup")
    assert done.returncode != 0
    assert "set POSTGRES_IMAGE" in done.stderr
    assert f"restore.sh {scripts.backup}" in done.stderr
    assert (scripts.backup / "SHA256SUMS").exists()


@pytest.mark.extended
def test_an_upgrade_replaces_the_version_that_was_set(scripts: Scripts) -> None:
    scripts.settings.write_text(f"POSTGRES_IMAGE=postgres:16\n{scripts.settings.read_text()}")
    assert scripts("upgrade-postgres.sh", "postgres:18", "backup").returncode == 0
    assert scripts.settings.read_text().count("POSTGRES_IMAGE=") == 1
    assert "POSTGRES_IMAGE=postgres:18\n" in scripts.settings.read_text()
