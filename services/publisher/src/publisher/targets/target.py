"""What a target is made of, beside the built-in site and files: an adapter of one kind of account, in steps with receipts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NoReturn, Protocol
from uuid import UUID

from publisher.targets.edition import Edition
from receipts import Refused, Step

CHANGED: Final = "changed_elsewhere"
"""The reason of a failure: somebody has changed it at the target since we wrote it."""


@dataclass(frozen=True, slots=True)
class RemoteState:
    """What is known of an article at a target."""

    content_id: UUID
    remote_id: str
    url: str | None = None
    slug: str | None = None
    """As it was asked for last."""
    is_public: bool = False
    seen: str | None = None
    """A digest of what the target showed after we wrote there last."""
    tried: frozenset[str] = frozenset()
    """Marks of writings that may have arrived since."""
    overwrite: bool = False

    def check_unchanged(self, *, seen: str, mark: str | None, is_public: bool, state: str) -> None:
        """What is there is what we wrote last, or wrote and were not told of, or is to be overwritten.

        Raises:
            Refused: somebody has changed it.
        """
        if self.overwrite or mark in self.tried:
            return
        if self.seen is not None and seen != self.seen:
            _changed("somebody has changed it there since it was written")
        if is_public is not self.is_public:
            _changed(f"somebody has made it '{state}' there")


def _changed(what: str) -> NoReturn:
    raise Refused(
        CHANGED,
        f"{what}; it was left as it is. To have it overwritten: brandctl content publish ID TARGET --overwrite",
    )


class TargetAdapter(Protocol):
    """One kind of account. What its steps return is kept, and tells the next ones: `id`, `url`, `seen`."""

    kind: ClassVar[str]

    def creation_steps(self, edition: Edition) -> Sequence[Step]:
        """Makes it there without a reader seeing it, unless it is there already; once in the life of an article. Returns `id`, and `seen`."""
        ...

    def update_steps(self, edition: Edition, remote_state: RemoteState) -> Sequence[Step]:
        """Has readers see this edition. Returns `url` and `seen`."""
        ...

    def withdrawal_steps(self, remote_state: RemoteState) -> Sequence[Step]:
        """Has no reader see it any more, and leaves its text."""
        ...


Remembered = Mapping[str, object]
