"""Finds the address and the key of a service: options first, then the environment, a local run, the containers.

The files of a local run and of the containers are in the folder `BRANDCTL_CHECKOUT`, or in the current one.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from brandctl.errors import UsageError
from brandctl.settings_file import read_settings
from client.connections import Address

ENDPOINTS: Final = Path(".local/endpoints.json")
"""The file to which a local run writes its addresses: `{"monitor_url": …, "service_key_file": …}`."""
CONTAINERS: Final = Path(".env")
"""The file in which `make up` keeps the settings of the containers: ports of this machine, and the service key."""


class AccessError(UsageError):
    """The address or the key of a service is unknown; the message says what to give."""


def find_access(
    given_url: str | None, key_file: Path | None, *, service: str, option: str | None = None
) -> Address:
    """Returns a service's address and key: from options, the environment, a local run, or the containers of `make up`.

    Errors name `option`, the command's option for the address (default `--<service>-url`).

    Raises:
        AccessError: no source names the address or the key.
    """
    local, containers = _read_endpoints(), _read_containers()
    local_url, containers_url = local.get(f"{service}_url"), _published(containers, service.upper())
    url = find_url(given_url, service=service, option=option)
    if key_file is None and (named := os.environ.get("SERVICE_KEY_FILE")):
        if os.environ.get("SERVICE_KEY"):
            raise AccessError("SERVICE_KEY and SERVICE_KEY_FILE are both set: keep one of them")
        key_file = Path(named)
    if key_file is not None:
        return Address(url, _read_key(key_file))
    if key := os.environ.get("SERVICE_KEY"):
        return Address(url, key.strip())
    # A key found beside an address is for that address: no other server may get it.
    if (told_file := local.get("service_key_file")) and url == local_url:
        return Address(url, _read_key(_in_checkout(ENDPOINTS).parent / told_file))
    if (key := containers.get("SERVICE_KEY")) and url == containers_url:
        return Address(url, key)
    raise AccessError("no service key: set SERVICE_KEY, or give --key-file with a file that holds it")


def find_url(given_url: str | None, *, service: str, option: str | None = None) -> str:
    """Returns a service's address alone, from the same places.

    Raises:
        AccessError: no source names it.
    """
    containers = _read_containers()
    url = given_url or _read_endpoints().get(f"{service}_url") or _published(containers, service.upper())
    if not url:
        raise AccessError(_missing_address(service, option or f"--{service}-url", containers))
    return url


def _missing_address(service: str, option: str, containers: Mapping[str, str]) -> str:
    give = f"{option} or set {service.upper()}_URL"
    if any(name.endswith("_PORT") for name in containers):
        return (
            f"the containers of `make up` give the {service} service no port on this machine ({CONTAINERS} names none)."
            f" Type ./brandctl instead of brandctl: it runs among the containers. To ask another {service} service, give {give}"
        )
    return (
        f"the address of the {service} service is unknown: give {give}"
        f" (no {ENDPOINTS} of a local run here, and no {CONTAINERS} of `make up` that can be read)"
    )


def find_jaeger(given_url: str | None) -> str:
    return given_url or _published(_read_containers(), "JAEGER") or "http://localhost:16686"


def _published(containers: Mapping[str, str], name: str) -> str | None:
    """The address of a container's port on this machine; only ports for readers are open beyond the loopback."""
    port = containers.get(f"{name}_PORT")
    return f"http://127.0.0.1:{port}" if port else None


def _in_checkout(file: Path) -> Path:
    return Path(os.environ.get("BRANDCTL_CHECKOUT", "")) / file


def _read_endpoints() -> dict[str, str]:
    try:
        told = json.loads(_in_checkout(ENDPOINTS).read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise AccessError(f"{ENDPOINTS} cannot be read: {error}") from error
    if not isinstance(told, dict):
        raise AccessError(f"{ENDPOINTS} holds no JSON object")
    return {name: value for name, value in told.items() if isinstance(value, str)}


def _read_containers() -> dict[str, str]:
    """The lines `NAME=value` of the file, as Docker Compose reads them; variables of the shell win over it there too."""
    try:
        told = read_settings(_in_checkout(CONTAINERS))
    except (OSError, ValueError):
        return {}  # without permission to read it, the user gives address and key
    return {name: os.environ.get(name) or value for name, value in told.items()}


def _read_key(path: Path) -> str:
    try:
        key = path.read_text().strip()
    except (OSError, ValueError) as error:
        raise AccessError(f"the key file {path} cannot be read: {error}") from error
    if not key:
        raise AccessError(f"the key file {path} is empty")
    return key
