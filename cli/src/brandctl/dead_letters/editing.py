"""`brandctl dead-letters edit`: sends a dead letter with another payload, in place of the original."""

import copy
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from brandctl.commands import Result
from brandctl.errors import CommandError
from brandctl.operator_names import By, who
from brandctl.short_ids import parse_reference
from brandctl.terminal import printable
from client.errors import RefusedError
from client.services.events import Events
from client.services.monitor import Monitor
from client.services.orchestrator import Orchestrator
from client.services.publisher import Publisher
from client.services.research import Research
from client.services.social import Social

HIDDEN: Final = "***"
_PAUSE: Final = 0.5
_TRACE: Final = ("traceparent", "tracestate", "baggage")
_LONGEST_HEADER: Final = 8192


def edit(
    monitor: Monitor,
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    events: Events,
    dead: Annotated[str, typer.Argument(metavar="ID", parser=parse_reference)],
    file: Annotated[Path | None, typer.Option(exists=True, dir_okay=False)] = None,
    setting: Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=VALUE")] = None,
    reason: str | None = None,
    by: By = None,
    deadline: str | None = None,
    max_cost: float | None = None,
    wait: bool = False,
    timeout: Annotated[float, typer.Option(min=0.1)] = 120.0,
) -> Result:
    """Sends a dead letter edited, once and under a new id. The original is never sent.

    The service that failed checks the fields and takes the edit. Ids and the brand cannot be changed. What is hidden keeps its
    value; to change it, set it. With --wait, exit code 0 means that the edited message was handled.

    For example:

        brandctl dead-letters edit 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --set target=site --reason "a typing error" --wait
        brandctl dead-letters show 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --json | jq .payload.payload > payload.json
        brandctl dead-letters edit 0190f3c2-8a51-7cc1-b0f2-5f3a1c9d2e10 --file payload.json

    Options:
        dead: An id from `list`.
        file: A file with the edited payload, as JSON; fields that it lacks are taken away.
        setting: One field and its value, also `place.town=Ulm` or `tags=["tea"]`. Can be repeated.
        reason: Reason, stored with the dead letter.
        deadline: New deadline of the chain, with a zone; one whose deadline has passed needs it.
        max_cost: Dollars that the chain may cost, spent ones included.
        wait: Wait until the edited message is handled, or has failed too.
        timeout: With --wait: the most seconds to wait.
    """
    if (file is None) == (not setting):
        raise typer.BadParameter("give either --file or --set", param_hint="--set")
    seen: Any = monitor.get_dead_letter(dead)
    letter: Any = monitor.reveal_dead_letter(dead) if seen.get("payload_hidden") else seen
    service = _consumer_of(letter, (orchestrator, research, publisher, social, monitor, events))
    original = letter["payload"]
    if file is not None:
        payload = kept_hidden(_read(file), seen["payload"]["payload"], original["payload"])
    else:
        form = service.get_message_edit(letter["event_id"], type=letter["type"])
        payload = with_settings(original["payload"], setting or (), form["payload_schema"])
    trace = {
        name: value
        for name in _TRACE
        if isinstance(value := letter["headers"].get(name), str) and 0 < len(value) <= _LONGEST_HEADER
    }
    given: dict[str, Any] = {"by": who(by), "reason": (reason or "").strip() or None, "trace": trace or None}
    given |= {"deadline": deadline} if deadline is not None else {}
    given |= {"max_cost": max_cost} if max_cost is not None else {}
    try:
        answer: Any = service.edit_message(letter["event_id"], original=original, payload=payload, **given)
    except RefusedError as error:
        if not (errors := error.problem.get("errors")):
            raise
        told = "\n".join(f"{each['field'].removeprefix('payload.')}: {each['detail']}" for each in errors)
        raise CommandError(printable(told, keep_lines=True)) from error
    outcome = _wait(monitor, dead, timeout) if wait else "sent"
    return Result(
        {"id": dead, **answer, "outcome": outcome},
        remark=printable(f"{dead} edited, sent as {answer['edited_message_id']}: {_WORDS[outcome]}"),
        fails=outcome not in ("sent", "handled"),
    )


_WORDS: Final = {
    "sent": "no outcome yet",
    "waiting": "no outcome yet; look later with `brandctl dead-letters show`",
    "handled": "handled",
    "dead_again": "it failed too; `brandctl dead-letters list` has it",
    "discarded": "discarded",
}


def _consumer_of(letter: Mapping[str, Any], services: Sequence[Any]) -> Any:
    """The service that the dead letter's queue belongs to."""
    envelope = letter["payload"]
    if (
        not isinstance(envelope, dict)
        or not isinstance(envelope.get("payload"), dict)
        or not letter["event_id"]
    ):
        raise CommandError("No service can read this message, so it cannot be edited.")
    if letter["state"] != "open" and not letter.get("edit"):
        raise CommandError(f"Only an open dead letter can be edited; this one is {letter['state']}.")
    name = letter["queue"].rpartition("-")[0]
    found = next((each for each in services if each.service == name), None)
    if found is None:
        raise CommandError(f"No service of this system has the queue {printable(letter['queue'])}.")
    return found


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except ValueError as error:
        raise CommandError(f"{file} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise CommandError(f"{file} must have a JSON object, the payload")
    return found


def kept_hidden(edited: Any, shown: Any, original: Any) -> Any:
    """The edited value, with the original wherever it still has what is shown in place of something hidden.

    Raises:
        CommandError: something was changed in a text or a list of which a part is hidden, or a mask stands where none was.
    """
    if edited == shown:
        return original
    if isinstance(edited, dict) and isinstance(shown, dict) and isinstance(original, dict):
        return {
            name: kept_hidden(value, shown.get(name), original.get(name)) for name, value in edited.items()
        }
    if edited != original:
        _check_mask(edited)
    return edited


def _check_mask(value: Any) -> None:
    # The places in a list may have moved, so nobody knows what its masks stand for.
    if HIDDEN in json.dumps(value):
        raise CommandError(
            f"The file has {HIDDEN} in something that was changed: take the message from `show ID --raw --json`."
        )


def with_settings(
    payload: Mapping[str, Any], settings: Sequence[str], schema: Mapping[str, Any]
) -> dict[str, Any]:
    """The payload with these fields set.

    Raises:
        CommandError: a setting is no `field=value`, or names a field inside of something that is no object.
    """
    edited = copy.deepcopy(dict(payload))
    for each in settings:
        path, is_setting, text = each.partition("=")
        *above, name = path.split(".")
        if not is_setting or not all([*above, name]):
            raise CommandError(f"--set {printable(each)}: write field=value")
        place: Any = edited
        for step in above:
            place = place.setdefault(step, {})
            if not isinstance(place, dict):
                raise CommandError(f"--set {printable(path)}: {printable(step)} has no fields of its own")
        place[name] = text if _is_text([*above, name], schema) else _value(text)
    return edited


def _is_text(path: Sequence[str], schema: Mapping[str, Any]) -> bool:
    """Whether the schema has nothing but a text there."""
    found = [schema]
    for name in path:
        fields = [each.get("properties", {}).get(name) for each in found]
        found = [branch for each in fields if each for branch in _branches(each, schema)]
    kinds = {each.get("type") for each in found} - {"null"}
    return kinds == {"string"}


def _branches(schema: Mapping[str, Any], root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _branches(root.get("$defs", {}).get(reference.removeprefix("#/$defs/"), {}), root)
    several = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return [branch for each in several for branch in _branches(each, root)] if several else [schema]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _wait(monitor: Monitor, dead: str, timeout: float) -> str:
    """Waits up to `timeout` seconds for what becomes of the edited message; its report may come a moment later."""
    until = time.monotonic() + timeout
    while True:
        letter: Any = monitor.get_dead_letter(dead)
        if letter["state"] in ("resolved", "discarded"):
            if letter["replaced_by"] is not None:
                return "dead_again"
            return "handled" if letter["state"] == "resolved" else "discarded"
        if (left := until - time.monotonic()) <= 0:
            return "waiting"
        time.sleep(min(_PAUSE, left))
