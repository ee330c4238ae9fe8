"""`brandctl trace`: what became of a request, from the call to the last post, as Jaeger has recorded it."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

import httpx
import typer
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from brandctl.jaeger import Jaeger, JaegerError, Span
from brandctl.local.services import NAMES
from brandctl.monitor_client import AccessError, find_access

_CHAINS_BEGIN_AT: Final = "orchestrator"
_CLOCKS_DIFFER: Final = timedelta(minutes=5)
_TIMED_UUID: Final = 7
_UNBROKEN: Final = 1_000
_COLOURS: Final = dict(zip(NAMES, ("cyan", "green", "magenta", "blue", "yellow"), strict=True))


def trace(
    chain: Annotated[
        str,
        typer.Argument(metavar="ID", help="A correlation_id, or the cycle_id that the API answered with."),
    ],
    jaeger_url: Annotated[
        str, typer.Option(envvar="JAEGER_URL", help="Address of Jaeger.")
    ] = "http://localhost:16686",
    orchestrator_url: Annotated[
        str | None, typer.Option(envvar="ORCHESTRATOR_URL", help="Who is asked what cycle that is.")
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="File that holds the service key; else SERVICE_KEY."),
    ] = None,
    hours: Annotated[
        float, typer.Option(min=0.1, help="How far to look back, where the id does not tell its time.")
    ] = 48,
) -> None:
    """Shows the chain of a request as a tree with durations, and links to it in Jaeger.

    A correlation_id is found in log lines, messages, dead letters and the answers of the API. Exit code 1 if Jaeger has
    nothing about it, or does not answer; the link is printed all the same.

    For example:

        brandctl trace 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10
    """
    notes = Console(stderr=True, highlight=False)
    chain = _correlation_id(chain, orchestrator_url, key_file, notes)
    since, until = _period(chain, timedelta(hours=hours), datetime.now(UTC))
    tags = {"correlation_id": chain}
    # Lines are for the terminal to break; in a file or a pipe they stay whole.
    out = Console(highlight=False, width=None if sys.stdout.isatty() else _UNBROKEN)
    try:
        with Jaeger(jaeger_url) as jaeger:
            out.print(Text(jaeger.search_link(_CHAINS_BEGIN_AT, tags, since, until)), soft_wrap=True)
            spans = jaeger.spans(NAMES, tags, since, until)
            for trace_id in dict.fromkeys(span.trace_id for span in spans):
                mine = [span for span in spans if span.trace_id == trace_id]
                out.print(Text(f"\n{jaeger.trace_link(trace_id)}"), soft_wrap=True)
                for tree in trees(mine):
                    out.print(tree, soft_wrap=True)
    except JaegerError as error:
        notes.print(Text(str(error)), soft_wrap=True)
        raise typer.Exit(1) from error
    if not spans:
        notes.print(
            Text(
                f"Jaeger has no span with correlation_id {chain} (yet: services send theirs every few seconds). "
                "Is OTEL_EXPORTER_OTLP_ENDPOINT set for them?"
            ),
            soft_wrap=True,
        )
        raise typer.Exit(1)


def trees(spans: Sequence[Span]) -> list[Tree]:
    """The spans of one trace under their parents, in order of time; one tree for each whose parent is not among them."""
    began = min((span.began for span in spans), default=0)
    known = {span.span_id for span in spans}
    children: dict[str, list[Span]] = {}
    for span in sorted(spans, key=lambda span: span.began):
        children.setdefault(span.parent_id if span.parent_id in known else "", []).append(span)
    found = [(Tree(_label(span, began)), span) for span in children.get("", ())]
    open_ = list(found)
    while open_:
        tree, parent = open_.pop()
        open_ += [(tree.add(_label(span, began)), span) for span in children.get(parent.span_id, ())]
    return [tree for tree, _ in found]


def _label(span: Span, began: int) -> Text:
    label = Text()
    label.append(f"{_printable(span.service)} ", style=_COLOURS.get(span.service, ""))
    label.append(_printable(span.name), style="" if span.error is None else "red")
    label.append(f"  {_duration(span.ended - span.began)}", style="bold")
    label.append(f"  +{_duration(span.began - began)}", style="dim")
    if span.error is not None:
        label.append(f"  {_printable(span.error) or 'failed'}", style="red")
    return label


def _duration(nanoseconds: int) -> str:
    seconds = nanoseconds / 1e9
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def _printable(text: str) -> str:
    """What strangers sent must not steer the terminal."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def _period(chain: str, look_back: timedelta, now: datetime) -> tuple[datetime, datetime]:
    """When to look: ids that are made here begin with the time they were made at."""
    since = now - look_back
    identity = _uuid(chain)
    if identity is not None and identity.version == _TIMED_UUID:
        made = datetime.fromtimestamp((identity.int >> 80) / 1000, UTC)
        since = min(made - _CLOCKS_DIFFER, now)
    return since, now + _CLOCKS_DIFFER


def _correlation_id(given: str, url: str | None, key_file: Path | None, notes: Console) -> str:
    """The chain of the cycle with this id; if there is none, or nobody to ask, what was given."""
    if _uuid(given) is None:
        return given
    try:
        access = find_access(url, key_file, service="orchestrator")
    except AccessError:
        return given  # to read traces, neither the orchestrator nor its key is needed
    try:
        with httpx.Client(headers={"X-Service-Key": access.key}, timeout=10, trust_env=False) as http:
            response = http.get(f"{access.url.rstrip('/')}/v1/cycles/{given}")
            if response.status_code == HTTPStatus.OK:
                return str(response.json()["correlation_id"])
            problem = None if response.status_code == HTTPStatus.NOT_FOUND else f"HTTP {response.status_code}"
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError) as error:
        problem = repr(error)
    if problem is not None:
        note = f"{access.url} cannot say whether {given} is a cycle ({problem}); it is taken for a correlation_id"
        notes.print(Text(note), soft_wrap=True)
    return given


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
