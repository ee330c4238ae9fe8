"""The audit logs of all services as one: filters, pages and files. Pure: no I/O."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Self
from urllib.parse import urlencode

from client.people_keys import key_name
from console.list_filters import midnight_of, read_day, read_fields

SERVICES: Final = (
    "orchestrator",
    "research",
    "publisher",
    "social",
    "monitor",
    "events",
    "gateway",
    "console",
)
OWN: Final = "console"
PAGE_SIZE: Final = 50
COLUMNS: Final = (
    "at", "service", "person", "caller", "key_id", "address", "operation", "path", "brand", "before", "after",
)  # fmt: skip
"""Of the files."""
_KEY_NAME: Final = re.compile("[a-z0-9]+([._-][a-z0-9]+)*")
_SHOWN: Final = 200
"""Characters of a value on the page; the files have the whole value."""
_NO_MORE: Final = 0
"""Stands in the address for a log that has no further entry."""
_POLICY: Final = "policy."
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
OPERATIONS: Final = {
    "PUT /v1/brands/{slug}": "set_brand",
    "POST /v1/brands/{slug}/research": "submit_keywords",
    "POST /v1/brands/{slug}/pause": "pause_brand",
    "POST /v1/brands/{slug}/resume": "resume_brand",
    "POST /v1/brands/{slug}/erase": "erase_brand",
    "POST /v1/brands/{slug}/audits": "audit_brand",
    "POST /v1/brands/{slug}/looked": "mark_reviewed",
    "PUT /v1/brands/{slug}/schedules/{name}": "set_schedule",
    "DELETE /v1/brands/{slug}/schedules/{name}": "delete_schedule",
    "POST /v1/cycles/{cycle_id}/pause": "pause_cycle",
    "POST /v1/cycles/{cycle_id}/resume": "resume_cycle",
    "POST /v1/cycles/{cycle_id}/cancel": "cancel_cycle",
    "POST /v1/keys": "create_key",
    "POST /v1/keys/{key_id}/rotate": "rotate_key",
    "DELETE /v1/keys/{key_id}": "revoke_key",
    "POST /v1/drafts/{content_id}/approve": "approve_draft",
    "POST /v1/drafts/{content_id}/unschedule": "unschedule_draft",
    "POST /v1/drafts/{content_id}/reject": "reject_draft",
    "POST /v1/drafts/{content_id}/return": "return_draft",
    "POST /v1/drafts/{content_id}/edit": "edit_draft",
    "POST /v1/drafts/{content_id}/proposals/edits": "propose_edit",
    "POST /v1/drafts/{content_id}/proposals/publications": "propose_publication",
    "POST /v1/drafts/{content_id}/proposals/{proposal_id}/accept": "accept_proposal",
    "POST /v1/drafts/{content_id}/proposals/{proposal_id}/dismiss": "dismiss_proposal",
    "POST /v1/drafts/{content_id}/looked": "mark_reviewed",
    "POST /v1/drafts/{content_id}/take-down": "take_down_article",
    "POST /v1/drafts/{content_id}/delete": "delete_article",
    "POST /v1/workflows/{content_id}/retry": "retry_workflow",
    "POST /v1/workflows/{content_id}/cancel": "cancel_workflow",
    "PUT /v1/brands/{slug}/sources": "set_sources",
    "POST /v1/brands/{slug}/documents": "add_document",
    "DELETE /v1/brands/{slug}/documents/{upload_id}": "remove_document",
    "PATCH /v1/brands/{slug}/site": "set_site",
    "DELETE /v1/brands/{slug}/site": "reset_site",
    "PUT /v1/brands/{slug}/logo": "set_site",
    "DELETE /v1/brands/{slug}/logo": "set_site",
    "PUT /v1/brands/{slug}/targets/{target}": "set_target",
    "DELETE /v1/brands/{slug}/targets/{target}": "delete_target",
    "POST /v1/receipts/{receipt_id}/confirm": "confirm_receipt",
    "POST /v1/receipts/{receipt_id}/repeat": "repeat_receipt",
    "POST /v1/posts/{post_id}/approve": "approve_post",
    "POST /v1/posts/{post_id}/edit": "edit_post",
    "POST /v1/posts/{post_id}/reject": "reject_post",
    "POST /v1/posts/{post_id}/retry": "retry_post",
    "PUT /v1/calendar/{post_id}": "move_post",
    "POST /v1/calendar/{post_id}/call-off": "call_off_post",
    "POST /v1/dead-letters/{dead_letter_id}/replay": "replay_dead_letter",
    "POST /v1/dead-letters/replay": "replay_dead_letter",
    "POST /v1/dead-letters/{dead_letter_id}/discard": "discard_dead_letter",
    "POST /v1/dead-letters/discard": "discard_dead_letter",
    "POST /v1/dead-letters/{dead_letter_id}/restore": "restore_dead_letter",
    "POST /v1/dead-letters/restore": "restore_dead_letter",
    "POST /v1/canary-replays": "begin_canary_replay",
    "POST /v1/canary-replays/{canary_id}/stop": "stop_canary_replay",
    "POST /v1/dead-letter-operations": "begin_dead_letter_operation",
    "POST /v1/dead-letter-operations/{operation_id}/stop": "stop_dead_letter_operation",
    "POST /v1/ledger/messages/close": "close_missing_messages",
    "POST /v1/backbone/pause": "pause_queue",
    "POST /v1/backbone/resume": "resume_queue",
    "POST /v1/messages/{message_id}/edit": "edit_message",
    "POST /v1/retries/run": "run_retries",
    "POST /v1/retries/cancel": "cancel_retries",
    "PUT /v1/notifications/routes/{name}": "set_route",
    "DELETE /v1/notifications/routes/{name}": "delete_route",
    "POST /v1/messages": "send_commands",
    "PUT /v1/brands/{slug}/hooks/{name}": "set_hook",
    "DELETE /v1/brands/{slug}/hooks/{name}": "delete_hook",
    "POST /v1/brands/{slug}/hooks/{name}/rotate": "rotate_hook",
    "PUT /v1/brands/{slug}/webhooks/{name}": "set_webhook",
    "DELETE /v1/brands/{slug}/webhooks/{name}": "delete_webhook",
    "POST /v1/brands/{slug}/webhooks/{name}/enable": "enable_webhook",
    "POST /v1/brands/{slug}/webhooks/{name}/disable": "disable_webhook",
    "POST /v1/brands/{slug}/webhooks/{name}/resend": "resend_webhook",
    "POST /v1/brands/{slug}/webhooks/{name}/test": "test_webhook",
    "POST /v1/brands/{slug}/parts/{part}": "import_brand",
    "POST /v1/broker-users": "add_broker_user",
    "POST /v1/broker-users/{key_id}/rotate": "rotate_broker_user",
    "DELETE /v1/broker-users/{key_id}": "remove_broker_user",
    "PUT /v1/subscriptions/{name}": "set_subscription",
    "DELETE /v1/subscriptions/{name}": "delete_subscription",
    "POST /v1/subscriptions/{name}/dead-letters/revive": "revive_events",
    "PUT /v1/providers/{name}": "connect_provider",
    "DELETE /v1/providers/{name}": "disconnect_provider",
    "PUT /v1/accounts/{name}": "connect_account",
    "DELETE /v1/accounts/{name}": "disconnect_account",
    "PUT /v1/account-apps/{kind}": "set_account_app",
    "PUT /v1/brands/{slug}/accounts/{account}/slots": "set_slots",
    "PUT /v1/brands/{slug}/newsletter": "enable_newsletter",
    "PUT /v1/spend/caps/{scope}": "set_spend_cap",
    "POST /v1/spend/stop": "stop_spending",
    "POST /v1/spend/resume": "resume_spending",
    "POST /v1/people/invitations": "invite_person",
    "DELETE /v1/people/{person_id}": "remove_person",
}
"""The last part of a text's key for the operations that people see most; the others are shown as they are called."""


@dataclass(frozen=True, slots=True)
class LogFilter:
    """The filter of the log, read from the address; empty fields match all entries."""

    person: str = ""
    service: str = ""
    brand: str = ""
    since: str = ""
    """The first day, such as 2026-11-28, in the reader's zone."""
    until: str = ""
    """The last day."""
    after: str = ""
    """Where the page begins in each log: `orchestrator.123-social.0`."""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        """Reads an address; values that no link of ours has count as left out."""
        return cls(
            **read_fields(query, cls.__slots__, choices={"service": SERVICES}, days=("since", "until"))
        )

    @property
    def is_set(self) -> bool:
        return bool(self.person or self.service or self.brand or self.since or self.until)

    @property
    def services(self) -> tuple[str, ...]:
        return (self.service,) if self.service else SERVICES

    @property
    def places(self) -> dict[str, int]:
        """Where the page begins in the logs of those services that it does not begin in anew."""
        found = {}
        for part in self.after.split("-"):
            name, _, place = part.partition(".")
            if name in SERVICES and place.isascii() and place.isdigit() and len(place) < len(str(2**63)):
                found[name] = int(place)
        return found

    def arguments(self, zone: str) -> dict[str, Any]:
        """Returns the arguments of each service's request, without the cursor."""
        first, last = read_day(self.since), read_day(self.until)
        return {
            "caller": None if not self.person else caller_of(self.person),
            "brand": self.brand or None,
            "since": None if first is None else midnight_of(first, zone),
            "until": None if last is None else midnight_of(last + timedelta(days=1), zone),
        }

    def query(self, *, after: str | None = "") -> str:
        """The query of a link to another page of the same entries."""
        named = {
            "person": self.person,
            "service": self.service,
            "brand": self.brand,
            "since": self.since,
            "until": self.until,
            "after": after or "",
        }
        return f"?{urlencode({name: value for name, value in named.items() if value})}"


def caller_of(person: str) -> str:
    """Returns the name of a person's key: `ada-loewe` for “Ada Löwe”; the name of a key stays."""
    return person if _KEY_NAME.fullmatch(person) else key_name(person)


@dataclass(frozen=True, slots=True)
class ChangedField:
    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class LogLine:
    service: str
    entry: Mapping[str, Any]

    @property
    def at(self) -> datetime:
        return datetime.fromisoformat(self.entry["at"])

    @property
    def text(self) -> str:
        """The last part of the key of its text; empty for an operation without one."""
        return OPERATIONS.get(self.entry["operation"], "")

    @property
    def changed(self) -> tuple[ChangedField, ...]:
        before, after = (dict(_leaves(self.entry[side] or {})) for side in ("before", "after"))
        names = {*before, *after}
        # A brand's answer has its settings twice.
        twice = {f"{_POLICY}{name}" for name in names}
        shown = sorted(names - twice - {"updated_at"})
        return tuple(ChangedField(name, _shown(before, name), _shown(after, name)) for name in shown)


def _leaves(fields: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{within}{name}.")
        else:
            yield f"{within}{name}", value


def _shown(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is None or value == []:
        return None
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = ", ".join(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


@dataclass(frozen=True, slots=True)
class MergedPage:
    lines: tuple[LogLine, ...]
    next: str | None


def merge(
    found: Mapping[str, Mapping[str, Any]], places: Mapping[str, int], size: int = PAGE_SIZE
) -> MergedPage:
    """Joins a page of each log into one, newest first.

    Args:
        found: the answers by service; one that is away is left out, and asked from the same place for the next page.
        places: where the answers begin.
        size: the most lines.
    """
    lines = sorted(
        (LogLine(service, entry) for service, answer in found.items() for entry in answer["items"]),
        key=lambda line: (line.at, line.service, line.entry["id"]),
        reverse=True,
    )
    shown = lines[:size]
    following = dict(places)
    more = False
    for service, answer in found.items():
        mine = [line.entry["id"] for line in shown if line.service == service]
        if mine:
            following[service] = mine[-1]
        if len(mine) == len(answer["items"]) and answer["next"] is None:
            following[service] = _NO_MORE
        else:
            more = True
    written = "-".join(f"{name}.{place}" for name, place in sorted(following.items()))
    return MergedPage(tuple(shown), written if more else None)


def is_over(places: Mapping[str, int], service: str) -> bool:
    """Returns whether the pages before have shown all of a service's log."""
    return places.get(service) == _NO_MORE


def rows(lines: Iterable[LogLine], people: Mapping[str, str]) -> list[dict[str, Any]]:
    """Returns the lines as the JSON file has them; `people` are names by the id of their key."""
    return [
        {
            "at": line.entry["at"],
            "service": line.service,
            "person": people.get(line.entry["key_id"]),
            **{name: line.entry[name] for name in COLUMNS if name not in {"at", "service", "person"}},
        }
        for line in lines
    ]


def as_csv(found: Iterable[Mapping[str, Any]]) -> str:
    """Writes rows as a table, in which no cell is a formula for a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows([_cell(row[name]) for name in COLUMNS] for row in found)
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(_FORMULA) else text
