"""Connects an account by an OAuth log-in: begun here, continued in a browser, completed here.

A log-in can be completed once, within ten minutes. The database keeps only the hash of the `state`, and the sealed
verifier (RFC 7636). Without the verifier, a stolen code is worthless.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from chassis import Connection, Connections
from gateway.accounts.kind import AccessRefused, KindContext, NoAnswer, NotSent
from gateway.accounts.kinds import KINDS
from gateway.accounts.oauth import OAuthApp, OAuthApps, OAuthKind
from gateway.accounts.registry import AccountRegistry
from gateway.accounts.sender import RequestSender
from gateway.accounts.store import AccountSetup
from gateway.credentials import Keyring
from gateway.problems import CallProblem, CallProblemError

GOOD_FOR: Final = timedelta(minutes=10)
_SECONDS: Final = 30.0
_SEALED_AS: Final = "authorization"
_THIS_MACHINE: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_UNFIT: Final = re.compile(r"[\x00-\x20\x7f\\]")

Note = Callable[[Connection], Awaitable[None]]
"""Records who connected the account, in the same transaction."""


@dataclass(frozen=True, slots=True)
class StartedLogin:
    """The address to open in a browser, with the `state` of the log-in."""

    authorize_url: str
    state: str
    expires_at: datetime


class LoginFlow:
    """Begins and completes log-ins; the process has one.

    Args:
        connections: of the gateway's database.
        keyring: seals the verifiers.
        registry: of accounts.
        apps: the OAuth apps of this installation.
        sender: sends requests to the providers.
    """

    def __init__(
        self,
        connections: Connections,
        keyring: Keyring,
        registry: AccountRegistry,
        apps: OAuthApps,
        sender: RequestSender,
    ) -> None:
        self._connections = connections
        self._keyring = keyring
        self._registry = registry
        self._apps = apps
        self._sender = sender

    async def begin(self, given: AccountSetup, redirect_uri: str) -> StartedLogin:
        """Starts a log-in and returns the address of the provider's log-in page.

        Raises:
            CallProblemError: `account.no_login`: this kind has no log-in; `account.no_app`; `credentials.no_keys`.
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
        return StartedLogin(kind.login_address(app, redirect_uri, state, verifier), state, expires_at)

    async def complete(self, name: str, code: str, state: str, note: Note) -> None:
        """Exchanges the code for tokens and connects the account; the account is stored when this returns.

        Raises:
            CallProblemError: `account.state_unknown`: the log-in is used or too old; `account.login_refused`;
                `account.login_failed`.
        """
        row = await self._taken(name, state)
        kind, app = await self._known(row["kind"])
        settings = kind.settings.model_validate_json(row["settings"])
        verifier = self._keyring.open(_SEALED_AS, bytes(row["sealed"])).get_secret_value()
        context = KindContext(settings, None, datetime.now(UTC))
        try:
            credentials = await kind.exchanged(
                self._sender.asking(_SECONDS), context, app, code, verifier, row["redirect_uri"]
            )
        except AccessRefused as error:
            raise CallProblemError(_problem("account.login_refused", str(error))) from None
        except (NotSent, NoAnswer) as error:
            raise CallProblemError(
                _problem("account.login_failed", f"the provider gave no tokens ({error}): log in once more")
            ) from None
        given = AccountSetup(name, row["kind"], row["brands"], json.loads(row["settings"]))
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
            raise CallProblemError(
                _problem(
                    "account.state_unknown",
                    "this log-in was used already, is older than ten minutes, or was begun for another account: begin again",
                )
            )
        return row

    async def _known(self, kind: str) -> tuple[OAuthKind, OAuthApp]:
        found = KINDS[kind]
        if not isinstance(found, OAuthKind):
            raise CallProblemError(
                _problem("account.no_login", f"{kind} has no log-in: give its credentials instead")
            )
        app = await self._apps.find(kind)
        if app is None:
            raise CallProblemError(
                _problem(
                    "account.no_app",
                    f"{kind} does not know this installation yet: register an app there, and give its client id with"
                    f" `brandctl accounts app {kind}`",
                )
            )
        return found, app


def redirects_allowed(redirect_uri: str) -> bool:
    """Whether a code may be sent to the address: HTTPS or a port of this machine, no user, no ambiguous characters."""
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


def _hash(state: str) -> bytes:
    return hashlib.sha256(state.encode()).digest()


def _problem(kind: str, detail: str) -> CallProblem:
    return CallProblem(kind, detail, HTTPStatus.FAILED_DEPENDENCY)
