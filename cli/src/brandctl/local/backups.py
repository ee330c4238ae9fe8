"""A backup of what a local run keeps: databases, broker, published files and settings, as of containers."""

import hashlib
import json
import os
import shutil
import tarfile
import time
from pathlib import Path
from typing import Final

from brandctl.local import services
from brandctl.local.folder import LocalFolder
from brandctl.local.stack import LocalStack, create_databases, database_of
from brandctl.terminal import say
from chassis import secret_files

_SUMS: Final = "SHA256SUMS"
"""Written last: a folder without it is no backup."""
_HASHES: Final = "gateway-keys.hashes"
"""By which a restore knows the right GATEWAY_KEYS, which are not in a backup; of 32 random bytes, a hash tells nothing."""
_SECRET: Final = "secret"  # noqa: S105 - the name of a file
_PORTS: Final = "ports.json"
_BROKER: Final = "rabbitmq.tar.gz"
_PUBLISHED: Final = "published.tar.gz"
_SETTINGS: Final = "settings.env"
_REQUEST: Final = "backup-request.json"
_ANSWER: Final = "backup-answer.json"
_POLL_SECONDS: Final = 0.2


class BackupError(RuntimeError):
    """There is no backup, or nothing was restored; the message says why and what to do."""


def is_local(backup: Path) -> bool:
    """Whether a folder is a finished backup of a local run, and not one of containers."""
    return (backup / _SUMS).exists() and (backup / _PORTS).exists()


def make_backup(stack: LocalStack, backup: Path, settings: Path) -> None:
    """Copies everything into a new folder that only its owner may read.

    Args:
        stack: with PostgreSQL running; broker and services are stopped, so that no message is between two of them.
        backup: must not exist yet.
        settings: `.env`; may be missing.

    Raises:
        BackupError, StartError, OSError: there is no backup.
    """
    began = time.time()
    if stack.database is None:
        raise BackupError("POSTGRES_URL names a server of your own: back it up with its own programs")
    backup.mkdir(mode=0o700, parents=True)
    for service in services.PROCESSES:
        say(stack.console, f"Copying the database of {service}")
        dump = backup / f"{service}.dump"
        stack.database.run_tool(
            "pg_dump", "--format=custom", f"--dbname={database_of(service)}", f"--file={dump}"
        )
    say(stack.console, "Copying the broker")
    _pack(stack.folder.run / "rabbitmq", backup / _BROKER)
    if published := _published():
        say(stack.console, "Copying the published files")
        _pack(published, backup / _PUBLISHED)
    lines = settings.read_text().splitlines() if settings.exists() else []
    kept = [f"{line}\n" for line in lines if not line.startswith("GATEWAY_KEYS=")]
    (backup / _SETTINGS).write_text("".join(kept))
    shutil.copyfile(stack.folder.secret, backup / _SECRET)
    shutil.copyfile(stack.folder.ports, backup / _PORTS)
    (backup / _HASHES).write_text("".join(f"{each}\n" for each in _hashes(_gateway_keys(stack.folder))))
    _write_sums(backup)
    record = record_of(stack.folder)
    record.parent.mkdir(exist_ok=True)
    record.write_text(f"{began:.0f}\n")


def restore(stack: LocalStack, backup: Path, settings: Path, *, new_gateway_keys: bool) -> None:
    """Makes the data of a folder without data from a backup; everything is stopped before and after.

    Args:
        stack: a stopped one.
        backup: a folder made by `make_backup`.
        settings: where the settings of the backup go, unless there are some.
        new_gateway_keys: whether the keys that opened the providers' keys are lost.

    Raises:
        BackupError, StartError, OSError: nothing was restored, or the restore broke off.
    """
    folder = stack.folder
    _check_sums(backup)
    if folder.has_begun:
        raise BackupError(
            f"there are data in {folder.run} already, which a restore must not overwrite. Move that folder away first"
        )
    folder.run.mkdir(exist_ok=True)
    if not settings.exists():
        shutil.copyfile(backup / _SETTINGS, settings)
        settings.chmod(0o600)
    if not new_gateway_keys:
        _check_gateway_keys(folder, backup)
    with folder.restored():
        for name in (_SECRET, _PORTS):
            shutil.copyfile(backup / name, folder.run / name)
        folder.secret.chmod(0o600)
        if given := os.environ.get("GATEWAY_KEYS"):
            folder.keep_gateway_keys(given)
        try:
            create_databases(stack)
            if stack.database is None:
                raise BackupError("POSTGRES_URL names a server of your own: restore it with its own programs")
            for service in services.PROCESSES:
                dump = backup / f"{service}.dump"
                if not dump.exists():
                    continue  # a service that is newer than the backup begins with an empty database
                say(stack.console, f"Restoring the database of {service}")
                options = ("--exit-on-error", "--single-transaction", f"--dbname={database_of(service)}")
                stack.database.run_tool("pg_restore", *options, dump)
        finally:
            stack.stop()
        say(stack.console, "Restoring the broker")
        _unpack(backup / _BROKER, folder.run / "rabbitmq")
        _restore_published(stack, backup)
        folder.begin()


def record_of(folder: LocalFolder) -> Path:
    """The file that says when the last backup began, in UNIX seconds; the monitor's alert on its age reads it."""
    return folder.run / "backup-record" / "last"


def _published() -> Path | None:
    named = os.environ.get("PUBLISH_FOLDER")
    return Path(named) if named else None


def _restore_published(stack: LocalStack, backup: Path) -> None:
    published = _published()
    if published is None or not (backup / _PUBLISHED).exists():
        return
    published.mkdir(parents=True, exist_ok=True)
    if any(published.iterdir()):
        say(
            stack.console,
            f"{published} is not empty, so it stays; the files of the backup are in {backup / _PUBLISHED}",
        )
        return
    say(stack.console, "Restoring the published files")
    _unpack(backup / _PUBLISHED, published)


def _pack(folder: Path, archive: Path) -> None:
    with tarfile.open(archive, "w:gz") as packed:
        for path in sorted(folder.iterdir()):
            packed.add(path, path.name)


def _unpack(archive: Path, folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="tar")


def _gateway_keys(folder: LocalFolder) -> str:
    """The keys in use, with commas between them; the first one encrypts."""
    return secret_files.read(os.environ, "GATEWAY_KEYS") or folder.gateway_keys().read_text()


def _hashes(keys: str) -> list[str]:
    return [hashlib.sha256(key.strip().encode()).hexdigest() for key in keys.split(",")]


def _check_gateway_keys(folder: LocalFolder, backup: Path) -> None:
    first = (backup / _HASHES).read_text().split()[0]
    if first not in _hashes(_gateway_keys(folder)):
        raise BackupError(
            "GATEWAY_KEYS here are not those of the backup, so connected accounts would be lost. Give the right ones: "
            f"GATEWAY_KEYS=… make restore BACKUP={backup}; or, if they are lost: brandctl restore --new-gateway-keys {backup}"
        )


def _write_sums(backup: Path) -> None:
    lines = [f"{_sum(path)}  {path.name}\n" for path in sorted(backup.iterdir())]
    draft = backup / f".{_SUMS}"
    draft.write_text("".join(lines))
    draft.replace(backup / _SUMS)


def _check_sums(backup: Path) -> None:
    if not is_local(backup):
        raise BackupError(f"{backup} is no finished backup of `make run`")
    for line in (backup / _SUMS).read_text().splitlines():
        expected, name = line.split(maxsplit=1)
        path = backup / name
        if not path.exists() or _sum(path) != expected:
            raise BackupError(f"{path} is not as it was made")


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# -- A backup while the system runs: the process that runs it makes it ---------------------------------------------------


def request_backup(folder: LocalFolder, backup: Path) -> None:
    """Has the run that holds the folder make a backup, and waits for it.

    Raises:
        BackupError: there is no backup.
    """
    answer = folder.root / _ANSWER
    answer.unlink(missing_ok=True)
    folder.write_json(_REQUEST, {"backup": str(backup)})
    while folder.is_held:
        if answer.exists():
            error = json.loads(answer.read_text())["error"]
            answer.unlink()
            if error:
                raise BackupError(error)
            return
        time.sleep(_POLL_SECONDS)
    (folder.root / _REQUEST).unlink(missing_ok=True)
    raise BackupError("the run ended meanwhile; start it again, or ask again while it is stopped")


def requested_backup(folder: LocalFolder) -> Path | None:
    """The folder of the backup that `request_backup` waits for."""
    request = folder.root / _REQUEST
    return Path(json.loads(request.read_text())["backup"]) if request.exists() else None


def answer_backup(folder: LocalFolder, error: str | None) -> None:
    """Tells `request_backup` how its backup ended."""
    folder.write_json(_ANSWER, {"error": error})
    (folder.root / _REQUEST).unlink()
