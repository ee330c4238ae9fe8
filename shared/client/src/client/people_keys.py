"""The API keys that people of the console have at the orchestrator: named after the person, as audit logs show that name."""

import re
import unicodedata
from typing import Final

PER_MINUTE: Final = 6_000
"""Requests of a person in a minute: a page makes several."""
SCOPES: Final = {
    "viewer": ("read",),
    "author": ("read", "submit"),
    "editor": ("read", "submit", "review"),
    "operator": ("read", "operate", "repair", "submit", "review"),
    "owner": ("read", "submit", "review", "operate", "repair", "admin"),
}
"""Scopes of a person's key, by role."""
_LONGEST: Final = 50
_LETTERS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "o", "ł": "l"})


def key_name(person: str) -> str:
    """Returns the name of a person's key: “Ada Löwe” has `ada-loewe`; a name without Latin letters has `person`."""
    plain = unicodedata.normalize("NFC", person).casefold().translate(_LETTERS)
    letters = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub("[^a-z0-9]+", "-", letters)[:_LONGEST].strip("-") or "person"


def free_name(person: str, taken: set[str]) -> str:
    """Returns the name of a person's key, with a number behind it if another key has it."""
    name = key_name(person)
    return next(
        each for each in (name, *(f"{name}-{n}" for n in range(2, len(taken) + 3))) if each not in taken
    )
