"""`brandctl mcp`: the tools of an assistant, over its standard input and output, or over HTTP for several."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import urlsplit

import typer

from brandctl.access import find_access, find_url
from brandctl.commands import KeyFile
from brandctl.errors import UsageError
from brandctl.terminal import note
from client.connections import Address

if TYPE_CHECKING:
    from assistants import Connect, Services

_KEY_BEGINS: Final = "be_"
_NO_KEY: Final = (
    "an assistant needs an API key of its own, which says what it may do, and whose name stands in the audit log:"
    " brandctl keys create assistant --scope read --scope submit"
)
_SERVICES: Final = ("orchestrator", "publisher", "social")


def mcp(
    orchestrator_url: Annotated[str | None, typer.Option(envvar="ORCHESTRATOR_URL")] = None,
    publisher_url: Annotated[str | None, typer.Option(envvar="PUBLISHER_URL")] = None,
    social_url: Annotated[str | None, typer.Option(envvar="SOCIAL_URL")] = None,
    key_file: KeyFile = None,
    http: Annotated[str | None, typer.Option(metavar="HOST:PORT")] = None,
    public_host: Annotated[str | None, typer.Option(metavar="NAME")] = None,
) -> None:
    """Serves the tools of an assistant by the Model Context Protocol: find, submit keywords, follow, read drafts, measures.

    The assistant starts this command and talks to it over standard input and output. Its API key comes from --key-file or
    SERVICE_KEY. With a key without the scope `review`, the tools publish nothing: what they submit waits for a person. With --http, several
    assistants use one server, and each sends its own key as `Authorization: Bearer KEY`.

    For example, in the configuration of an assistant:

        {"mcpServers": {"brand-engine": {"command": "brandctl", "args": ["mcp", "--key-file", "/home/ada/assistant.key"]}}}

    Options:
        orchestrator_url: Address of the orchestrator service.
        publisher_url: Address of the publisher service.
        social_url: Address of the social service.
        http: Serves HTTP at this address, at the path /mcp.
        public_host: The name, with its port if it has one, by which assistants reach --http through a proxy.
    """
    given = {"orchestrator": orchestrator_url, "publisher": publisher_url, "social": social_url}
    if http is None:
        addresses = {
            each: _with_own_key(find_access(given[each], key_file, service=each)) for each in _SERVICES
        }
        _serve_one(addresses)
    else:
        urls = {each: find_url(given[each], service=each) for each in _SERVICES}
        _serve_several(urls, http, public_host)


def _with_own_key(address: Address) -> Address:
    if not address.key.startswith(_KEY_BEGINS):
        raise UsageError(_NO_KEY)
    return address


def _serve_one(addresses: dict[str, Address]) -> None:
    from assistants import assistant_server  # noqa: PLC0415  (takes a second to load)

    services: list[Services] = []

    @asynccontextmanager
    async def connect(_context: Any) -> AsyncIterator["Services"]:
        # They stay open until the assistant ends the command: each call would connect anew.
        if not services:
            services.append(_services(addresses))
        yield services[0]

    assistant_server(connect).run("stdio")


def _serve_several(urls: dict[str, str], http: str, public_host: str | None) -> None:
    import uvicorn  # noqa: PLC0415
    from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415

    from assistants import assistant_server  # noqa: PLC0415

    host, port = _host_and_port(http)
    app = assistant_server(_with_key_of_caller(urls)).streamable_http_app(
        json_response=True,
        stateless_http=True,
        # Any other name would be that of a page that has its reader's browser ask this machine.
        transport_security=TransportSecuritySettings(
            allowed_hosts=[each for each in (f"{host}:{port}", f"localhost:{port}", public_host) if each]
        ),
    )
    note(f"serving assistants at http://{host}:{port}/mcp; Ctrl-C ends it")
    uvicorn.run(app, host=host, port=port, log_level="warning")


def _with_key_of_caller(urls: dict[str, str]) -> "Connect":
    from assistants.services import bearer_key  # noqa: PLC0415

    @asynccontextmanager
    async def connect(context: Any) -> AsyncIterator["Services"]:
        key = bearer_key(context)
        services = _services({name: Address(url, key) for name, url in urls.items()})
        async with AsyncExitStack() as stack:
            for each in (services.orchestrator, services.publisher, services.social):
                await stack.enter_async_context(each)
            yield services

    return connect


def _services(addresses: dict[str, Address]) -> "Services":
    from assistants import Services  # noqa: PLC0415
    from client.services.orchestrator import AsyncOrchestrator  # noqa: PLC0415
    from client.services.publisher import AsyncPublisher  # noqa: PLC0415
    from client.services.social import AsyncSocial  # noqa: PLC0415

    return Services(
        orchestrator=AsyncOrchestrator(addresses["orchestrator"]),
        publisher=AsyncPublisher(addresses["publisher"]),
        social=AsyncSocial(addresses["social"]),
    )


def _host_and_port(text: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or port is None or Path(text).name != text:
        raise UsageError(f"--http: {text!r} is no address; give a host and a port, such as 127.0.0.1:8030")
    return host, port
