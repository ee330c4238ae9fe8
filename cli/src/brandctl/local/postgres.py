"""A private PostgreSQL server in a folder."""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from brandctl.local import ports, processes

SUPERUSER: Final = "brand"

_ALWAYS: Final = {
    "listen_addresses": ports.LOOPBACK,
    # No socket file: its path would have to be short, writable and unguessable.
    "unix_socket_directories": "",
    "password_encryption": "scram-sha-256",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "logging_collector": "off",
    # An idle server should stay asleep.
    "bgwriter_lru_maxpages": "0",
    "autovacuum_naptime": "60s",
}
_THROW_AWAY: Final = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class NotInstalledError(RuntimeError):
    pass


@dataclass(frozen=True, slots=True)
class PostgresNode:
    """A running server. `url` is its superuser on the database `postgres`."""

    child: processes.ChildProcess
    port: int
    password: str
    folder: Path
    link: Path

    @property
    def url(self) -> str:
        return f"postgresql://{SUPERUSER}:{self.password}@{ports.LOOPBACK}:{self.port}/postgres"

    def wait(self, within: float = 30.0) -> None:
        """Waits until the server takes connections.

        Raises:
            StartError: the server ended, or took too long.
        """
        pid_file, pid = self.folder / "postmaster.pid", self.child.process.pid
        self.child.wait_until(lambda: _says_ready(pid_file, pid), within=within)

    def run_tool(self, tool: str, *arguments: str | Path) -> None:
        """Runs a client program of PostgreSQL, such as pg_dump, as the superuser of this server.

        Raises:
            StartError: it failed; the message carries what it said.
        """
        version = (self.folder / "PG_VERSION").read_text().strip()
        address = [f"--host={ports.LOOPBACK}", f"--port={self.port}", f"--username={SUPERUSER}"]
        result = subprocess.run(  # noqa: S603
            [str(find_binaries(version) / tool), *address, *map(str, arguments)],
            check=False,
            capture_output=True,
            text=True,
            env={
                "PATH": os.environ.get("PATH", os.defpath),
                "LC_ALL": "C.UTF-8",
                "PGPASSWORD": self.password,
            },
        )
        if result.returncode != 0:
            raise processes.StartError(f"{tool} failed:\n{result.stderr[-2000:]}")

    def stop(self, *, remove: bool = True) -> None:
        """Ends the server by a fast shutdown and, by default, removes its data."""
        self.child.stop(signal.SIGINT)
        if remove:
            discard(self.link)

    def start_again(self, *, log: Path, keep_log: bool = False) -> "PostgresNode":
        """Starts an ended server again on its data and port, without waiting for it."""
        return replace(self, child=_start_server(self.folder, log, keep_log=keep_log))

    def make_standby(self, folder: Path, *, through: int) -> "PostgresNode":
        """Copies the server, which runs on, into `folder` as a standby on a port of its own; `start_again` starts it.

        Args:
            folder: where the copy goes; must not exist yet.
            through: the port on which the standby reaches this server, such as a proxy's.

        Raises:
            StartError: the server could not be copied.
        """
        user = unprivileged_user() if os.geteuid() == 0 else None
        data = _prepare(folder, user)
        address = [f"--host={ports.LOOPBACK}", f"--port={through}", f"--username={SUPERUSER}"]
        result = subprocess.run(  # noqa: S603
            [
                *processes.as_user(user),
                str(find_binaries() / "pg_basebackup"),
                *(f"--pgdata={data}", "--checkpoint=fast", "--write-recovery-conf", "--no-sync", *address),
            ],
            check=False,
            capture_output=True,
            text=True,
            cwd="/",
            env={
                "PATH": os.environ.get("PATH", os.defpath),
                "LC_ALL": "C.UTF-8",
                "PGPASSWORD": self.password,
            },
        )
        if result.returncode != 0:
            raise processes.StartError(f"pg_basebackup failed:\n{result.stderr[-2000:]}")
        return replace(self, folder=data, link=folder).take_over(ports.free_port())

    def take_over(self, port: int) -> "PostgresNode":
        """Sets the port for the next start, such as the port of a server that is gone."""
        with (self.folder / "postgresql.conf").open("a") as conf:
            conf.write(f"port = '{port}'\n")
        return replace(self, port=port)


def launch(
    folder: Path,
    *,
    port: int | None = None,
    durable: bool = True,
    log: Path | None = None,
    settings: Mapping[str, str] | None = None,
    password: str | None = None,
) -> PostgresNode:
    """Creates a server in `folder`, which must not exist yet, and starts it without waiting for it.

    PostgreSQL refuses to run as root, so root gives the folder to the user `postgres` (or `nobody`). Where that user
    cannot reach the folder, below /root for instance, the data go to a private folder under /var/tmp and `folder`
    becomes a link to it; the permissions of home folders stay.

    Args:
        folder: where the data go.
        port: a free one if not given.
        durable: False trades safety on a power cut for speed; for tests.
        log: the server's log file; beside the folder if not given.
        settings: further lines of `postgresql.conf`, which win over those set here.
        password: the superuser's; a random one if not given.

    Raises:
        NotInstalledError: the server's programs are not there.
        StartError: the data folder could not be created.
    """
    binaries = find_binaries()
    user = unprivileged_user() if os.geteuid() == 0 else None
    data = _prepare(folder, user)
    password = password or secrets.token_urlsafe(24)
    _initialise(binaries / "initdb", data, password, user)
    port = port or ports.free_port()
    lines = {**_ALWAYS, **({} if durable else _THROW_AWAY), **(settings or {}), "port": str(port)}
    with (data / "postgresql.conf").open("a") as conf:
        conf.writelines(f"{name} = '{value}'\n" for name, value in lines.items())
    child = _start_server(data, log or folder.with_name(f"{folder.name}.log"))
    return PostgresNode(child, port, password, data, folder)


def go_on(folder: Path, *, port: int, password: str, log: Path) -> PostgresNode:
    """Starts the server on the data that `launch` created in `folder`, also after a crash; does not wait for it.

    Args:
        folder: with the data.
        port: for this run.
        password: the superuser's, as given to `launch`.
        log: the server's log file, which is continued.

    Raises:
        NotInstalledError: the programs of the data's major version are not there.
    """
    data = folder.resolve()
    # Backends of a killed server live on for a moment.
    processes.end_users_of(data, "postgres")
    # Another program may have the pid that a killed server left here, and would be taken for it.
    (data / "postmaster.pid").unlink(missing_ok=True)
    with (data / "postgresql.conf").open("a") as conf:
        conf.write(f"port = '{port}'\n")
    return PostgresNode(_start_server(data, log, keep_log=True), port, password, data, folder)


def _start_server(data: Path, log: Path, *, keep_log: bool = False) -> processes.ChildProcess:
    version = (data / "PG_VERSION").read_text().strip()
    return processes.start(
        "PostgreSQL",
        [find_binaries(version) / "postgres", "-D", data],
        log=log,
        keep_log=keep_log,
        env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", "TZ": "UTC"},
        user=unprivileged_user() if os.geteuid() == 0 else None,
        on_parent_death=signal.SIGINT,  # its fast shutdown; SIGTERM would wait for the clients to leave
    )


def find_binaries(version: str | None = None) -> Path:
    """The folder with `initdb` and `postgres` of a major version, such as 15; of the newest one installed if not given.

    Debian keeps them off the search path. A program found there may be a wrapper that changes users.

    Raises:
        NotInstalledError: there are none of that version.
    """
    versioned = {path.parts[-3]: path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")}
    if versioned:
        wanted = version or max(versioned, key=int)
        if wanted not in versioned:
            raise NotInstalledError(
                f"the databases are of PostgreSQL {wanted}, which is not installed: apt-get install postgresql-{wanted}"
            )
        return versioned[wanted]
    found = shutil.which("postgres")
    if found is not None and (Path(found).parent / "initdb").exists():
        return Path(found).parent
    raise NotInstalledError("PostgreSQL is not installed. On Debian: apt-get install postgresql")


def unprivileged_user() -> str:
    """Returns the user that PostgreSQL runs as if this process is root."""
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        return "nobody"


def discard(folder: Path) -> None:
    """Removes a data folder, following the link that `launch` may have left in its place."""
    if folder.is_symlink():
        target = folder.readlink()
        # Only a target that `launch` may have made is removed, although the link is in our folder.
        if target.parent == Path("/var/tmp") and target.name.startswith(_PREFIX):  # noqa: S108 - made by mkdtemp
            shutil.rmtree(target, ignore_errors=True)
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)


_PREFIX: Final = "brand-engine-postgres-"


def _prepare(folder: Path, user: str | None) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    if user is None or _reachable(folder.parent, user):
        folder.mkdir(mode=0o700)
        data = folder.resolve()
    else:
        data = Path(tempfile.mkdtemp(prefix=_PREFIX, dir="/var/tmp"))
        folder.symlink_to(data)
    if user is not None:
        shutil.chown(data, user)
    return data


def _reachable(folder: Path, user: str) -> bool:
    check = [*processes.as_user(user), "test", "-x", str(folder.resolve())]
    return subprocess.run(check, check=False, capture_output=True).returncode == 0  # noqa: S603


def _initialise(initdb: Path, data: Path, password: str, user: str | None) -> None:
    secret = data.with_name(f"{data.name}.secret")
    secret.touch(mode=0o600, exist_ok=False)
    try:
        secret.write_text(password)
        if user is not None:
            shutil.chown(secret, user)
        result = subprocess.run(  # noqa: S603
            [
                *processes.as_user(user),
                str(initdb),
                f"--pgdata={data}",
                f"--username={SUPERUSER}",
                f"--pwfile={secret}",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                # The data are new; after a power cut in these two seconds, the next run makes them anew.
                "--no-sync",
            ],
            check=False,
            capture_output=True,
            text=True,
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"},
        )
    finally:
        secret.unlink()
    if result.returncode != 0:
        raise processes.StartError(f"initdb failed:\n{result.stdout[-1000:]}{result.stderr[-2000:]}")


def _says_ready(pid_file: Path, pid: int) -> bool:
    """Whether line 8 of `postmaster.pid` says that the server takes connections.

    Line 1 has the pid, because a killed server leaves its file behind.
    """
    try:
        lines = pid_file.read_text().splitlines()
    except OSError:
        return False
    return len(lines) >= 8 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"  # noqa: PLR2004
