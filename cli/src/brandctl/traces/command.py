"""`brandctl trace`: the trace of a request in Jaeger, from the call to the last post."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final
from uuid import UUID

import typer
from rich.console import Console

from brandctl.access import find_jaeger
from brandctl.errors import CommandError
from brandctl.short_ids import parse_reference
from brandctl.terminal import print_json, say
from brandctl.traces.jaeger import (
    MAX_TRACES,
    JaegerClient,
    JaegerError,
    Span,
    TraceFilter,
    TraceSummary,
    TraceUrls,
)
from brandctl.traces.tree import branch, duration, trees
from envelope.brand import CATALOGUE, SERVICES

CHAIN: Final = "correlation_id"
CYCLE: Final = f"{CATALOGUE.system}.cycle_id"
CONTENT: Final = f"{CATALOGUE.system}.content_id"
KEYWORD: Final = f"{CATALOGUE.system}.keyword"

KEYWORD_TO_FILL_IN: Final = '"KEYWORD" (brandctl keywords list finds it)'
_CHAINS_BEGIN_AT: Final = "orchestrator"
_REPLAYS_BEGIN_AT: Final = "monitor"
_CLOCKS_DIFFER: Final = timedelta(minutes=5)
_TIMED_UUID: Final = 7
_UNBROKEN: Final = 1_000
_SPANS_SHOWN: Final = 2_000
"""With more spans, the command prints a summary: Jaeger takes long to send them, and people cannot read them."""
_SLOWEST: Final = 5
_FAILED: Final = 10


@dataclass(frozen=True, slots=True)
class _TraceSearch:
    """Traces, and the keyword of the branches to show; None: all branches."""

    searches: Sequence[TraceFilter]
    """Searches that find some of the traces each."""
    summaries: Sequence[TraceSummary]
    keyword: str | None


def trace(
    identity: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]",
            parser=parse_reference,
            help="A correlation_id, a cycle_id, or the content_id of an article.",
        ),
    ] = None,
    keyword: Annotated[
        str | None, typer.Option(help="Only the branch of this keyword; without ID, in any request.")
    ] = None,
    jaeger_url: Annotated[
        str | None, typer.Option(envvar="JAEGER_URL", help="Address of Jaeger.", show_default="this machine")
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option(
            "--jaeger-public-url",
            envvar="JAEGER_PUBLIC_URL",
            help="Address of Jaeger for browsers, used in links.",
            show_default="the same",
        ),
    ] = None,
    hours: Annotated[float, typer.Option(min=0.1, help="How far to look back if the id has no time.")] = 48,
    *,
    as_json: bool,
) -> None:
    """Shows the chain of a request as a tree with durations, and links to it in Jaeger.

    Log lines, messages, dead letters and API answers have the correlation_id. A request with many keywords gets a
    summary; --keyword shows one of them. Exit code 1 if Jaeger has no trace of it, or does not answer; the link is
    printed anyway.

    For example:

        brandctl trace 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10
        brandctl trace 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --keyword "pour-over coffee"
        brandctl trace --keyword "pour-over coffee" --hours 2
    """
    if not identity and not keyword:
        raise typer.BadParameter("give an id, or --keyword", param_hint="ID")
    # Only a terminal breaks lines; in a file or a pipe they stay whole.
    out = Console(stderr=as_json, highlight=False, width=None if sys.stdout.isatty() else _UNBROKEN)
    since, until = _period(identity, timedelta(hours=hours), datetime.now(UTC))
    url = find_jaeger(jaeger_url)
    links = TraceUrls(public_url or url)
    asked = TraceFilter(_CHAINS_BEGIN_AT, _wanted(identity, keyword), since, until)
    try:
        with JaegerClient(url) as jaeger:
            found = _find(jaeger, asked, identity, keyword)
            if as_json and found is not None:
                print_json(_told(jaeger, found, links))
                return
            say(out, links.search(asked if found is None else found.searches[0]))
            if found is not None:
                _show(jaeger, found, links, out, identity)
    except JaegerError as error:
        say(out, links.search(asked))
        raise JaegerError(f"{error}\n{_without_traces(keyword)}") from error
    if found is None:
        raise CommandError(
            f"Jaeger has no span of {identity or keyword} (yet: services send theirs every few seconds)."
            f" Is OTEL_EXPORTER_OTLP_ENDPOINT set for them?\n{_without_traces(keyword)}"
        )


def _without_traces(keyword: str | None) -> str:
    """Returns the command that shows the history without traces."""
    named = KEYWORD_TO_FILL_IN if keyword is None else shlex.quote(keyword)
    return f"The services' databases have the history, too: brandctl keywords show {named}"


def _wanted(identity: str | None, keyword: str | None) -> dict[str, str]:
    return {name: value for name, value in ((CHAIN, identity), (KEYWORD, keyword)) if value}


def _find(
    jaeger: JaegerClient, asked: TraceFilter, identity: str | None, keyword: str | None
) -> _TraceSearch | None:
    """Finds the traces of an id; tries the likeliest searches first, since each takes time."""
    if found := _search(jaeger, asked, (_CHAINS_BEGIN_AT, _REPLAYS_BEGIN_AT), keyword):
        return found
    if identity is None:
        return None
    if _uuid(identity) is not None:
        for attribute in (CYCLE, CONTENT):
            spans = jaeger.spans(replace(asked, attributes={attribute: identity}))
            for span in spans:
                if span.attributes.get(attribute) == identity and (chain := span.attributes.get(CHAIN)):
                    mine = keyword or (span.attributes.get(KEYWORD) if attribute == CONTENT else None)
                    # The chain may have begun long before this part of it.
                    since = min(asked.since, _made_at(chain) or asked.since)
                    of_chain = replace(asked, attributes=_wanted(chain, mine), since=since)
                    return _search(jaeger, of_chain, (_CHAINS_BEGIN_AT, _REPLAYS_BEGIN_AT), mine)
    # A chain that another system began starts where its message came in.
    for service in SERVICES:
        if found := _search(jaeger, asked, (service,), keyword):
            return found
    return None


def _search(
    jaeger: JaegerClient, asked: TraceFilter, services: Sequence[str], keyword: str | None
) -> _TraceSearch | None:
    searches: list[TraceFilter] = []
    summaries: dict[str, TraceSummary] = {}
    for service in services:
        search = replace(asked, service=service)
        if found := jaeger.summaries(search):
            searches.append(search)
            summaries |= {summary.trace_id: summary for summary in found}
    return _TraceSearch(searches, list(summaries.values()), keyword) if searches else None


def _told(jaeger: JaegerClient, found: _TraceSearch, links: TraceUrls) -> dict[str, Any]:
    """The JSON of the traces, with spans unless there are too many."""
    traces = [
        {
            "trace_id": each.trace_id,
            "link": links.trace(each.trace_id),
            "spans": each.span_count,
            "failed_spans": each.error_span_count,
            "milliseconds": each.duration / 1e6,
        }
        for each in found.summaries
    ]
    spans = None if _are_too_many(found) else [asdict(span) for span in _spans(jaeger, found)]
    return {"search": links.search(found.searches[0]), "traces": traces, "spans": spans}


def _are_too_many(found: _TraceSearch) -> bool:
    return sum(summary.span_count for summary in found.summaries) > _SPANS_SHOWN


def _spans(jaeger: JaegerClient, found: _TraceSearch) -> list[Span]:
    spans = list({span.span_id: span for search in found.searches for span in jaeger.spans(search)}.values())
    return spans if found.keyword is None else branch(spans, KEYWORD, found.keyword)


def _show(
    jaeger: JaegerClient, found: _TraceSearch, links: TraceUrls, out: Console, identity: str | None
) -> None:
    if _are_too_many(found):
        _sum_up(jaeger, found.summaries, links, out, identity)
        return
    spans = _spans(jaeger, found)
    for trace_id in dict.fromkeys(span.trace_id for span in spans):
        say(out, f"\n{links.trace(trace_id)}")
        for tree in trees([span for span in spans if span.trace_id == trace_id], KEYWORD):
            out.print(tree, soft_wrap=True)


def _sum_up(
    jaeger: JaegerClient,
    summaries: Sequence[TraceSummary],
    links: TraceUrls,
    out: Console,
    identity: str | None,
) -> None:
    began = min(summary.min_start_time_unix_nano for summary in summaries)
    ended = max(summary.max_end_time_unix_nano for summary in summaries)
    failed = sorted(
        (summary for summary in summaries if summary.error_span_count),
        key=lambda summary: summary.error_span_count,
        reverse=True,
    )
    slowest = sorted(summaries, key=lambda summary: summary.duration, reverse=True)
    more = " or more" if len(summaries) == MAX_TRACES else ""
    say(
        out,
        f"\n{len(summaries):,}{more} traces, {sum(summary.span_count for summary in summaries):,} spans"
        f" in {duration(ended - began)}; {len(failed):,} with failed spans",
    )
    known: dict[str, str] = {}

    def line(summary: TraceSummary) -> str:
        if summary.trace_id not in known:
            known[summary.trace_id] = (
                _subject(jaeger.spans_of(summary.trace_id)) or summary.root_operation_name
            )
        return f"{known[summary.trace_id]}  {links.trace(summary.trace_id)}"

    if failed:
        say(out, "\nFailed spans, most first", "bold")
        for summary in failed[:_FAILED]:
            say(out, f"  {summary.error_span_count:>4}  {line(summary)}")
    say(out, "\nSlowest", "bold")
    for summary in slowest[:_SLOWEST]:
        say(out, f"  {duration(summary.duration):>9}  {line(summary)}")
    say(out, f'\nOne of them: brandctl trace {identity or "ID"} --keyword "…"')


def _subject(spans: Sequence[Span]) -> str | None:
    return next((span.attributes[KEYWORD] for span in spans if KEYWORD in span.attributes), None)


def _period(identity: str | None, look_back: timedelta, now: datetime) -> tuple[datetime, datetime]:
    """Returns the time range to search: since the id's time, if it has one."""
    since = _made_at(identity or "") or now - look_back
    return min(since, now), now + _CLOCKS_DIFFER


def _made_at(identity: str) -> datetime | None:
    """The time in a UUIDv7, minus a margin for clocks that are ahead."""
    uuid = _uuid(identity)
    if uuid is None or uuid.version != _TIMED_UUID:
        return None
    return datetime.fromtimestamp((uuid.int >> 80) / 1000, UTC) - _CLOCKS_DIFFER


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
