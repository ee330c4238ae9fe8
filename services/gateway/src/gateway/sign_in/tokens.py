"""Checks an ID token (OpenID Connect Core, 3.1.3.7)."""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import jwt

from gateway.sign_in.problems import refused

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Only those with a public key: neither `none`, nor those with a shared secret."""
SKEW: Final = timedelta(seconds=60)
"""By which the clocks may differ."""
FRESH: Final = timedelta(minutes=10)
"""A token was made after the sign-in began, which is no longer ago."""
_LONGEST_TOKEN: Final = 30_000
_LONGEST_SUBJECT: Final = 255
_LONGEST_NAME: Final = 80


@dataclass(frozen=True, slots=True)
class Identity:
    """Who signed in at the provider."""

    issuer: str
    subject: str
    name: str
    authenticated_at: datetime | None
    """When the person last proved themselves there; None: the provider does not say."""


class UnknownKeyError(Exception):
    """The token names a key that is not among those known."""


def check_token(
    token: str, keys: Sequence[Mapping[str, Any]], *, issuer: str, client_id: str, nonce: str
) -> Identity:
    """Returns the person that a token names.

    Raises:
        UnknownKeyError: read the keys again, and try once more.
        CallProblemError: `sign_in.refused`.
    """
    if len(token) > _LONGEST_TOKEN:
        raise refused("its token is too long")
    try:
        header = jwt.get_unverified_header(token)
        if header.get("alg") not in ALGORITHMS:
            raise refused("its token is not signed by a method that is taken")
        claims = jwt.decode(
            token,
            _key(header, keys),
            algorithms=[header["alg"]],
            audience=client_id,
            issuer=issuer,
            leeway=SKEW,
            options={"require": ["iss", "sub", "aud", "exp", "iat"]},
        )
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise refused(f"its token is not valid ({type(error).__name__})") from None
    _check_claims(claims, client_id, nonce)
    name = claims.get("name") or claims.get("preferred_username") or ""
    return Identity(
        issuer,
        claims["sub"],
        name[:_LONGEST_NAME] if isinstance(name, str) else "",
        _moment(claims.get("auth_time")),
    )


def _key(header: Mapping[str, Any], keys: Sequence[Mapping[str, Any]]) -> Any:
    named = header.get("kid")
    fitting = [
        each
        for each in keys
        if each.get("use", "sig") == "sig"
        and each.get("alg", header["alg"]) == header["alg"]
        and each.get("kty") in {"RSA", "EC", "OKP"}
        and (named is None or each.get("kid") == named)
    ]
    # Without a name there must be no choice.
    if len(fitting) != 1:
        raise UnknownKeyError
    return jwt.PyJWK.from_dict(dict(fitting[0]), algorithm=header["alg"]).key


def _check_claims(claims: Mapping[str, Any], client_id: str, nonce: str) -> None:
    audience = claims["aud"]
    if isinstance(audience, list) and len(audience) > 1 and claims.get("azp") != client_id:
        raise refused("its token is for several")
    if claims.get("azp", client_id) != client_id:
        raise refused("its token was made for another client")
    given = claims.get("nonce")
    if not isinstance(given, str) or not hmac.compare_digest(given.encode(), nonce.encode()):
        raise refused("its token is of another sign-in")
    made = _moment(claims["iat"])
    if made is None or datetime.now(UTC) - made > FRESH + SKEW:
        raise refused("its token is old")
    if not 1 <= len(claims["sub"]) <= _LONGEST_SUBJECT or "\0" in claims["sub"]:
        raise refused("its token has no usable subject")


def _moment(seconds: object) -> datetime | None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
