"""The file that says where another installation is, and with which key it is asked."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from brandctl.errors import UsageError
from brandctl.settings_file import read_settings
from client.brand_move import MovingSide
from client.connections import Address
from client.services.gateway import Gateway
from client.services.orchestrator import Orchestrator
from client.services.publisher import Publisher
from client.services.research import Research
from client.services.social import Social

_SERVICES: Final = ("orchestrator", "research", "publisher", "social")


@dataclass(frozen=True, slots=True)
class OtherInstallation:
    """Addresses of an installation by service; all have one key. `name` is its address for people."""

    name: str
    addresses: Mapping[str, Address]

    @contextmanager
    def services(self) -> Iterator[MovingSide]:
        with ExitStack() as stack:
            yield MovingSide(
                stack.enter_context(Orchestrator(self.addresses["orchestrator"])),
                stack.enter_context(Research(self.addresses["research"])),
                stack.enter_context(Publisher(self.addresses["publisher"])),
                stack.enter_context(Social(self.addresses["social"])),
                None
                if (gateway := self.addresses.get("gateway")) is None
                else stack.enter_context(Gateway(gateway)),
            )


def read_installation(file: Path) -> OtherInstallation:
    """Reads a file with lines `NAME=value`.

    Raises:
        UsageError: it cannot be read, or lacks something; the message never quotes a key.
    """
    try:
        given = read_settings(file)
    except (OSError, ValueError) as error:
        raise UsageError(f"--to: {file} cannot be read: {error}") from error
    missing = [name for each in _SERVICES if not given.get(name := f"{each.upper()}_URL")]
    if missing:
        raise UsageError(f"--to: {file} lacks {', '.join(missing)}")
    key = _key(file, given)
    addresses = {
        each: Address(url, key)
        for each in (*_SERVICES, "gateway")
        if (url := given.get(f"{each.upper()}_URL"))
    }
    return OtherInstallation(given.get("INSTALLATION") or addresses["orchestrator"].url, addresses)


def _key(file: Path, given: Mapping[str, str]) -> str:
    if named := given.get("SERVICE_KEY_FILE"):
        place = file.parent / named
        try:
            key = place.read_text().strip()
        except (OSError, ValueError) as error:
            raise UsageError(f"--to: the key file {place} cannot be read: {error}") from error
    else:
        key = given.get("SERVICE_KEY", "")
    if not key:
        raise UsageError(f"--to: {file} has no key: give SERVICE_KEY_FILE or SERVICE_KEY")
    return key
