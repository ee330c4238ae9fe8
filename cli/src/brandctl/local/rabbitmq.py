"""A private RabbitMQ node in a folder."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from brandctl.local import ports, processes

USER: Final = "brand"

_AMQP_GREETING: Final = b"AMQP\x00\x00\x09\x01"
_METHOD_FRAME: Final = b"\x01"
_COOKIE: Final = ".erlang.cookie"

_ERLANG_FLAGS: Final = (
    # The schedulers of the Erlang machine spin for work before they sleep; an idle node should cost nothing.
    "+sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}"
)


class NotInstalledError(RuntimeError):
    pass


@dataclass(frozen=True, slots=True)
class RabbitNode:
    """A running node. `url` is its administrator on the vhost `/`; the user guest does not exist."""

    child: processes.ChildProcess
    name_server: processes.ChildProcess
    port: int
    management_port: int | None
    password: str
    folder: Path
    environment: Mapping[str, str]
    """Environment of the node, and of every tool that has to find it."""

    @property
    def name(self) -> str:
        """The Erlang name of the node in its cluster."""
        return self.environment["RABBITMQ_NODENAME"]

    @property
    def url(self) -> str:
        return self.url_of("%2F")

    def url_of(self, vhost: str) -> str:
        return f"amqp://{USER}:{self.password}@{ports.LOOPBACK}:{self.port}/{vhost}"

    @property
    def management_url(self) -> str | None:
        """Base URL of the HTTP API with credentials, if the node was started with it."""
        if self.management_port is None:
            return None
        return f"http://{USER}:{self.password}@{ports.LOOPBACK}:{self.management_port}"

    def wait(self, within: float = 60.0) -> None:
        """Waits until the node speaks AMQP, and HTTP if it has the management API.

        Raises:
            StartError: the node ended, or took too long.
        """
        self.child.wait_until(lambda: _speaks_amqp(self.port), within=within)
        if self.management_port is not None:
            management = self.management_port
            self.child.wait_until(lambda: ports.accepts(management), within=within)

    def stop(self, *, remove: bool = True) -> None:
        """Ends the node. With `remove` it ends at once and its data go too: an orderly stop takes it 8 seconds.

        The node that others have joined is ended last: the name server that they share is its own.
        """
        self.child.stop(signal.SIGKILL if remove else signal.SIGTERM, grace=20)
        self.name_server.stop()
        if remove:
            shutil.rmtree(self.folder, ignore_errors=True)

    def start_again(self, *, log: Path, keep_log: bool = False) -> "RabbitNode":
        """Starts an ended node again on its data and ports, without waiting for it."""
        return replace(self, child=_start_server(find_server(), log, self.environment, keep_log=keep_log))

    def control(self, *arguments: str) -> str:
        """Runs `rabbitmqctl` on this node and returns what it printed; takes it a second or two.

        Raises:
            subprocess.CalledProcessError: it failed; its `stderr` says why.
        """
        result = subprocess.run(  # noqa: S603
            [str(find_server().with_name("rabbitmqctl")), "--quiet", *arguments],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
            cwd="/",
            env=dict(self.environment),
        )
        return result.stdout


def launch(
    folder: Path,
    *,
    port: int | None = None,
    management: bool = False,
    management_port: int | None = None,
    log: Path | None = None,
    settings: Mapping[str, str] | None = None,
    name: str = "brand-engine",
    joins: RabbitNode | None = None,
    password: str | None = None,
) -> RabbitNode:
    """Creates a node in `folder` and starts it without waiting for it.

    With a `password`, `folder` may be an earlier run's, even one that crashed: its node continues. No process
    may use it. Without a password, the folder must not exist yet.

    The server's own start script is run, not Debian's wrapper of it: that one insists on the user `rabbitmq` and on
    the folders of the system. The node brings its own Erlang name server (epmd) on a port of its own, so that it meets
    no other Erlang program and leaves none behind.

    Args:
        folder: where data, log, cookie and configuration go.
        port: AMQP, a free one if not given.
        management: with the HTTP API, the web page and Prometheus figures; costs a little start-up time and idle CPU.
        management_port: a free one if not given.
        log: the node's log file; beside the folder if not given.
        settings: further lines of `rabbitmq.conf`, which win over those set here.
        name: the part of the node's name before the `@`, different for each node of a cluster.
        joins: a running node; the new one joins its cluster and gets its password.
        password: the administrator's; a random one if not given.

    Raises:
        NotInstalledError: the server's programs are not there.
    """
    script, epmd = find_server(), _find_epmd()
    home = folder.resolve()
    home.mkdir(parents=True, mode=0o700, exist_ok=password is not None)
    goes_on = (home / _COOKIE).exists()
    own_cookie = (joins.folder if joins else home) / _COOKIE
    cookie = own_cookie.read_text() if own_cookie.exists() else secrets.token_hex(20)
    password = joins.password if joins else password or secrets.token_urlsafe(24)
    port = port or ports.free_port()
    http = (management_port or ports.free_port()) if management else None
    prometheus = ports.free_port() if management else None
    members = {"cluster_formation.classic_config.nodes.1": joins.name} if joins else {}
    _write_private(
        home / "rabbitmq.conf",
        _configuration(port, http, prometheus, password, {**members, **(settings or {})}),
    )
    plugins = ["rabbitmq_management", "rabbitmq_prometheus"] if management else []
    (home / "enabled_plugins").write_text(f"[{','.join(plugins)}].\n")
    _write_private(home / _COOKIE, cookie, mode=0o400)
    name_port = joins.environment["ERL_EPMD_PORT"] if joins else str(ports.free_port())
    env = _environment(home, name=name, dist_port=ports.free_port(), name_port=name_port)
    name_server = joins.name_server if joins else _start_name_server(epmd, home, env)
    log = log or folder.with_name(f"{folder.name}.log")
    child = _start_server(script, log, env, keep_log=goes_on)
    return RabbitNode(child, name_server, port, http, password, home, env)


def _start_name_server(epmd: str, home: Path, env: Mapping[str, str]) -> processes.ChildProcess:
    port = int(env["ERL_EPMD_PORT"])
    command = [epmd, "-port", str(port), "-address", ports.LOOPBACK]
    child = processes.start("epmd", command, log=home / "epmd.log", env=env)
    child.wait_until(lambda: ports.accepts(port), within=10)
    return child


def _start_server(
    script: Path, log: Path, env: Mapping[str, str], *, keep_log: bool = False
) -> processes.ChildProcess:
    return processes.start("RabbitMQ", [script], log=log, env=env, keep_log=keep_log)


def find_server() -> Path:
    """The start script of the newest server installed, where Debian keeps it, or the one on the search path."""
    scripts = sorted(
        Path("/usr/lib/rabbitmq/lib").glob("rabbitmq_server-*/sbin/rabbitmq-server"), key=_version
    )
    if scripts:
        return scripts[-1]
    found = shutil.which("rabbitmq-server")
    if found is None:
        raise NotInstalledError("RabbitMQ is not installed. On Debian: apt-get install rabbitmq-server")
    return Path(found)


def _version(script: Path) -> tuple[int, ...]:
    digits = script.parent.parent.name.partition("-")[2].split(".")
    return tuple(int(part) for part in digits if part.isdigit())


def _find_epmd() -> str:
    found = shutil.which("epmd")
    if found is None:
        raise NotInstalledError(
            "Erlang's epmd is not on the search path; it comes with the package erlang-base"
        )
    return found


def _configuration(
    port: int, http: int | None, prometheus: int | None, password: str, settings: Mapping[str, str]
) -> str:
    lines = {
        "listeners.tcp.local": f"{ports.LOOPBACK}:{port}",
        "default_user": USER,
        "default_pass": password,
        # A quarter of the write-ahead log that quorum queues may hold in memory by default.
        "raft.wal_max_size_bytes": "64000000",
        "disk_free_limit.absolute": "200MB",
        "log.console": "true",
        "log.console.level": "warning",
        "log.file": "false",
    }
    if http is not None:
        lines |= {"management.tcp.ip": ports.LOOPBACK, "management.tcp.port": str(http)}
    if prometheus is not None:
        lines |= {"prometheus.tcp.ip": ports.LOOPBACK, "prometheus.tcp.port": str(prometheus)}
    return "".join(f"{name} = {value}\n" for name, value in {**lines, **settings}.items())


def _environment(home: Path, *, name: str, dist_port: int, name_port: str) -> dict[str, str]:
    """The whole environment of the node: nothing of the caller's own RABBITMQ_* settings may leak in."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C.UTF-8",
        "HOME": str(home),
        # Not the host's name, which need not resolve: this node is used on this machine only.
        "RABBITMQ_NODENAME": f"{name}@localhost",
        "RABBITMQ_MNESIA_BASE": str(home / "data"),
        "RABBITMQ_LOG_BASE": str(home / "log"),
        "RABBITMQ_DIST_PORT": str(dist_port),
        "RABBITMQ_CONFIG_FILE": str(home / "rabbitmq.conf"),
        "RABBITMQ_ADVANCED_CONFIG_FILE": str(home / "advanced.config"),
        "RABBITMQ_CONF_ENV_FILE": str(home / "rabbitmq-env.conf"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "enabled_plugins"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": _ERLANG_FLAGS,
        # The script replaces itself by the Erlang machine, which then gets our signals.
        "RUNNING_UNDER_SYSTEMD": "true",
        "ERL_EPMD_PORT": name_port,
        "ERL_EPMD_ADDRESS": ports.LOOPBACK,
        "ERL_CRASH_DUMP_SECONDS": "0",
    }


def _write_private(path: Path, text: str, *, mode: int = 0o600) -> None:
    path.unlink(missing_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(text)
    path.chmod(mode)


def _speaks_amqp(port: int) -> bool:
    """Whether the node answers the protocol greeting: it listens a moment before it can."""
    try:
        with socket.create_connection((ports.LOOPBACK, port), timeout=2) as client:
            client.sendall(_AMQP_GREETING)
            return client.recv(1) == _METHOD_FRAME
    except OSError:
        return False
