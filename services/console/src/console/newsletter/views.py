"""Contents of the page about a newsletter, from the publisher's answers. Pure: no I/O."""

import csv
from collections.abc import Iterable, Mapping
from io import StringIO
from typing import Any, Final

COLUMNS: Final = ("address", "state", "signed_up_at", "confirmed_at")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def missing(state: Mapping[str, Any]) -> str:
    """Returns what keeps a newsletter from going out: `gateway`, `account`, `reconnect`, `problem`; empty if nothing does."""
    accounts = state["mail_accounts"]
    if accounts is None:
        return "gateway"
    if not accounts:
        return "account"
    if not state["is_on"]:
        return ""
    used = next((each for each in accounts if each["name"] == state["account"]), None)
    if used is None or used["state"] == "needs_reconnecting":
        return "reconnect"
    return "problem" if state["problem"] else ""


def as_csv(subscribers: Iterable[Mapping[str, Any]]) -> str:
    """Returns the subscribers as CSV, in which no spreadsheet finds a formula."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for each in subscribers:
        writer.writerow([_cell(str(each[name] or "")) for name in COLUMNS])
    return text.getvalue()


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
