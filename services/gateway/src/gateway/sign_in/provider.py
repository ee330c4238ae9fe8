"""The identity provider: its description, its keys, and the exchange of a code for an ID token."""

import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import IPv4Network, IPv6Network
from typing import Any, Final
from urllib.parse import quote_plus, urlencode, urlsplit

from pydantic import SecretStr

from chassis import redaction
from gateway.accounts.kind import NoAnswer, NotSent, RemoteResponse, WireRequest
from gateway.accounts.sender import Deadline, RequestSender
from gateway.egress.addresses import Network
from gateway.egress.connections import Resolve
from gateway.sign_in.problems import away, refused, unusable

_SECONDS: Final = 10.0
"""For all requests of one sign-in together: a person waits."""
_DESCRIPTION_SECONDS: Final = 3600.0
_KEYS_SECONDS: Final = 600.0
_KEYS_PAUSE_SECONDS: Final = 5.0
"""Between two readings of the keys, however many tokens name unknown ones."""
_MOST_KEYS: Final = 50
_EVERYWHERE: Final[tuple[Network, ...]] = (IPv4Network("0.0.0.0/0"), IPv6Network("::/0"))


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """The operator's settings of the identity provider."""

    issuer: str
    client_id: str
    client_secret: SecretStr | None


@dataclass(frozen=True, slots=True)
class ProviderDescription:
    """The provider's description of itself (OpenID Connect Discovery)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    keys_address: str
    takes_basic: bool


class IdentityProvider:
    """Asks the identity provider; the process has one.

    A private address is asked only at the host of OIDC_ISSUER, which the operator has named. Other hosts that the provider names, such as
    that of its keys, have to be public.

    Args:
        settings: of the operator.
        user_agent: the header `User-Agent`.
        resolve: looks up names.
        exceptions: private networks that may be reached all the same.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        settings: ProviderSettings,
        user_agent: str,
        resolve: Resolve,
        exceptions: Iterable[Network],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self._named = RequestSender(user_agent, resolve, _EVERYWHERE)
        self._other = RequestSender(user_agent, resolve, exceptions)
        self._clock = clock
        self._described: tuple[float, ProviderDescription] | None = None
        self._keys: tuple[float, list[Mapping[str, Any]]] | None = None
        if settings.client_secret is not None:
            redaction.learn(settings.client_secret.get_secret_value())

    async def describe(self, deadline: Deadline | None = None) -> ProviderDescription:
        """Reads the description, at most once in an hour; while the provider is away, the former one stays.

        Raises:
            CallProblemError: `sign_in.provider_away`, `sign_in.provider_unusable`.
        """
        now = self._clock()
        if self._described is not None and now - self._described[0] < _DESCRIPTION_SECONDS:
            return self._described[1]
        try:
            document = await self._read(
                f"{self.settings.issuer}/.well-known/openid-configuration", deadline or Deadline(_SECONDS)
            )
        except (NotSent, NoAnswer) as error:
            if self._described is not None:
                return self._described[1]
            raise away(str(error)) from None
        found = self._description(document)
        self._described = (now, found)
        return found

    async def keys(self, deadline: Deadline, *, again: bool = False) -> list[Mapping[str, Any]]:
        """Returns the public keys; with `again`, as they are now, for a token that names another.

        Raises:
            CallProblemError: `sign_in.provider_away`, `sign_in.provider_unusable`.
        """
        now = self._clock()
        good_for = _KEYS_PAUSE_SECONDS if again else _KEYS_SECONDS
        if self._keys is not None and now - self._keys[0] < good_for:
            return self._keys[1]
        try:
            document = await self._read((await self.describe(deadline)).keys_address, deadline)
        except (NotSent, NoAnswer) as error:
            raise away(str(error)) from None
        listed = document.get("keys")
        if not isinstance(listed, list):
            raise unusable("its keys are no list")
        found: list[Mapping[str, Any]] = [each for each in listed[:_MOST_KEYS] if isinstance(each, dict)]
        self._keys = (now, found)
        return found

    async def exchange(self, code: str, verifier: str, redirect_uri: str, deadline: Deadline) -> str:
        """Exchanges a code for an ID token, which is not checked yet.

        Raises:
            CallProblemError: `sign_in.refused`, `sign_in.provider_away`, `sign_in.provider_unusable`.
        """
        described = await self.describe(deadline)
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "code_verifier": verifier,
            "redirect_uri": redirect_uri,
        }
        headers = {"content-type": "application/x-www-form-urlencoded"}
        settings = self.settings
        if settings.client_secret is None or not described.takes_basic:
            fields["client_id"] = settings.client_id
        if settings.client_secret is not None:
            secret = settings.client_secret.get_secret_value()
            if described.takes_basic:
                pair = f"{quote_plus(settings.client_id)}:{quote_plus(secret)}"
                headers["authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
            else:
                fields["client_secret"] = secret
        request = WireRequest(
            "POST",
            described.token_endpoint,
            described.token_endpoint,
            (),
            headers,
            urlencode(fields).encode(),
        )
        try:
            answer = await self._sender(described.token_endpoint).send(request, deadline)
        except (NotSent, NoAnswer) as error:
            raise away(str(error)) from None
        return _token_of(answer)

    def _sender(self, url: str) -> RequestSender:
        return self._named if _origin(url) == _origin(self.settings.issuer) else self._other

    async def _read(self, url: str, deadline: Deadline) -> Mapping[str, Any]:
        answer = await self._sender(url).send(WireRequest("GET", url, url, (), {}, b""), deadline)
        if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or answer.status == HTTPStatus.TOO_MANY_REQUESTS:
            raise NoAnswer(f"{url}: it answered {answer.status}")
        document = answer.document
        if answer.status != HTTPStatus.OK or answer.truncated or not isinstance(document, dict):
            raise unusable(f"{url} answered {answer.status} without a usable document")
        return document

    def _description(self, document: Mapping[str, Any]) -> ProviderDescription:
        issuer = str(document.get("issuer", ""))
        if issuer.removesuffix("/") != self.settings.issuer:
            raise unusable("its description is of another issuer")
        authorization, token, keys = (
            str(document.get(name, "")) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")
        )
        if not all(map(self._is_fit, (authorization, token, keys))):
            raise unusable("its description lacks an address, or names one without https")
        methods = document.get("token_endpoint_auth_methods_supported")
        takes_basic = "client_secret_basic" in methods if isinstance(methods, list) else True
        return ProviderDescription(issuer, authorization, token, keys, takes_basic)

    def _is_fit(self, url: str) -> bool:
        """An address is of https; without it, only where the issuer itself is without."""
        try:
            parts = urlsplit(url)
        except ValueError:
            return False
        is_plain = parts.scheme == "http" and _origin(url) == _origin(self.settings.issuer)
        has_host = bool(parts.hostname) and parts.username is None and not parts.fragment
        return has_host and url.isascii() and url.isprintable() and (parts.scheme == "https" or is_plain)


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def _token_of(answer: RemoteResponse) -> str:
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        raise away(f"it answered {answer.status}")
    if answer.status == HTTPStatus.UNAUTHORIZED or answer.text("error") in {
        "invalid_client",
        "unauthorized_client",
    }:
        raise unusable("it does not take the client's id and secret")
    if answer.status != HTTPStatus.OK:
        # The provider's own words could quote the code.
        raise refused(f"it does not take the code ({answer.status})")
    token = answer.member("id_token")
    if not isinstance(token, str) or answer.truncated:
        raise unusable("its answer has no ID token")
    return token
