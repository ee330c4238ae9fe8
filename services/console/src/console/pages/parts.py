"""The parts of the process that pages use."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from jinja2 import Environment
from starlette.requests import Request

from chassis import Connections
from console.pages.assets import Assets
from console.pages.forms import Form
from console.pages.navigation import NavigationEntry
from console.people.domain import Person
from console.relying_party import RelyingParty
from console.sealing import PasswordKeys
from console.service_clients import ServiceConnections
from console.settings import Settings
from console.texts import TextCatalogue
from console.urls import ConsoleUrls
from console.watching.pages import LivePage
from console.watching.streams import LiveStreams

if TYPE_CHECKING:
    from console.brand_archives.running import BrandImports
    from console.identity_provider.client import SignInProvider
    from console.pages.brands import BrandNames
    from console.pages.paused_queues import PausedQueues
    from console.pages.present_codes import PresentCodes

_STATE: Final = "console"


class PasskeyCheck(Protocol):
    """A passkey in place of the password before a grave act."""

    async def is_offered(self, request: Request, person: Person) -> bool: ...

    async def check(self, request: Request, person: Person, form: Form) -> str | None:
        """Returns the key of a text that says why the proof is not taken; None: it is right."""
        ...


@dataclass(frozen=True, slots=True)
class ConsoleParts:
    settings: Settings
    connections: Connections
    services: ServiceConnections
    provider: "SignInProvider"
    passwords: PasswordKeys
    urls: ConsoleUrls
    assets: Assets
    texts: TextCatalogue
    templates: Environment
    brand_names: "BrandNames"
    paused_queues: "PausedQueues"
    present_codes: "PresentCodes"
    imports: "BrandImports"
    navigation: list[NavigationEntry]
    live: LiveStreams
    live_pages: tuple[LivePage, ...]
    passkey_proof: PasskeyCheck
    undo: Mapping[str, Callable[[Any, Sequence[Any]], Awaitable[None]]]
    """What takes actions back, by the kind of an `Undo`."""
    find_notice: Callable[[Request, Any, str], Awaitable[Any]]
    """Reads what the page says was done, by its id in the address."""


def parts_of(request: Request) -> ConsoleParts:
    parts: ConsoleParts = request.app.state.console
    return parts


def relying_party_of(request: Request) -> RelyingParty | None:
    """The site that passkeys belong to, at the address that the browser has open."""
    return RelyingParty.of(parts_of(request).urls, request.headers.get("host", ""))
