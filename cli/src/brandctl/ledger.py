"""`brandctl ledger` and `brandctl close-missing`: what became of all messages that services have sent."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

import typer

from brandctl.commands import Result
from brandctl.listing import Listing
from brandctl.operator_names import By, who
from brandctl.short_ids import parse_reference
from client.services.monitor import Monitor
from client.services.monitor.answers import LedgerView

_State = Literal["under_way", "dead_letter", "discarded", "missing", "closed"]
_MOST: Final = 200
_PLACES: Final = {
    "queue": "waits in the queue {queue}",
    "held": "waits in a process of {consumer}",
    "handler": "{consumer} handles it",
    "retry": "waits in {consumer} for its next attempt",
    "outbox": "{consumer} hands its dead letter to the broker",
    "dead_letter_queue": "waits in the queue {queue}-dlq",
    "dead_letter": "its dead letter is recorded",
    "replay": "its replay has no outcome yet",
}


def _place(message: dict[str, Any]) -> str:
    last_hop: str | None = message["last_hop"]
    if last_hop is not None:
        why = message.get("closed_why")
        return last_hop if why is None else f"{last_hop}; closed by {message['closed_by'] or '?'}: {why}"
    place = _PLACES.get(message["place"])
    return str(message["place"]) if place is None else place.format_map(message)


_MESSAGES: Final = Listing(
    {
        "message": "message_id",
        "type": "type",
        "state": lambda each: each["state"].replace("_", " "),
        "sender": "sender",
        "sent": "sent_at",
        "place": _place,
        "chain": lambda each: each["correlation_id"] or "",
    },
    nothing="every message that was counted is done",
    colours={"missing": "red"},
)


def counts_line(ledger: LedgerView) -> str:
    """The counts of the last 24 hours, as one line."""
    counts = ledger["last_24_hours"]
    parts = [f"{counts['accepted']:,} accepted", f"{counts['done']:,} done"]
    if counts["dead_letters"]:
        parts.append(f"{counts['dead_letters']:,} dead letters open")
    if counts["discarded"]:
        parts.append(f"{counts['discarded']:,} discarded")
    if counts.get("closed"):
        parts.append(f"{counts['closed']:,} closed")
    return " · ".join([*parts, f"{counts['under_way']:,} under way", f"{counts['missing']:,} missing"])


def _notes(ledger: LedgerView) -> list[str]:
    notes = [f"the last 24 hours: {counts_line(ledger)}"]
    if ledger["counted_until"] is not None:
        until = datetime.fromisoformat(ledger["counted_until"])
        notes.append(f"counted are messages that were sent before {until:%Y-%m-%d %H:%M:%S} UTC")
    if ledger["missing"] > ledger["last_24_hours"]["missing"]:
        notes.append(f"with older ones, {ledger['missing']:,} are missing")
    for each in ledger["services"]:
        if each["away_since"] is not None:
            since = datetime.fromisoformat(each["away_since"])
            notes.append(
                f"{each['name']} has not answered since {since:%Y-%m-%d %H:%M} UTC: {each['problem']}"
            )
        if not each["is_recorded"]:
            notes.append(f"{each['name']} does not record what it sends (MESSAGE_LEDGER)")
    return notes


def ledger(
    monitor: Monitor,
    state: Annotated[_State | None, typer.Option()] = None,
    queue: Annotated[str | None, typer.Option()] = None,
) -> Result:
    """Shows how many sent messages are done, and lists those that are not; exit code 1 if one is missing.

    A missing message was confirmed by the broker, has left its queue, and has no outcome. The list names the place where it was last, and
    its chain, which `brandctl chain` shows. It has the 200 oldest messages.

    For example:

        brandctl ledger
        brandctl ledger --state missing

    Options:
        state: Only messages in this state.
        queue: Only messages for this queue.
    """
    found = monitor.get_ledger()
    messages = monitor.list_ledger_messages(state=state, queue=queue, limit=_MOST)
    listed = _MESSAGES.of({"ledger": found, "messages": messages["items"]}, messages["items"])
    nothing = (
        () if messages["items"] else ("no message of this kind" if state or queue else _MESSAGES.nothing,)
    )
    missing = found["missing"]
    return Result(
        listed.answer,
        listed.show,
        remark=[*_notes(found), *nothing],
        error=f"missing: {missing:,} {'message' if missing == 1 else 'messages'}" if missing else "",
    )


def close_missing(
    monitor: Monitor,
    messages: Annotated[
        list[str],
        typer.Argument(
            metavar="ID...", parser=parse_reference, help="Ids that `brandctl ledger --state missing` lists."
        ),
    ],
    reason: Annotated[str, typer.Option()],
    by: By = None,
) -> Result:
    """Closes missing messages, once their loss is dealt with: they are counted apart, and raise no alert.

    One that turns up after all is counted as any other. Messages that are not missing stay as they are; exit code 1 if there are some.

    For example:

        brandctl close-missing 01a22860-788f-77a8-9dbc-d1781b75609b --reason "purged by mistake; the articles were handed in again"

    Options:
        reason: What was found out; shown with the messages.
    """
    if not reason.strip():
        raise typer.BadParameter("say what was found out", param_hint="--reason")
    if len(messages) > _MOST:
        raise typer.BadParameter(f"{_MOST} at most", param_hint="ID")
    answer = monitor.close_missing_messages(ids=messages, reason=reason, by=who(by))
    closed = answer["closed"]
    left = [each for each in dict.fromkeys(messages) if each not in closed]
    return Result(
        answer,
        remark=[f"closed: {len(closed):,} {'message' if len(closed) == 1 else 'messages'}"],
        error=f"not missing, or closed before: {', '.join(left)}" if left else "",
    )
