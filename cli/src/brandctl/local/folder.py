"""The folder of a local run: its lock, the remains of an earlier run, and the checkout's secret."""

import base64
import fcntl
import hashlib
import hmac
import json
import os
import secrets
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

from brandctl.local import postgres, processes, services

_WHILE_UP: Final = ("demo.env", "run.env", "endpoints.json", "service-key")


class FolderInUseError(RuntimeError):
    pass


class LocalFolder:
    """`.local/` of a checkout: a folder for the nodes' data and the logs, and files about the run.

    Args:
        root: `.local`.
        keeps: whether the data are kept for a later run. Then they, the ports, the secret and the logs are in `data/`;
            otherwise the nodes are in `run/`, which goes with the run.
    """

    def __init__(self, root: Path, *, keeps: bool = False) -> None:
        self.root = root.resolve()
        self.keeps = keeps
        self.run = self.root / ("data" if keeps else "run")
        self._secrets = self.run if keeps else self.root
        self.logs = self._secrets / "logs"
        self._children: list[processes.ChildProcess] = []

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the folder for one run; the lock goes with the process, however that ends.

        Raises:
            FolderInUseError: another run holds it.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        with self._lock.open("a+") as lock:
            if not _locks(lock):
                holder = self.holder() or "unknown"
                raise FolderInUseError(
                    f"another run holds {self.root} (process {holder}). Stop it first (make stop, or Ctrl-C in its "
                    f"terminal, or: kill {holder}), or run from another checkout."
                )
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            yield

    @property
    def is_held(self) -> bool:
        """Whether a run holds the folder."""
        try:
            with self._lock.open("r") as lock:
                return not _locks(lock)
        except FileNotFoundError:
            return False

    def holder(self) -> int | None:
        """The process of the run that holds the folder; None in the moment before it has written that down."""
        told = self._lock.read_text().strip()
        return int(told) if told.isdigit() else None

    @property
    def _lock(self) -> Path:
        return self.root / "lock"

    def clean(self) -> list[str]:
        """Ends processes that a killed run left behind, and removes data that are not kept; returns the processes' names.

        A first run that was cut off before its services started holds nothing worth keeping.

        Raises:
            StartError: a restore broke off here.
        """
        if self._restoring.exists():
            raise processes.StartError(
                f"a restore broke off, so the data in {self.run} are not whole. Restore them again: make restore BACKUP=…"
            )
        ended = self._end_processes()
        if not self.has_begun:
            self.discard()
        self.forget()
        self.run.mkdir(exist_ok=True)
        self.logs.mkdir(exist_ok=True)
        if not self.keeps:
            for log in self.logs.glob("*.log"):
                log.unlink()
        return ended

    def _end_processes(self) -> list[str]:
        ended = processes.end_recorded(self._record)
        # A killed server's backends, which live on for a moment, and a server that was started just before it could be recorded.
        processes.end_users_of((self.run / "postgres").resolve(), "postgres")
        processes.end_users_of(self.run / "rabbitmq", "beam.smp", "epmd")
        return ended

    @property
    def has_begun(self) -> bool:
        """Whether there are data of an earlier run to go on with."""
        return self.keeps and self._begun.exists()

    def begin(self) -> None:
        """Remembers that servers and databases are complete: from now on `clean` removes nothing of a folder that keeps."""
        if self.keeps and not self.has_begun:
            os.sync()  # on disk before the file that says so
            self._begun.touch()

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Has data restored within the block; if it fails, `clean` refuses what is there."""
        self._end_processes()
        self.discard()
        self.run.mkdir(exist_ok=True)
        self._restoring.touch()
        yield
        self._restoring.unlink()

    @property
    def _begun(self) -> Path:
        return self.run / "begun"

    @property
    def _restoring(self) -> Path:
        return self.run / "restoring"

    def remember(self, *children: processes.ChildProcess) -> None:
        """Records the children for `clean` of a later run."""
        self._children = [child for child in self._children if child.running] + list(children)
        processes.record(self._record, self._children)

    def forget(self) -> None:
        """Removes addresses of the run, since all its processes have ended, and its data unless they are kept."""
        for name in (self._record.name, *_WHILE_UP):
            (self.root / name).unlink(missing_ok=True)
        if not self.keeps:
            self.discard()
            shutil.rmtree(self.run, ignore_errors=True)

    def discard(self) -> None:
        """Removes the data of the servers."""
        postgres.discard(self.run / "postgres")
        shutil.rmtree(self.run / "rabbitmq", ignore_errors=True)

    def choose_port(self, variable: str) -> int:
        """Returns the port in an environment variable, or else the one of the earlier run, and keeps it.

        Raises:
            PortTakenError: the variable has no port number, or the port is in use.
        """
        kept: dict[str, int] = {}
        with suppress(OSError, ValueError):
            kept = json.loads(self.ports.read_text())
        port = services.choose_port(variable, kept.get(variable))
        if self.keeps:
            _replace(self.ports, json.dumps(kept | {variable: port}, indent=2) + "\n")
        return port

    @property
    def ports(self) -> Path:
        """The file with the ports of a run that keeps them."""
        return self.run / "ports.json"

    @property
    def secret(self) -> Path:
        """The file with the secret that all passwords are derived from."""
        return self._secrets / "secret"

    def derive(self, purpose: str) -> str:
        """Returns a password for a purpose, the same in every run of this checkout and different in others."""
        if not self.secret.exists():
            _replace(self.secret, secrets.token_hex(32), mode=0o600)
        return hmac.new(self.secret.read_bytes(), purpose.encode(), hashlib.sha256).hexdigest()[:40]

    def gateway_keys(self) -> Path:
        """The file with the keys that encrypt providers' keys, made once: without it they cannot be decrypted."""
        path = self._secrets / "gateway-keys"
        if not path.exists():
            self.keep_gateway_keys(base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())
        return path

    def keep_gateway_keys(self, keys: str) -> None:
        """Replaces the keys that encrypt providers' keys, such as by those of a backup."""
        _replace(self._secrets / "gateway-keys", keys + "\n", mode=0o600)

    def write_json(self, name: str, value: Mapping[str, Any]) -> Path:
        return _replace(self.root / name, json.dumps(value, indent=2, ensure_ascii=False) + "\n")

    @property
    def settings(self) -> Path:
        """The file with addresses and service key of the run, for a shell to source."""
        return self.root / ("run.env" if self.keeps else "demo.env")

    def announce(self, urls: Mapping[str, str], service_key: str, **secrets_for_shells: str) -> None:
        """Writes the services' addresses for shells (`settings`) and other commands (`endpoints.json`).

        The key is in files that only their owner can read, and goes with the run.
        """
        variables = {"SERVICE_KEY": service_key} | {f"{name.upper()}_URL": url for name, url in urls.items()}
        variables |= secrets_for_shells
        lines = [f"export {name}={shlex.quote(value)}\n" for name, value in variables.items()]
        _replace(self.settings, "".join(lines), mode=0o600)
        key = _replace(self.root / "service-key", service_key + "\n", mode=0o600)
        endpoints = {f"{name}_url": url for name, url in urls.items()}
        self.write_json("endpoints.json", {**endpoints, "service_key_file": key.name})

    @property
    def _record(self) -> Path:
        return self.root / "processes.json"


def _locks(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _replace(path: Path, text: str, *, mode: int = 0o644) -> Path:
    """Replaces a file at once, so that neither a reader nor a crash sees half of it."""
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    draft.touch(mode=mode)
    draft.write_text(text)
    draft.replace(path)
    return path
