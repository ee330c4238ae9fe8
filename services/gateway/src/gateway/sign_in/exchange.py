"""Takes the code that a browser brought back, and returns who signed in, with the secret of this identity."""

import hashlib
import hmac
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from pydantic import SecretStr

from chassis import Connections, redaction
from gateway.accounts.sender import Deadline
from gateway.credentials import Keyring
from gateway.sign_in.problems import not_configured, refused
from gateway.sign_in.provider import IdentityProvider, ProviderDescription
from gateway.sign_in.tokens import Identity, UnknownKeyError, check_token

_SECONDS: Final = 8.0
_SEALED_AS: Final = "sign-in secret"
_CODES_KEPT: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class SignedIn:
    identity: Identity
    secret: SecretStr
    """The same at each sign-in of the identity, and of no other."""


class SignInExchange:
    """Signs in; the process has one.

    Args:
        connections: of the gateway's database.
        keyring: seals the secret that those of identities come from.
        provider: None: signing in this way is switched off.
    """

    def __init__(self, connections: Connections, keyring: Keyring, provider: IdentityProvider | None) -> None:
        self._connections = connections
        self._keyring = keyring
        self._provider = provider

    async def describe(self) -> tuple[str, ProviderDescription]:
        """Returns the client's id and the provider's description. Raises CallProblemError."""
        provider = self._configured()
        return provider.settings.client_id, await provider.describe()

    async def sign_in(self, code: str, verifier: str, redirect_uri: str, nonce: str) -> SignedIn:
        """Exchanges the code, once, and checks the token.

        Raises:
            CallProblemError: `sign_in.refused`, `sign_in.provider_away`, `sign_in.provider_unusable`, `sign_in.not_configured`,
                `credentials.no_keys`, `credentials.sealed`.
        """
        provider = self._configured()
        redaction.learn(code, verifier)
        await self._use_up(code)
        deadline = Deadline(_SECONDS)
        token = await provider.exchange(code, verifier, redirect_uri, deadline)
        issuer = (await provider.describe(deadline)).issuer
        for again in (False, True):
            keys = await provider.keys(deadline, again=again)
            try:
                identity = check_token(
                    token, keys, issuer=issuer, client_id=provider.settings.client_id, nonce=nonce
                )
            except UnknownKeyError:
                continue
            return SignedIn(identity, await self._secret_of(identity))
        raise refused("its token is signed with a key that it does not list")

    def _configured(self) -> IdentityProvider:
        if self._provider is None:
            raise not_configured()
        return self._provider

    async def _use_up(self, code: str) -> None:
        """Notes the code before it is sent, so that it signs in once even if the provider took it twice."""
        async with self._connections.connection() as connection:
            await connection.execute(
                "delete from sign_in_codes where used_at < now() - $1::interval", _CODES_KEPT
            )
            is_new = await connection.fetchval(
                "insert into sign_in_codes (code_hash) values ($1) on conflict do nothing returning true",
                hashlib.sha256(code.encode()).digest(),
            )
        if not is_new:
            raise refused("the code was used already")

    async def _secret_of(self, identity: Identity) -> SecretStr:
        whose = json.dumps([identity.issuer, identity.subject]).encode()
        found = hmac.digest(await self._root(), whose, "sha256")
        return SecretStr(urlsafe_b64encode(found).decode().rstrip("="))

    async def _root(self) -> bytes:
        new = urlsafe_b64encode(secrets.token_bytes(32)).decode()
        async with self._connections.connection() as connection:
            sealed = await connection.fetchval("select sealed from sign_in_secret")
            if sealed is None:
                await connection.execute(
                    "insert into sign_in_secret (sealed) values ($1) on conflict do nothing",
                    self._keyring.seal(_SEALED_AS, new),
                )
                sealed = await connection.fetchval("select sealed from sign_in_secret")
        return urlsafe_b64decode(self._keyring.open(_SEALED_AS, bytes(sealed)).get_secret_value())

    async def reseal(self) -> int:
        """Re-encrypts the secret with the first key of the ring; returns how many there were."""
        async with self._connections.connection() as connection:
            sealed = await connection.fetchval("select sealed from sign_in_secret")
            if sealed is None:
                return 0
            anew = self._keyring.reseal(_SEALED_AS, bytes(sealed))
            await connection.execute("update sign_in_secret set sealed = $1 where sealed = $2", anew, sealed)
        return 1
