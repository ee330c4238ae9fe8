"""Recovery codes: each opens the person's own key, once, so that a lost password loses nothing."""

import secrets
from dataclasses import dataclass
from typing import Final, Self
from uuid import UUID

from console.sealing import seal, token_hash, token_key, unseal

HOW_MANY: Final = 10
_LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Without letters that look like digits; 20 of them are 100 random bits, which need no slow derivation."""
_LENGTH: Final = 20
_GROUP: Final = 5
_ALIKE: Final = str.maketrans("OILU", "011V")


def new_code() -> str:
    """Generates a code such as `7K2QF-…`, in four groups."""
    letters = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
    return "-".join(letters[at : at + _GROUP] for at in range(0, _LENGTH, _GROUP))


def clean_code(typed: str) -> str:
    """Returns a code as it was generated, however it was typed."""
    letters = "".join(letter for letter in typed.upper().translate(_ALIKE) if letter.isalnum())
    return "-".join(letters[at : at + _GROUP] for at in range(0, len(letters), _GROUP))


def _purpose(person: UUID) -> str:
    return f"recovery code of {person}"


def open_with_code(sealed: bytes, person: UUID, code: str) -> bytes:
    """Returns the person's own key. Raises SealedError."""
    return unseal(sealed, token_key(code), _purpose(person))


@dataclass(frozen=True, slots=True)
class RecoveryCodes:
    codes: tuple[str, ...]
    rows: tuple[tuple[bytes, bytes], ...]
    """For each code its hash, and the person's own key sealed by it."""

    @classmethod
    def generate(cls, person: UUID, own_key: bytes) -> Self:
        codes = tuple(new_code() for _ in range(HOW_MANY))
        rows = tuple((token_hash(code), seal(own_key, token_key(code), _purpose(person))) for code in codes)
        return cls(codes, rows)
