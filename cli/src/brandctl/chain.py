"""`brandctl chain`: the messages of one chain, of all services, without traces."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

import typer

from brandctl.commands import Result
from brandctl.errors import CommandError, UsageError
from brandctl.gateway.spend import dollars
from brandctl.listing import Listing
from brandctl.messages import ask_each, why
from brandctl.options import AfterCursor, Limit
from brandctl.short_ids import parse_id
from brandctl.times import to_second
from client import message_chains
from client.pages import MAX_PAGE, read_if_known
from client.services.gateway import Gateway
from client.services.monitor import Monitor
from client.services.orchestrator import Orchestrator
from client.services.publisher import Publisher
from client.services.research import Research
from client.services.social import Social

_SHOWN: Final = 20
"""Chains of one keyword that an error names."""


def _waited(message: Mapping[str, Any]) -> str:
    return message_chains.duration(message_chains.times_of(message).waited)


def _worked(message: Mapping[str, Any]) -> str:
    return message_chains.duration(message_chains.times_of(message).worked)


_COLUMNS: Final[Mapping[str, str | Callable[[Any], str]]] = {
    "made": lambda message: to_second(message["at"]),
    "service": "service",
    "message": "message_id",
    "type": lambda message: f"{'  ' * message.get('depth', 0)}{message['type']}",
    "state": "state",
    "ended": lambda message: to_second(message["ended_at"]),
    "waited": _waited,
    "worked": _worked,
    "attempts": lambda message: ", ".join(map(_attempt, message["attempts"])),
    "due": lambda message: to_second(message["due_at"]),
    "why": why,
}
_LINE: Final = Listing(_COLUMNS, nothing="no message of this chain is in the services' records")


def _attempt(attempt: Mapping[str, Any]) -> str:
    return f"{attempt['attempt']} {attempt['outcome']}" + (
        f" ({attempt['reason']})" if attempt["reason"] else ""
    )


def chain(
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    monitor: Monitor,
    gateway: Gateway,
    correlation_id: Annotated[str | None, typer.Argument(metavar="[CORRELATION_ID]")] = None,
    keyword: str | None = None,
    article: Annotated[UUID | None, typer.Option(parser=parse_id, metavar="ID")] = None,
    post: Annotated[UUID | None, typer.Option(parser=parse_id, metavar="ID")] = None,
    tree: Annotated[bool, typer.Option("--tree")] = False,
    calls: Annotated[bool, typer.Option("--calls")] = False,
    after: AfterCursor = None,
    limit: Limit = 100,
) -> Result:
    """Lists the messages of a chain, of all services, the newest first; exit code 1 if a service cannot be reached.

    A chain is all that follows from one request. Log lines, messages, dead letters and API answers have its
    correlation_id. The columns have how long a message waited and was in handlers, and its attempts, as far as they are
    recorded: those that failed, and those that took a second or more.

    For example:

        brandctl chain 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10
        brandctl chain --keyword "cold brew" --tree
        brandctl chain --keyword "cold brew" --calls
        brandctl chain 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --json | jq '.items[] | select(.state != "handled")'

    Options:
        correlation_id: Of the chain.
        keyword: The chain of this keyword, as submitted.
        article: The chain in which this article was written.
        post: The chain of the article that this post is about.
        calls: Instead of the messages, the calls that the gateway made for the chain, the oldest first, and what they cost.
        tree: Each message below the one whose handling sent it, the oldest first.
    """
    if sum(each is not None for each in (correlation_id, keyword, article, post)) != 1:
        raise UsageError("give a correlation_id, or one of --keyword, --article and --post")
    chosen = correlation_id or _find(orchestrator, social, keyword, article, post)
    if calls:
        return _calls(gateway, chosen, after, limit)
    places = message_chains.read_places(after or "")
    clients = [
        each for each in (orchestrator, research, publisher, social, monitor) if each.service in places
    ]
    answers, away = ask_each(
        clients,
        lambda client: client.list_messages(correlation_id=chosen, after=places[client.service], limit=limit),
    )
    line = message_chains.merge(answers, places, size=limit)
    items = (
        [{**each.message, "depth": each.depth} for each in message_chains.tree(line.items)]
        if tree
        else list(line.items)
    )
    listed = _LINE.of({"correlation_id": chosen, "items": items, "next": line.next}, items)
    remark = [] if line.next is None else [f"there are more: --after {line.next}"]
    note = () if away else listed.note
    return Result(listed.answer, listed.show, note, remark=remark, error="; ".join(away))


_CALLS: Final = Listing(
    {
        "began": lambda call: to_second(call["began_at"]),
        "kind": "kind",
        "to": "target",
        "what": "subject",
        "state": "state",
        "took": lambda call: message_chains.duration(_took(call)),
        "cost": lambda call: dollars(call["spent"]),
        "problem": lambda call: call["problem"] or "",
    },
    nothing="the gateway has made no call for this chain, or has recorded none",
)


def _took(call: Mapping[str, Any]) -> float | None:
    if call["ended_at"] is None:
        return None
    began, ended = (datetime.fromisoformat(call[name]) for name in ("began_at", "ended_at"))
    return (ended - began).total_seconds()


def _calls(gateway: Gateway, correlation_id: str, after: str | None, limit: int) -> Result:
    found = gateway.list_chain_calls(correlation_id=correlation_id, after=after, limit=limit)
    listed = _CALLS.of(found)
    total = f"{found['calls']:,} calls, which cost {dollars(found['spent'])} dollars"
    return Result(listed.answer, listed.show, listed.note, remark=[total] if found["calls"] else [])


def _find(
    orchestrator: Orchestrator,
    social: Social,
    keyword: str | None,
    article: UUID | None,
    post: UUID | None,
) -> str:
    """Returns the correlation id of a keyword, of an article, or of what a post is about."""
    if post is not None:
        known = read_if_known(social.get_post, post, or_gone=True)
        if known is None:
            raise CommandError(f"there is no post {post} that was reviewed; try --article or --keyword")
        article = UUID(known["content_id"])
    found = (
        orchestrator.search_for_keywords(keyword=keyword, limit=MAX_PAGE)
        if article is None
        else orchestrator.search_for_keywords(content_id=article, limit=1)
    )
    chains = list(dict.fromkeys(each["correlation_id"] for each in found["items"]))
    if not chains:
        told = f"the keyword {keyword!r}" if article is None else f"the article {article}"
        raise CommandError(f"no stored cycle has {told}; old ones leave the database")
    if len(chains) > 1:
        raise CommandError(
            f"{len(chains)} chains have the keyword {keyword!r}; give one of them: {', '.join(chains[:_SHOWN])}"
        )
    return chains[0]
