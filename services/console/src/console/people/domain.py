"""People and their roles."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from chassis.http.callers import Scope

SHORTEST_PASSWORD: Final = 12
LONGEST_PASSWORD: Final = 1_000


class Role(StrEnum):
    VIEWER = "viewer"
    AUTHOR = "author"
    EDITOR = "editor"
    OPERATOR = "operator"
    OWNER = "owner"


SCOPES: Final = {
    Role.VIEWER: frozenset({Scope.READ}),
    Role.AUTHOR: frozenset({Scope.READ, Scope.SUBMIT}),
    Role.EDITOR: frozenset({Scope.READ, Scope.SUBMIT, Scope.REVIEW}),
    Role.OPERATOR: frozenset({Scope.READ, Scope.OPERATE, Scope.REPAIR, Scope.SUBMIT, Scope.REVIEW}),
    Role.OWNER: frozenset(Scope),
}
"""Scopes of the API keys, by role."""


@dataclass(frozen=True, slots=True)
class Person:
    id: UUID
    name: str
    role: Role
    brands: frozenset[str] | None
    """Slugs; None: all brands."""
    language: str
    zone: str
    key_id: str
    """Public id of the person's API key."""
    created_at: datetime
    signed_in_at: datetime | None
    has_password: bool = True
    """Without one, the person signs in at the provider."""

    @property
    def scopes(self) -> frozenset[Scope]:
        return SCOPES[self.role]

    @property
    def is_owner(self) -> bool:
        return self.role is Role.OWNER


def clean_name(name: str) -> str:
    """Returns a name with single spaces and without invisible characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in name).split())
