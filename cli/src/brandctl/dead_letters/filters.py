"""The options of `brandctl dead-letters` that select dead letters."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Annotated, Any, Final

import typer

from brandctl.settings import given
from brandctl.times import parse_moment

Queue = Annotated[str | None, typer.Option(help="Only those of this queue, such as research-commands.")]
TypeName = Annotated[
    str | None, typer.Option("--type", help="Only this message type, such as content.publish.")
]
FailureGroup = Annotated[
    str | None, typer.Option(help="Only this group of equal failures, from `list --summary`.")
]
Code = Annotated[
    str | None,
    typer.Option(help="Only those that failed in this code, from `show` or `list --summary --json`."),
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
        "--failed-since", parser=parse_moment, metavar="TIME", help="Only those that failed then or later."
    ),
]
Before = Annotated[
    str | None,
    typer.Option(
        "--failed-before", parser=parse_moment, metavar="TIME", help="Only those that failed earlier."
    ),
]


@dataclass(frozen=True, slots=True)
class DeadLetterSelection:
    """A filter of dead letters, with the names of the monitor's API; None matches any value."""

    queue: str | None = None
    type: str | None = None
    group: str | None = None
    code: str | None = None
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
            (" of the code ", self.code),
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


_OPTIONS: Final = {
    "queue": Queue,
    "type_name": TypeName,
    "group": FailureGroup,
    "code": Code,
    "correlation_id": Chain,
    "message_id": MessageId,
    "error": ErrorText,
    "payload": BodyText,
    "min_attempts": LeastAttempts,
    "max_attempts": MostAttempts,
    "failed_since": Since,
    "failed_before": Before,
}
"""The option of each field of `DeadLetterSelection`, in the same order."""


def with_filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the options of a filter, in place of its parameter `wanted`, which gets the filter."""
    signature = inspect.signature(command)
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _OPTIONS.items()
    ]
    parameters = [
        part
        for name, each in signature.parameters.items()
        for part in (options if name == "wanted" else [each.replace(kind=each.KEYWORD_ONLY)])
    ]

    @wraps(command)
    def run(**given: Any) -> Any:
        wanted = DeadLetterSelection(*(given.pop(name) for name in _OPTIONS))
        return command(**given, wanted=wanted)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run
