"""`brandctl brands erase`: erases a brand from every service."""

import time
from typing import Annotated, Any, Final
from urllib.parse import quote

import httpx
import typer

from brandctl.asking import AsJson, KeyFile, ServiceClient, ServiceError
from brandctl.confirming import Yes, type_again
from brandctl.errors import CommandError
from brandctl.orchestrator.client import OrchestratorUrl
from brandctl.tables import show_table
from brandctl.terminal import note, print_json

_LOOK_EVERY_SECONDS: Final = 1.0

Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Its slug.")]
Wait = Annotated[
    float,
    typer.Option(min=0, help="The most seconds to wait for the answers of all services.", metavar="SECONDS"),
]


class ErasuresClient(ServiceClient):
    """A client of the orchestrator; use it as a context manager. Every method may raise `ServiceError`."""

    service = "orchestrator"

    def brand(self, slug: str) -> dict[str, Any] | None:
        """Returns the brand; None if there is none."""
        try:
            return self._ask("GET", f"/v1/brands/{quote(slug, safe='')}")
        except ServiceError as error:
            if error.status == httpx.codes.NOT_FOUND:
                return None
            raise

    def erase(self, slug: str) -> dict[str, Any]:
        return self._ask("POST", f"/v1/brands/{quote(slug, safe='')}/erase", json={"confirm": slug})

    def erasure(self, slug: str) -> dict[str, Any]:
        return self._ask("GET", f"/v1/brands/{quote(slug, safe='')}/erasure")


def erase(
    brand: Brand,
    yes: Yes = False,
    wait: Wait = 30.0,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Erases a brand for good, from every service; a second call shows the progress. Needs the scope admin.

    Export it first: brandctl brands export. Its pages answer 410 from then on, and late messages about it are dropped. The name is
    free once every service has answered; a service that is down answers when it is up again.

    For example:

        brandctl brands erase acme
    """
    with ErasuresClient.at(orchestrator_url, key_file) as erasures:
        known = erasures.brand(brand)
        if known is not None and not yes:
            counters = known["agent"]["counters"]
            type_again(
                brand,
                f"This erases {known['name']} for good: {counters['generated']} articles, {counters['published']} of them published,"
                f" {counters['posted']} posts, documents, schedules, keys. Articles and posts on other sites and accounts stay: to remove"
                " articles there, take them down first (brandctl drafts take-down).",
            )
        shown = erasures.erase(brand)
        until = time.monotonic() + wait
        while shown["state"] == "erasing" and time.monotonic() < until:
            time.sleep(min(_LOOK_EVERY_SECONDS, wait))
            shown = erasures.erasure(brand)
    if as_json:
        print_json(shown)
    else:
        show_table(
            ("service", "erased", "removed"),
            [
                (each["service"], each["erased_at"][:19].replace("T", " "), _told(each["removed"]))
                for each in shown["receipts"]
            ],
        )
        _show_elsewhere(shown["receipts"])
        note(f"{brand} is {'erased' if shown['state'] == 'erased' else 'being erased'}")
    if shown["state"] != "erased":
        raise CommandError(
            f"not every service has answered yet; the others answer when they are up again: brandctl brands erase {brand}"
        )


def _show_elsewhere(receipts: list[dict[str, Any]]) -> None:
    """Prints the articles and posts on other sites, which only their owner can remove, by hand."""
    count = sum(each.get("elsewhere_count", 0) for each in receipts)
    if not count:
        return
    addresses = [address for each in receipts for address in each.get("elsewhere", ())]
    show_table(("still elsewhere",), [(address,) for address in addresses])
    more = f", {len(addresses)} of them with an address" if len(addresses) < count else ""
    note(f"{count} of its articles and posts are still on other sites and accounts{more}: remove them there")


def _told(removed: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in removed.items() if count) or "nothing"
