"""`brandctl newsletter`: a brand's newsletter, its subscribers and its letters."""

import csv
import sys
from typing import Annotated, Any, Literal
from uuid import UUID

import typer

from brandctl.commands import Group, Result, table
from brandctl.options import Brand
from brandctl.times import to_second
from client.pages import items_of
from client.services.publisher import Publisher

app = Group(
    "newsletter",
    """Sends a brand's readers each new article by mail: turns it on and off, lists subscribers and letters.

For example:

    brandctl accounts connect smtp --name post --brand acme --set host=smtp.example.org --set "sender=Acme <news@acme.example>"
    brandctl newsletter on acme
    brandctl newsletter subscribers acme --csv > subscribers.csv
""",
    Publisher,
)

_PAGE = 200
_COLUMNS = ("address", "state", "signed_up_at", "confirmed_at")


@app.command()
def show(publisher: Publisher, brand: Brand) -> Result:
    """Shows whether the newsletter is on, what is missing, and how many subscribe."""
    return _shown(brand, publisher.get_newsletter_state(brand))


@app.command()
def on(publisher: Publisher, brand: Brand, account: str | None = None) -> Result:
    """Turns the newsletter on: each article published from now on goes to the subscribers.

    Options:
        account: The mail account that sends it. [default: the first one that the brand may use]
    """
    return _shown(brand, publisher.enable_newsletter(brand, account=account))


@app.command()
def off(publisher: Publisher, brand: Brand) -> Result:
    """Turns the newsletter off. Nothing more goes out, not even what waits; subscribers stay."""
    publisher.disable_newsletter(brand)
    return _shown(brand, publisher.get_newsletter_state(brand))


@app.command()
def subscribers(
    publisher: Publisher,
    brand: Brand,
    state: Literal["confirmed", "pending"] | None = None,
    as_csv: Annotated[bool, typer.Option("--csv")] = False,
) -> Result | None:
    """Lists all subscribers with their addresses, which are personal data.

    Options:
        state: confirmed, or pending (signed up, not confirmed yet).
        as_csv: Write them as CSV.
    """
    found: list[Any] = list(items_of(publisher.list_subscribers, brand, state=state, limit=_PAGE))
    if as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows([_cell(str(each[name] or "")) for name in _COLUMNS] for each in found)
        return None
    rows = [(each["address"], each["state"], to_second(each["signed_up_at"]), each["id"]) for each in found]
    return Result(
        {"items": found}, table(("address", "state", "since", "id"), rows), note=f"{len(found)} subscribers"
    )


def _cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


@app.command()
def remove(publisher: Publisher, brand: Brand, subscriber: UUID) -> Result:
    """Removes one subscriber and deletes the address.

    Options:
        subscriber: The id that `brandctl newsletter subscribers` shows.
    """
    publisher.remove_subscriber(brand, subscriber)
    return Result({}, note=f"the subscriber is removed from the newsletter of {brand}")


@app.command()
def letters(publisher: Publisher, brand: Brand) -> Result:
    """Lists the last letters, with how many went out, wait, failed or are in doubt."""
    found = publisher.list_letters(brand)
    rows = [
        (
            to_second(each["made_at"]),
            each["title"] or "-",
            *(str(each[name]) for name in ("sent", "waiting", "failed", "in_doubt")),
            each["content_id"],
        )
        for each in found["items"]
    ]
    return Result(found, table(("published", "article", "sent", "waiting", "failed", "in doubt", "id"), rows))


@app.command()
def again(publisher: Publisher, brand: Brand, letter: UUID) -> Result:
    """Sends a letter again to the subscribers in doubt. Those who did receive it get it twice.

    Options:
        letter: The id of its article, as `brandctl newsletter letters` shows it.
    """
    told = publisher.repeat_letter(brand, letter)
    return Result(told, note=f"it goes to {told['subscribers']} subscribers again")


def _shown(brand: str, found: Any) -> Result:
    accounts = found["mail_accounts"]
    known = (
        "the gateway does not answer" if accounts is None else ", ".join(each["name"] for each in accounts)
    )
    rows = [
        ("account", found["account"] or "-"),
        ("mail accounts", known or f"none: brandctl accounts connect smtp --brand {brand}"),
        ("sign-up page", found["sign_up_url"] or "-"),
        ("subscribers", str(found["subscribers"])),
        ("to be confirmed", str(found["pending"])),
        ("signed up in 30 days", str(found["signed_up"])),
        ("ended", str(found["ended"])),
        ("problem", found["problem"] or "-"),
    ]
    state = "on" if found["is_on"] else "off"
    return Result(found, table(("", ""), rows), note=f"{brand}: the newsletter is {state}")
