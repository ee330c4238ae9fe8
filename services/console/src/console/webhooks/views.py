"""Contents of the pages about webhooks. Pure: no I/O."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from console.pages import Form

ORDERS: Final = ("none", "strict")
OUTCOMES: Final = ("delivered", "failed", "given_up")
STATE_TONES: Final = {"on": "good", "off": "quiet", "failed": "bad"}
OUTCOME_TONES: Final = {"delivered": "good", "failed": "warn", "given_up": "bad"}
_KIND: Final = "webhook"


@dataclass(frozen=True, slots=True)
class WebhookFields:
    """A webhook as its form has it."""

    name: str = ""
    account: str = ""
    types: tuple[str, ...] = ()
    """Chosen types; none: all."""
    order: str = "none"
    begin: str = "now"
    version: str = ""
    """The settings as the form showed them; empty for a new one."""


def version_of(webhook: Mapping[str, Any]) -> str:
    """Tells whether another person changed the settings meanwhile."""
    return json.dumps([webhook["account"], webhook["types"], webhook["order"]], ensure_ascii=True)


def fields_of(webhook: Mapping[str, Any]) -> WebhookFields:
    return WebhookFields(
        name=webhook["name"],
        account=webhook["account"],
        types=tuple(webhook["types"] or ()),
        order=webhook["order"],
        version=version_of(webhook),
    )


def typed_fields(form: Form) -> WebhookFields:
    return WebhookFields(
        name=form.text("name"),
        account=form.text("account"),
        types=typed_types(form),
        order=form.text("order", "none"),
        begin=form.text("begin", "now"),
        version=form.text("version"),
    )


def typed_types(form: Form) -> tuple[str, ...]:
    """The types of events that are checked."""
    return tuple(dict.fromkeys(" ".join(form.all("types")).replace(",", " ").split()))


def wanted_webhook(fields: WebhookFields) -> dict[str, Any]:
    """Returns the settings to send; malformed values are sent as typed, for the service to refuse."""
    return {"types": list(fields.types) or None, "order": fields.order, "begin": fields.begin}


def account_choices(accounts: Iterable[Mapping[str, Any]], chosen: str) -> tuple[str, ...]:
    """Returns the accounts that a webhook can send by, and the chosen one even if it cannot any more."""
    found = [each["name"] for each in accounts if each["kind"] == _KIND]
    return (*found, chosen) if chosen and chosen not in found else tuple(found)


def as_text(document: Any) -> str:
    """JSON for people."""
    return json.dumps(document, ensure_ascii=False, indent=2)
