"""The services that tools ask, and what a tool says when one refuses or is away."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from client.errors import ClientError, RefusedError

if TYPE_CHECKING:
    from client.services.orchestrator import AsyncOrchestrator
    from client.services.publisher import AsyncPublisher
    from client.services.social import AsyncSocial

READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
SUBMITS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
DECIDES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=True
)
KEY_BEGINS: Final = "be_"
"""Of API keys; the key of a service opens everything, and has no name."""
_NO_RIGHT: Final = " Propose it, or tell your user what you would do: a person does it in the console, or gives your key that right."


@dataclass(frozen=True, slots=True)
class Services:
    """The services, with one key."""

    orchestrator: "AsyncOrchestrator"
    publisher: "AsyncPublisher"
    social: "AsyncSocial"


Connect: TypeAlias = Callable[[Context[Any, Any]], AbstractAsyncContextManager[Services]]
"""Gives a call the services with its caller's key. Raises ToolError if the caller sends none."""


def bearer_key(context: Context[Any, Any]) -> str:
    """Returns the API key that the caller of a tool sends over HTTP. Raises ToolError if there is none."""
    scheme, _, key = (context.headers or {}).get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key.startswith(KEY_BEGINS):
        raise ToolError("Send your API key as `Authorization: Bearer KEY`.")
    return key.strip()


@asynccontextmanager
async def asking(connect: Connect, context: Context[Any, Any]) -> AsyncIterator[Services]:
    """The services during one call of a tool.

    Raises:
        ToolError: a service is away or refuses; in words that the assistant can act upon.
    """
    try:
        async with connect(context) as services:
            yield services
    except RefusedError as error:
        advice = _NO_RIGHT if error.status == HTTPStatus.FORBIDDEN else ""
        raise ToolError(f"{error}{advice}") from error
    except ClientError as error:
        raise ToolError(f"{error}. Try again in a minute.") from error
