"""`brandctl brands erase`: erases a brand from every service."""

import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from brandctl.commands import Result
from brandctl.confirming import type_again
from brandctl.options import Brand, Yes
from brandctl.tables import show_table
from brandctl.terminal import note
from brandctl.times import to_second
from client.pages import read_if_known
from client.services.orchestrator import Orchestrator

if TYPE_CHECKING:
    from client.services.orchestrator import answers

_LOOK_EVERY_SECONDS: Final = 1.0


def erase(
    orchestrator: Orchestrator,
    brand: Brand,
    yes: Yes = False,
    wait: Annotated[float, typer.Option(min=0, metavar="SECONDS")] = 30.0,
) -> Result:
    """Erases a brand for good, from every service; a second call shows the progress. Needs the scope admin.

    Export it first: brandctl brands export. Its pages answer 410 from then on, and late messages about it are dropped. The name is
    free once every service has answered; a service that is down answers when it is up again.

    For example:

        brandctl brands erase acme

    Options:
        wait: The most seconds to wait for the answers of all services.
    """
    if not yes:
        _ask(orchestrator, brand)
    found = orchestrator.erase_brand(brand, confirm=brand)
    until = time.monotonic() + wait
    while found["state"] == "erasing" and time.monotonic() < until:
        time.sleep(min(_LOOK_EVERY_SECONDS, wait))
        found = orchestrator.get_brand_erasure(brand)
    ended = found["state"] == "erased"
    return Result(
        found,
        lambda: _show(found["receipts"]),
        note=f"{brand} is {'erased' if ended else 'being erased'}",
        error=""
        if ended
        else f"not every service has answered yet; the others answer when they are up again: brandctl brands erase {brand}",
    )


def _ask(orchestrator: Orchestrator, brand: str) -> None:
    """Asks for confirmation, unless the brand is gone already."""
    if (known := read_if_known(orchestrator.get_brand, brand)) is None:
        return
    counters = known["agent"]["counters"]
    assert counters is not None, "only a request without counters gets none"
    type_again(
        brand,
        f"This erases {known['name']} for good: {counters['generated']} articles, {counters['published']} of them published,"
        f" {counters['posted']} posts, documents, schedules, keys. Articles and posts on other sites and accounts stay: to remove"
        " articles there, take them down first (brandctl drafts take-down).",
    )


def _show(receipts: list["answers.ErasureReceiptView"]) -> None:
    rows = [(each["service"], to_second(each["erased_at"]), _told(each["removed"])) for each in receipts]
    show_table(("service", "erased", "removed"), rows)
    count = sum(each.get("elsewhere_count", 0) for each in receipts)
    if not count:
        return
    # Articles and posts on other sites, which only their owner can remove, by hand.
    addresses = [address for each in receipts for address in each.get("elsewhere", ())]
    show_table(("still elsewhere",), [(address,) for address in addresses])
    more = f", {len(addresses)} of them with an address" if len(addresses) < count else ""
    note(f"{count} of its articles and posts are still on other sites and accounts{more}: remove them there")


def _told(removed: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in removed.items() if count) or "nothing"
