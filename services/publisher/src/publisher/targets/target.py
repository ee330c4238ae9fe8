"""The interface of adapters for kinds of accounts. Their steps have receipts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NoReturn
from uuid import UUID

from integrations.sites import Site
from publisher.targets.edition import Edition
from receipts import Refused, Step

CHANGED: Final = "changed_elsewhere"
"""Reason of a failure: a person has changed the article at the target since the last update."""


@dataclass(frozen=True, slots=True)
class RemoteState:
    """The state of an article at a target."""

    content_id: UUID
    remote_id: str
    url: str | None = None
    slug: str | None = None
    """The slug of the last update."""
    is_public: bool = False
    seen: str | None = None
    """Digest of the target's content after the last update."""
    tried: frozenset[str] = frozenset()
    """Marks of updates with an unknown outcome."""
    overwrite: bool = False

    def check_unchanged(self, *, seen: str, mark: str | None, is_public: bool, state: str) -> None:
        """Checks that the target's content is our last update, an update in doubt, or may be overwritten.

        Raises:
            Refused: a person has changed it.
        """
        if self.overwrite or mark in self.tried:
            return
        if self.seen is not None and seen != self.seen:
            _changed("it was changed there since the last update")
        if is_public is not self.is_public:
            _changed(f"it was made '{state}' there")


def _changed(what: str) -> NoReturn:
    raise Refused(
        CHANGED,
        f"{what}; it stays as it is. To overwrite it: brandctl content publish ID TARGET --overwrite",
    )


class AccountTarget:
    """One kind of account. Later steps receive the values that earlier ones return: `id`, `url`, `seen`."""

    site: ClassVar[Site]

    def creation_steps(self, edition: Edition) -> Sequence[Step]:
        """Creates the article unless it exists, hidden from readers; once in its life. Returns `id` and `seen`."""
        raise NotImplementedError

    def update_steps(self, edition: Edition, remote_state: RemoteState) -> Sequence[Step]:
        """Shows this version to readers. Returns `url` and `seen`."""
        raise NotImplementedError

    def withdrawal_steps(self, remote_state: RemoteState) -> Sequence[Step]:
        """Hides the article from readers, and keeps its text."""
        raise NotImplementedError
