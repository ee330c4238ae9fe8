"""The services as processes of this machine."""

import hashlib
import hmac
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx

from brandctl.local import ports, processes
from envelope.brand import DEPLOYED, PAIRS, SERVICES

NAMES: Final = SERVICES
"""Services that consume messages."""
PROCESSES: Final = DEPLOYED
"""Services with a database and an API."""

READY_WITHIN_SECONDS: Final = 180.0
"""Start-up takes 1 to 3 seconds; a loaded machine may take much longer."""

_SHUTDOWN_GRACE_SECONDS: Final = 5


@dataclass(frozen=True, slots=True)
class ServiceAddresses:
    """The port of each service on the loopback interface."""

    port_of: Mapping[str, int]

    def url(self, service: str) -> str:
        return f"http://{ports.LOOPBACK}:{self.port_of[service]}"


class PortTakenError(RuntimeError):
    pass


def choose_port(variable: str, kept: int | None = None) -> int:
    """Returns the port in an environment variable, or else the one of an earlier run, or else a free one.

    Raises:
        PortTakenError: the variable has no port number, or the port is in use.
    """
    wanted = os.environ.get(variable, "")
    if not wanted and kept is not None:
        if not ports.is_free(kept):
            raise PortTakenError(
                f"another program uses port {kept}, which this run has kept: end it, or choose another port with {variable}"
            )
        # Its server listens only when databases are recovered and migrated. Another run could choose it meanwhile.
        ports.claim(kept)
        return kept
    if not wanted:
        return ports.free_port()
    if not wanted.isdigit() or not 0 < int(wanted) < 65_536:  # noqa: PLR2004 - the end of the port range
        raise PortTakenError(f"{variable}={wanted} is no port: give a number from 1 to 65535")
    if not ports.is_free(int(wanted)):
        raise PortTakenError(f"{variable}={wanted}: the port is in use; choose another, or unset {variable}")
    ports.claim(int(wanted))
    return int(wanted)


def choose_addresses(choose: Callable[[str], int] = choose_port) -> ServiceAddresses:
    """Chooses the ports of `ORCHESTRATOR_PORT`, `RESEARCH_PORT` and so on."""
    return ServiceAddresses({name: choose(f"{name.upper()}_PORT") for name in PROCESSES})


def pair_keys(service: str, service_key: str) -> dict[str, str]:
    """Variable → key that the service shares with another one; derived one-way from the service key."""
    return {
        "_TO_".join(pair).upper() + "_KEY": hmac.new(
            service_key.encode(), " to ".join(pair).encode(), hashlib.sha256
        ).hexdigest()[:40]
        for pair in PAIRS
        if service in pair
    }


def environment(
    service: str,
    *,
    addresses: ServiceAddresses,
    rabbitmq_url: str | None,
    database_url: str,
    service_key: str,
    corpus: Path,
    gateway_keys: Path | None = None,
    broker_api: str | None = None,
) -> dict[str, str]:
    """Returns the caller's environment, overlaid with this run's settings.

    Args:
        service: one of `PROCESSES`.
        addresses: where each listens.
        rabbitmq_url: the service's own; None for one that takes no messages.
        database_url: the service's own.
        service_key: the operator's key; services get its hash, and each pair of services a key of its own.
        corpus: the folder of documents.
        broker_api: the management API of the broker, for the monitor, which makes users of other systems.
        gateway_keys: file with the keys that encrypt providers' keys, unless the caller's environment has some.
    """
    inherited = _inherited()
    if service != "gateway":
        inherited = {name: value for name, value in inherited.items() if name not in _OF_THE_GATEWAY}
    # Services call each other on this machine, which a company's proxy cannot reach.
    direct = ",".join(filter(None, [inherited.get("NO_PROXY"), ports.LOOPBACK, "localhost"]))
    settings = {
        "DATABASE_URL": database_url,
        "HTTP_HOST": ports.LOOPBACK,
        "HTTP_PORT": str(addresses.port_of[service]),
        "SHUTDOWN_GRACE_SECONDS": str(_SHUTDOWN_GRACE_SECONDS),
        "NO_PROXY": direct,
        "no_proxy": direct,
        "PYTHONUNBUFFERED": "1",
        "ORCHESTRATOR_URL": addresses.url("orchestrator"),
        "RESEARCH_URL": addresses.url("research"),
        "GATEWAY_URL": addresses.url("gateway"),
        "CORPUS": str(corpus.resolve()),
    }
    if rabbitmq_url is not None:
        settings["RABBITMQ_URL"] = rabbitmq_url
    # The service can check the key with the hash, but not send it.
    settings["SERVICE_KEY"] = f"sha256:{hashlib.sha256(service_key.encode()).hexdigest()}"
    settings |= pair_keys(service, service_key)
    if service in {"orchestrator", "social"}:
        settings["PAGES_URL"] = addresses.url("publisher")
    if service == "orchestrator" and not inherited.get("MODEL_URL"):
        # The model works as soon as one is connected at the gateway.
        settings["MODEL_URL"] = f"{addresses.url('gateway')}/v1"
    if service == "gateway" and gateway_keys and not inherited.keys() & {"GATEWAY_KEYS", "GATEWAY_KEYS_FILE"}:
        settings["GATEWAY_KEYS_FILE"] = str(gateway_keys)
    if service == "monitor":
        settings |= {f"{name.upper()}_URL": addresses.url(name) for name in ("social", "publisher", "events")}
        if broker_api is not None and rabbitmq_url is not None:
            settings |= {"RABBITMQ_API_URL": broker_api, "BROKER_PUBLIC_URL": _without_user(rabbitmq_url)}
    if service == "console":
        settings |= {f"{name.upper()}_URL": addresses.url(name) for name in PROCESSES}
    if service in {"publisher", "social"}:
        settings["PUBLIC_URL"] = addresses.url(service)
    return inherited | settings


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


_OF_THE_GATEWAY: Final = frozenset(
    {
        "BRAVE_API_KEY",
        "GATEWAY_KEYS",
        "GATEWAY_KEYS_FILE",
        "GATEWAY_MODEL_API_KEY",
        "MOVES_KEY",
        "OIDC_CLIENT_SECRET",
    }
)
"""Providers' keys, and the keys that encrypt them."""
_NOT_INHERITED: Final = frozenset(
    {
        "DATABASE_URL",
        "POSTGRES_URL",
        "RABBITMQ_API_URL",
        "RABBITMQ_API_URL_FILE",
        "RABBITMQ_URL",
        "REPLICA_DATABASE_URL",
        "REPLICA_DATABASE_URL_FILE",
        "SERVICE_KEY",
    }
)
"""Variables that services do not inherit: administrators' addresses, and settings that each service gets separately."""


def _inherited() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}


def migrate(migrations: Mapping[str, Mapping[str, str]]) -> None:
    """Migrates all databases at the same time.

    Args:
        migrations: the variables that each service's migration needs beside those of the caller.

    Raises:
        StartError: a migration failed; the message carries its output.
    """
    running = {
        name: subprocess.Popen(  # noqa: S603 - our own command line, no shell
            [*processes.as_user(None, signal.SIGTERM), sys.executable, "-m", name, "migrate"],
            env={**_inherited(), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name, variables in migrations.items()
    }
    said = {name: process.communicate()[0] for name, process in running.items()}
    failed = [name for name, process in running.items() if process.returncode != 0]
    if failed:
        name = failed[0]
        raise processes.StartError(f"{name} could not migrate its database:\n{said[name].strip()}")


def start(name: str, env: Mapping[str, str], logs: Path, *, keep_log: bool = False) -> processes.ChildProcess:
    """Starts a service, without waiting for it."""
    return processes.start(
        name, [sys.executable, "-m", name], log=logs / f"{name}.log", env=env, keep_log=keep_log
    )


def wait_until_ready(children: Sequence[processes.ChildProcess], addresses: ServiceAddresses) -> None:
    """Waits until every service reports that it is ready.

    Raises:
        StartError: a service ended, or was not ready in time; the message carries the end of its log.
    """
    deadline = time.monotonic() + READY_WITHIN_SECONDS
    with httpx.Client(timeout=5, trust_env=False) as client:
        for child in children:
            ready = partial(_is_ready, client, f"{addresses.url(child.name)}/health/ready")
            child.wait_until(ready, within=deadline - time.monotonic())


def stop(children: Sequence[processes.ChildProcess]) -> None:
    """Stops all services at once, and waits for all."""
    for child in children:
        child.ask_to_stop()
    for child in children:
        child.stop(None, grace=_SHUTDOWN_GRACE_SECONDS + 3)


def _is_ready(client: httpx.Client, url: str) -> bool:
    try:
        return client.get(url).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False
