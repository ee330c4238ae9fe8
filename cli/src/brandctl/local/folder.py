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
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from brandctl.local import postgres, processes

_WHILE_UP: Final = ("demo.env", "endpoints.json", "service-key")


class FolderInUseError(RuntimeError):
    pass


class LocalFolder:
    """`.local/` of a checkout: `run/` for the nodes' data, `logs/`, and files about the run."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.run = self.root / "run"
        self.logs = self.root / "logs"
        self._children: list[processes.ChildProcess] = []

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the folder for one run; the lock goes with the process, however that ends.

        Raises:
            FolderInUseError: another run holds it.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / "lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                holder = lock.read().strip() or "unknown"
                raise FolderInUseError(
                    f"another run holds {self.root} (process {holder}). Stop it first (Ctrl-C in its terminal, "
                    f"or: kill {holder}), or run from another checkout."
                ) from None
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            yield

    def clean(self) -> list[str]:
        """Ends processes and removes data that a killed run left behind; returns the names of the processes."""
        ended = processes.end_recorded(self._record)
        postgres.discard(self.run / "postgres")
        self.forget()
        self.run.mkdir(exist_ok=True)
        self.logs.mkdir(exist_ok=True)
        for log in self.logs.glob("*.log"):
            log.unlink()
        return ended

    def remember(self, *children: processes.ChildProcess) -> None:
        """Records the children for `clean` of a later run."""
        self._children += children
        processes.record(self._record, self._children)

    def forget(self) -> None:
        """Removes data and addresses of the run, since all its processes have ended."""
        for name in (self._record.name, *_WHILE_UP):
            (self.root / name).unlink(missing_ok=True)
        shutil.rmtree(self.run, ignore_errors=True)

    def derive(self, purpose: str) -> str:
        """Returns a password for a purpose, the same in every run of this checkout and different in others."""
        path = self.root / "secret"
        if not path.exists():
            path.touch(mode=0o600)
            path.write_text(secrets.token_hex(32))
        return hmac.new(path.read_bytes(), purpose.encode(), hashlib.sha256).hexdigest()[:40]

    def gateway_keys(self) -> Path:
        """The file with the keys that encrypt providers' keys, made once: without it they cannot be decrypted."""
        path = self.root / "gateway-keys"
        if not path.exists():
            return self._write_private(
                path.name, base64.urlsafe_b64encode(secrets.token_bytes(32)).decode() + "\n"
            )
        return path

    def write_json(self, name: str, value: Mapping[str, Any]) -> Path:
        """Replaces a file at once, so that a reader never sees half of it."""
        path = self.root / name
        draft = path.with_name(f"{name}.new")
        draft.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
        draft.replace(path)
        return path

    @property
    def settings(self) -> Path:
        """The file with addresses and service key of the run, for a shell to source."""
        return self.root / "demo.env"

    def announce(self, urls: Mapping[str, str], service_key: str) -> None:
        """Writes the services' addresses for shells (`demo.env`) and other commands (`endpoints.json`).

        The key is in files that only their owner can read, and goes with the run.
        """
        variables = {"SERVICE_KEY": service_key} | {f"{name.upper()}_URL": url for name, url in urls.items()}
        lines = [f"export {name}={shlex.quote(value)}\n" for name, value in variables.items()]
        self._write_private(self.settings.name, "".join(lines))
        key = self._write_private("service-key", service_key + "\n")
        endpoints = {f"{name}_url": url for name, url in urls.items()}
        self.write_json("endpoints.json", {**endpoints, "service_key_file": key.name})

    def _write_private(self, name: str, text: str) -> Path:
        path = self.root / name
        path.unlink(missing_ok=True)
        path.touch(mode=0o600)
        path.write_text(text)
        return path

    @property
    def _record(self) -> Path:
        return self.root / "processes.json"
