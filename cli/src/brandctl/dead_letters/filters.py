"""The options of `brandctl dead-letters` that select dead letters."""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated, Any

import typer

from brandctl.settings import given


def _moment(text: str) -> str:
    try:
        # A time without a zone is this machine's, as the list shows it.
        return datetime.fromisoformat(text.strip()).astimezone().isoformat()
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{text!r} is not a time such as 2026-11-28T14:00") from None


Queue = Annotated[str | None, typer.Option(help="Only those of this queue, such as research-commands.")]
TypeName = Annotated[
    str | None, typer.Option("--type", help="Only this message type, such as content.publish.")
]
FailureGroup = Annotated[
    str | None, typer.Option(help="Only this group of equal failures, from `list --summary`.")
]
Chain = Annotated[str | None, typer.Option("--correlation-id", help="Only those of this chain of messages.")]
MessageId = Annotated[
    str | None, typer.Option(help="Only the one with this id, of the dead letter, its message or its replay.")
]
ErrorText = Annotated[
    str | None, typer.Option("--error", help="Only those with this text in exception, error or stack frame.")
]
BodyText = Annotated[
    str | None,
    typer.Option("--payload", help="Only those with this text in their message, exactly as there."),
]
LeastAttempts = Annotated[
    int | None, typer.Option("--min-attempts", min=0, help="Only with so many attempts.")
]
MostAttempts = Annotated[
    int | None, typer.Option("--max-attempts", min=0, help="Only with at most so many attempts.")
]
Since = Annotated[
    str | None,
    typer.Option(
        "--failed-since", parser=_moment, metavar="TIME", help="Only those that failed then or later."
    ),
]
Before = Annotated[
    str | None,
    typer.Option("--failed-before", parser=_moment, metavar="TIME", help="Only those that failed earlier."),
]


@dataclass(frozen=True, slots=True)
class DeadLetterSelection:
    """A filter of dead letters, with the names of the monitor's API; None matches any value."""

    queue: str | None = None
    type: str | None = None
    group: str | None = None
    correlation_id: str | None = None
    message_id: str | None = None
    error: str | None = None
    payload: str | None = None
    min_attempts: int | None = None
    max_attempts: int | None = None
    failed_since: str | None = None
    failed_before: str | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        return given(**{each.name: getattr(self, each.name) for each in fields(self)})

    @property
    def in_words(self) -> str:
        parts = (
            (" of ", self.queue),
            (" of type ", self.type),
            (" of group ", self.group),
            (" of chain ", self.correlation_id),
            (" with the id ", self.message_id),
            (" with the error ", None if self.error is None else f"“{self.error}”"),
            (" with the text ", None if self.payload is None else f"“{self.payload}”"),
            (" with attempts from ", self.min_attempts),
            (" with attempts up to ", self.max_attempts),
            (" failed since ", self.failed_since),
            (" failed before ", self.failed_before),
        )
        return "".join(f"{word}{value}" for word, value in parts if value is not None)
