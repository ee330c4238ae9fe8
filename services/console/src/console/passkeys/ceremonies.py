"""What browsers and passkeys answer, checked without I/O.

A passkey signs a challenge, which says who it is. It also calculates 32 secret bytes from PRF_INPUT (the WebAuthn extension `prf`), the
same each time, which seal the person's own key as a password does. A passkey without the extension could open nothing.
"""

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from console.people.domain import Person
from console.relying_party import RelyingParty
from console.sealing import KEY_BYTES, seal, token_key, unseal

_CHALLENGE_BYTES: Final = 32


class PasskeyRefusedError(Exception):
    """The browser's answer proves nothing; `text` is the key of the sentence for the person."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def new_challenge() -> bytes:
    return secrets.token_bytes(_CHALLENGE_BYTES)


def written(value: bytes) -> str:
    """Writes bytes as browsers do, in base64url."""
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def read_bytes(text: str) -> bytes:
    """Reads base64url; empty for what is none."""
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return b""


def registration_options(
    party: RelyingParty, site_name: str, person: Person, challenge: bytes, known: Collection[bytes]
) -> str:
    """Returns the JSON with which a browser makes a passkey; `known` are ids of those that the person has."""
    # Loaded when the first passkey is used: it takes 7 MB.
    import webauthn  # noqa: PLC0415
    from webauthn.helpers import structs  # noqa: PLC0415

    return webauthn.options_to_json(
        webauthn.generate_registration_options(
            rp_id=party.id,
            rp_name=site_name,
            user_id=person.id.bytes,
            user_name=person.name,
            challenge=challenge,
            exclude_credentials=[structs.PublicKeyCredentialDescriptor(id=each) for each in known],
            authenticator_selection=structs.AuthenticatorSelectionCriteria(
                resident_key=structs.ResidentKeyRequirement.REQUIRED,
                user_verification=structs.UserVerificationRequirement.REQUIRED,
            ),
        )
    )


@dataclass(frozen=True, slots=True)
class NewPasskey:
    credential_id: bytes
    public_key: bytes
    sign_count: int


def check_registration(party: RelyingParty, credential: str, challenge: bytes) -> NewPasskey:
    """Raises PasskeyRefusedError."""
    # Loaded when the first passkey is used: it takes 7 MB.
    import webauthn  # noqa: PLC0415
    from webauthn.helpers.exceptions import WebAuthnException  # noqa: PLC0415

    try:
        found = webauthn.verify_registration_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError) as error:
        raise PasskeyRefusedError("passkeys.failed") from error
    return NewPasskey(found.credential_id, found.credential_public_key, found.sign_count)


def check_authentication(
    party: RelyingParty, credential: str, challenge: bytes, *, public_key: bytes, sign_count: int
) -> int:
    """Returns how often the passkey has signed. Raises PasskeyRefusedError."""
    # Loaded when the first passkey is used: it takes 7 MB.
    import webauthn  # noqa: PLC0415
    from webauthn.helpers.exceptions import WebAuthnException  # noqa: PLC0415

    try:
        found = webauthn.verify_authentication_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=public_key,
            credential_current_sign_count=sign_count,
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError) as error:
        raise PasskeyRefusedError("passkeys.failed") from error
    return found.new_sign_count


def _purpose(credential_id: bytes) -> str:
    return f"passkey {credential_id.hex()}"


def seal_with_passkey(own_key: bytes, prf: str, credential_id: bytes) -> bytes:
    """Seals a person's own key by what the passkey calculates. Raises PasskeyRefusedError if it calculated nothing."""
    if len(read_bytes(prf)) != KEY_BYTES:
        raise PasskeyRefusedError("passkeys.no_prf")
    return seal(own_key, token_key(prf), _purpose(credential_id))


def open_with_passkey(sealed: bytes, prf: str, credential_id: bytes) -> bytes:
    """Returns the person's own key. Raises SealedError."""
    return unseal(sealed, token_key(prf), _purpose(credential_id))
