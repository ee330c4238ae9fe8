"""Connecting an account by logging in with its provider: begun here, gone on with in somebody's browser, and ended here.

What comes back is good once, and for ten minutes. Of the state that goes through the browser its hash alone is kept, and with it the
verifier (RFC 7636), without which a code that was caught on its way is worth nothing.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from chassis import Connection, Connections
from gateway.accounts.kind import AccessRefused, NoAnswer, NotSent, Own
from gateway.accounts.kinds import KINDS
from gateway.accounts.oauth import App, Apps, OAuthKind
from gateway.accounts.registry import Registry
from gateway.accounts.sending import Sender
from gateway.accounts.store import Connecting
from gateway.credentials import Keyring
from gateway.problems import Problem, ProblemError

GOOD_FOR: Final = timedelta(minutes=10)
_SECONDS: Final = 30.0
_SEALED_AS: Final = "authorization"
_THIS_MACHINE: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_UNFIT: Final = re.compile(r"[\x00-\x20\x7f\\]")

Note = Callable[[Connection], Awaitable[None]]
"""Writes down who has connected it, in the same transaction."""


@dataclass(frozen=True, slots=True)
class Begun:
    """Where to send somebody's browser."""

    authorize_url: str
    state: str
    expires_at: datetime


class Authorizing:
    """One for the process.

    Args:
        connections: of the gateway's database.
        keyring: what verifiers are sealed with.
        registry: of accounts.
        apps: what providers know this installation by.
        sender: the way out.
    """

    def __init__(
        self, connections: Connections, keyring: Keyring, registry: Registry, apps: Apps, sender: Sender
    ) -> None:
        self._connections = connections
        self._keyring = keyring
        self._registry = registry
        self._apps = apps
        self._sender = sender

    async def begin(self, given: Connecting, redirect_uri: str) -> Begun:
        """Where somebody logs in who wants to connect the account.

        Raises:
            ProblemError: `account.no_login`: of this kind nobody logs in; `account.no_app`; `credentials.no_keys`.
        """
        kind, app = await self._known(given.kind)
        state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
        expires_at = datetime.now(UTC) + GOOD_FOR
        async with self._connections.connection() as connection:
            await connection.execute(
                """
                insert into account_authorizations (state_hash, account, kind, brands, settings, redirect_uri, sealed, expires_at)
                values ($1, $2, $3, $4, $5::jsonb, $6, $7, $8)
                """,
                _hash(state),
                given.name,
                given.kind,
                list(given.brands),
                json.dumps(given.settings),
                redirect_uri,
                self._keyring.seal(_SEALED_AS, verifier),
                expires_at,
            )
        return Begun(kind.login_address(app, redirect_uri, state, verifier), state, expires_at)

    async def complete(self, name: str, code: str, state: str, note: Note) -> None:
        """Connects the account with what the provider gives for the code; it is connected when this returns.

        Raises:
            ProblemError: `account.state_unknown`: it was used, or is too old; `account.login_refused`; `call.not_sent`,
                `call.no_answer`: begin again.
        """
        row = await self._taken(name, state)
        kind, app = await self._known(row["kind"])
        settings = kind.settings.model_validate_json(row["settings"])
        verifier = self._keyring.open(_SEALED_AS, bytes(row["sealed"])).get_secret_value()
        own = Own(settings, None, datetime.now(UTC))
        try:
            credentials = await kind.exchanged(
                self._sender.asking(_SECONDS), own, app, code, verifier, row["redirect_uri"]
            )
        except AccessRefused as error:
            raise ProblemError(_problem("account.login_refused", str(error))) from None
        except (NotSent, NoAnswer) as error:
            raise ProblemError(
                _problem("account.login_failed", f"the provider gave no tokens ({error}): log in once more")
            ) from None
        given = Connecting(name, row["kind"], row["brands"], json.loads(row["settings"]))
        async with self._connections.connection() as connection, connection.transaction():
            await self._registry.put(connection, given, credentials)
            await note(connection)

    async def _taken(self, name: str, state: str) -> Any:
        async with self._connections.connection() as connection:
            row = await connection.fetchrow(
                """
                delete from account_authorizations where state_hash = $1 and account = $2 and expires_at > clock_timestamp()
                returning kind, brands, settings, redirect_uri, sealed
                """,
                _hash(state),
                name,
            )
        if row is None:
            raise ProblemError(
                _problem(
                    "account.state_unknown",
                    "this log-in was used already, is older than ten minutes, or was begun for another account: begin again",
                )
            )
        return row

    async def _known(self, kind: str) -> tuple[OAuthKind, App]:
        found = KINDS[kind]
        if not isinstance(found, OAuthKind):
            raise ProblemError(
                _problem(
                    "account.no_login", f"nobody logs in to connect {kind}: its credentials are given instead"
                )
            )
        app = await self._apps.find(kind)
        if app is None:
            raise ProblemError(
                _problem(
                    "account.no_app",
                    f"{kind} does not know this installation yet: register an app there, and give its client id with"
                    f" `brandctl accounts app {kind}`",
                )
            )
        return found, app


def redirects_allowed(redirect_uri: str) -> bool:
    """Whether a code may be sent there: to a port of this machine, or encrypted. No user, and nothing that browsers read otherwise."""
    if not redirect_uri.isascii() or _UNFIT.search(redirect_uri):
        return False
    try:
        parts = urlsplit(redirect_uri)
        host, port = parts.hostname, parts.port
    except ValueError:
        return False
    if not host or "@" in parts.netloc or parts.fragment or port == 0:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and host in _THIS_MACHINE and port is not None)


def login_kinds() -> Sequence[str]:
    return sorted(name for name, kind in KINDS.items() if isinstance(kind, OAuthKind))


def _hash(state: str) -> bytes:
    return hashlib.sha256(state.encode()).digest()


def _problem(kind: str, detail: str) -> Problem:
    return Problem(kind, detail, HTTPStatus.FAILED_DEPENDENCY)
