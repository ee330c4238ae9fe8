"""Secrets of incoming webhooks, and the checks of what senders prove with them. Pure but for random secrets."""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from events.incoming_hooks.definition import HookKind

TOLERANCE: Final = timedelta(minutes=5)
"""How old a signed message may be, or how far in the future, as Standard Webhooks has it."""
_STANDARD: Final = "whsec_"
_MOST_ID: Final = 200
_MOST_SIGNATURES: Final = 20


class SignatureError(ValueError):
    """The request proves nothing; the text says why, without secrets."""


class StaleError(SignatureError):
    """The signature may be right, and is too old."""


def new_secret(kind: HookKind) -> tuple[str, str]:
    """A new secret as the sender gets it, and as it is stored."""
    if kind is HookKind.STANDARD:
        secret = _STANDARD + base64.b64encode(secrets.token_bytes(32)).decode()
        return secret, secret
    secret = secrets.token_urlsafe(32)
    return secret, _hashed(secret) if kind is HookKind.PATH else secret


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def check_path(stored: Sequence[str], given: str) -> None:
    """Checks the secret of an address. Raises SignatureError."""
    hashed = _hashed(given)
    if not any(hmac.compare_digest(hashed, each) for each in stored):
        raise SignatureError("the secret in the address is wrong")


def check_standard(stored: Sequence[str], headers: Mapping[str, str], body: bytes, now: datetime) -> str:
    """Checks a signature of Standard Webhooks; returns the message's id. `headers` have lower-case names.

    Raises:
        SignatureError: a header is missing, or no signature is right.
        StaleError: it was signed too long ago, or in the future.
    """
    message_id, sent_at, given = (
        headers.get(f"webhook-{each}", "") for each in ("id", "timestamp", "signature")
    )
    if not (message_id and sent_at and given):
        raise SignatureError("webhook-id, webhook-timestamp or webhook-signature is missing")
    if len(message_id) > _MOST_ID or not message_id.isprintable() or not message_id.isascii():
        raise SignatureError(f"webhook-id must have at most {_MOST_ID} printable ASCII characters")
    if not (sent_at.isascii() and sent_at.isdecimal() and len(sent_at) < 12):  # noqa: PLR2004  (seconds)
        raise SignatureError("webhook-timestamp must be seconds since 1970")
    signed = b".".join((message_id.encode(), sent_at.encode(), body))
    expected = [hmac.digest(_key(each), signed, "sha256") for each in stored]
    versions = [each.partition(",") for each in given.split(" ")[:_MOST_SIGNATURES]]
    found = [_decoded(value) for version, _, value in versions if version == "v1"]
    if not any(hmac.compare_digest(one, other) for one in expected for other in found):
        raise SignatureError("no signature in webhook-signature is right for this body and secret")
    if abs(now.timestamp() - int(sent_at)) > TOLERANCE.total_seconds():
        raise StaleError(
            "webhook-timestamp is over five minutes ago, or in the future; sign again when sending again"
        )
    return message_id


def check_github(stored: Sequence[str], headers: Mapping[str, str], body: bytes) -> str:
    """Checks GitHub's signature; returns the delivery's id. Raises SignatureError."""
    given = headers.get("x-hub-signature-256", "")
    delivery = headers.get("x-github-delivery", "")
    if not given:
        raise SignatureError(
            "X-Hub-Signature-256 is missing; set a secret in the settings of GitHub's webhook"
        )
    if not (delivery.isascii() and delivery.isprintable() and 0 < len(delivery) <= _MOST_ID):
        raise SignatureError("X-GitHub-Delivery is missing, or no id")
    expected = ["sha256=" + hmac.new(each.encode(), body, "sha256").hexdigest() for each in stored]
    if not any(hmac.compare_digest(each.encode(), given.encode()) for each in expected):
        raise SignatureError("X-Hub-Signature-256 is not right for this body and secret")
    return delivery


def _key(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix(_STANDARD))


def _decoded(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return b""
