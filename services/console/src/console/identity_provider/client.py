"""Client of the gateway's routes for people who sign in at the provider. It needs no key, and has none."""

import time
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Self, cast
from urllib.parse import urlencode, urlsplit

from client import ClientError, RefusedError
from console.identity_provider.attempts import Attempt, Purpose
from console.sealing import seal, token_key, unseal
from console.service_clients import ServiceConnections, is_away

if TYPE_CHECKING:
    from client.services.gateway import AsyncGateway

_DESCRIBED_SECONDS: Final = 300.0


class ProviderRefusedError(Exception):
    """The sign-in failed; `text` is the key of the sentence for the person."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.text = text
        self.status = status


@dataclass(frozen=True, slots=True)
class ProvenIdentity:
    """The person who has just signed in at the provider."""

    issuer: str
    subject: str
    authenticated_at: datetime | None
    secret: str

    @classmethod
    def of(cls, told: Any) -> Self:
        moment = told["authenticated_at"]
        return cls(
            told["issuer"],
            told["subject"],
            None if moment is None else datetime.fromisoformat(moment),
            told["secret"],
        )

    def seal(self, own_key: bytes) -> bytes:
        return seal(own_key, token_key(self.secret), self._purpose)

    def unseal(self, sealed: bytes) -> bytes:
        """Raises SealedError."""
        return unseal(sealed, token_key(self.secret), self._purpose)

    @property
    def _purpose(self) -> str:
        return f"identity {self.issuer} {self.subject}"


class SignInProvider:
    """The provider, as the gateway answers for it; the process has one.

    Args:
        services: the connections of the process.
        name: people's name for the provider; empty turns this sign-in off.
        redirect_uri: where it sends browsers back to.
    """

    def __init__(self, services: ServiceConnections, name: str, redirect_uri: str) -> None:
        self._services = services
        self.name = name
        self._redirect_uri = redirect_uri
        self._described: tuple[float, Any] | None = None

    async def describe(self) -> Any:
        """Raises ProviderRefusedError."""
        if not self.name:
            raise ProviderRefusedError("identities.not_configured", HTTPStatus.NOT_FOUND)
        now = time.monotonic()
        if self._described is None or now - self._described[0] > _DESCRIBED_SECONDS:
            try:
                self._described = (now, await self._gateway().get_sign_in())
            except ClientError as error:
                raise _refusal(error) from error
        return self._described[1]

    async def address(self, attempt: Attempt) -> str:
        """Returns where the browser signs in. Raises ProviderRefusedError."""
        described = await self.describe()
        asked = {
            "response_type": "code",
            "client_id": described["client_id"],
            "redirect_uri": self._redirect_uri,
            "scope": "openid profile",
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        if attempt.purpose is Purpose.CONFIRM:
            asked |= {"prompt": "login", "max_age": "0"}
        endpoint: str = described["authorization_endpoint"]
        return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(asked)}"

    async def exchange(self, attempt: Attempt, code: str) -> ProvenIdentity:
        """Raises ProviderRefusedError."""
        try:
            told = await self._gateway().complete_sign_in(
                code=code,
                code_verifier=attempt.verifier,
                nonce=attempt.nonce,
                redirect_uri=self._redirect_uri,
            )
        except ClientError as error:
            raise _refusal(error) from error
        return ProvenIdentity.of(told)

    def _gateway(self) -> "AsyncGateway":
        return cast("AsyncGateway", self._services.service("gateway", ""))


def _refusal(error: ClientError) -> ProviderRefusedError:
    if not isinstance(error, RefusedError) or is_away(error):
        return ProviderRefusedError("identities.away", HTTPStatus.SERVICE_UNAVAILABLE)
    match error.status:
        case HTTPStatus.TOO_MANY_REQUESTS:
            return ProviderRefusedError("sign_in.slowed", HTTPStatus.TOO_MANY_REQUESTS)
        case HTTPStatus.NOT_FOUND:
            return ProviderRefusedError("identities.not_configured", HTTPStatus.NOT_FOUND)
        case HTTPStatus.FAILED_DEPENDENCY:
            return ProviderRefusedError("identities.unusable", HTTPStatus.BAD_GATEWAY)
    return ProviderRefusedError("identities.refused", HTTPStatus.UNAUTHORIZED)
