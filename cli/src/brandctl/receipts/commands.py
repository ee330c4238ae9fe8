"""`brandctl receipts`: effects on outside servers, and decisions about those in doubt."""

from enum import StrEnum
from typing import Annotated, Any, Final
from uuid import UUID

import httpx
import typer

from brandctl.asking import AsJson, KeyFile, ServiceClient, ServiceError
from brandctl.confirming import Yes, confirm
from brandctl.errors import CommandError, UsageError
from brandctl.listing import Limit, Listing, OfBrand
from brandctl.short_ids import parse_id
from brandctl.terminal import note, out, print_json, printable


class ReceiptServiceChoice(StrEnum):
    """Services that keep receipts."""

    PUBLISHER = "publisher"
    SOCIAL = "social"


class _ReceiptsClient(ServiceClient):
    service = "social"

    def page(self, **query: str | int | None) -> dict[str, Any]:
        try:
            return self._ask("GET", "/v1/receipts", params=query)
        except ServiceError as error:
            if error.status != httpx.codes.NOT_FOUND:
                raise
            return {"items": [], "next": None}  # its version has no receipts

    def receipt(self, receipt_id: UUID) -> dict[str, Any]:
        return self._ask("GET", f"/v1/receipts/{receipt_id}")

    def decide(self, receipt_id: UUID, what: str, **body: Any) -> dict[str, Any]:
        return self._ask("POST", f"/v1/receipts/{receipt_id}/{what}", json=body)


class _PublisherReceiptsClient(_ReceiptsClient):
    service = "publisher"


_CLIENTS: Final[dict[ReceiptServiceChoice, type[_ReceiptsClient]]] = {
    ReceiptServiceChoice.PUBLISHER: _PublisherReceiptsClient,
    ReceiptServiceChoice.SOCIAL: _ReceiptsClient,
}

app = typer.Typer(
    name="receipts",
    no_args_is_help=True,
    help="""Lists posts and publications on outside servers that are under way or in doubt, and settles those in doubt.

An effect in doubt is not sent again without a decision. Look at the account: if it is there, confirm it with its address;
if it is not, repeat it.

Each command calls publisher and social. Their addresses come from --publisher-url or PUBLISHER_URL and --social-url or
SOCIAL_URL, and the key from SERVICE_KEY or --key-file; beside a local run, `.local/endpoints.json` holds all of it.

Exit codes: 0 done, 1 nothing found or something failed, 2 wrong usage.

For example:

    brandctl receipts list --state in_doubt
    brandctl receipts show 0197a3c4-5b6e-5c80-9d2f-3a4b5c6d7e8f
    brandctl receipts confirm 0197a3c4-5b6e-5c80-9d2f-3a4b5c6d7e8f --url https://mastodon.social/@acme/112233
    brandctl receipts repeat 0197a3c4-5b6e-5c80-9d2f-3a4b5c6d7e8f
""",
)

ReceiptId = Annotated[UUID, typer.Argument(metavar="ID", parser=parse_id, help="`receipt_id`, as in `list`.")]
Of = Annotated[
    ReceiptServiceChoice | None, typer.Option("--service", help="Whose.", show_default="all that have any")
]
PublisherUrl = Annotated[str | None, _PublisherReceiptsClient.address_option()]
SocialUrl = Annotated[str | None, _ReceiptsClient.address_option()]


class ReceiptStateChoice(StrEnum):
    READY = "ready"
    ARMED = "armed"
    UNKNOWN = "unknown"
    IN_DOUBT = "in_doubt"
    REFUSED = "refused"
    CONFIRMED = "confirmed"


_RECEIPTS: Final = Listing[dict[str, Any]](
    {
        "id": lambda receipt: receipt["receipt_id"],
        "service": lambda receipt: receipt["service"],
        "brand": lambda receipt: receipt["brand_slug"],
        "state": lambda receipt: receipt["state"],
        "what": lambda receipt: receipt["subject"],
        "why": lambda receipt: receipt["detail"],
    },
    nothing="nothing is under way or in doubt",
    colours={"in_doubt": "red", "refused": "red", "unknown": "yellow", "confirmed": "green"},
)


@app.command(name="list")
def list_receipts(
    brand: OfBrand = None,
    state: Annotated[
        ReceiptStateChoice | None, typer.Option(help="Only this state.", show_default="all but confirmed")
    ] = None,
    before: Annotated[
        int | None, typer.Option(help="With --service: the cursor that the previous page printed.")
    ] = None,
    limit: Limit = 50,
    service: Of = None,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    social_url: SocialUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists effects on outside servers, newest first; exit code 1 if a service cannot be reached.

    For example:

        brandctl receipts list --state in_doubt --json | jq -r '.items[].receipt_id'
    """
    if before is not None and service is None:
        raise UsageError("--before continues the list of one service: give --service, too")
    urls = {ReceiptServiceChoice.PUBLISHER: publisher_url, ReceiptServiceChoice.SOCIAL: social_url}
    found: list[dict[str, Any]] = []
    more: dict[str, int] = {}
    away: list[str] = []
    for each in [service] if service else ReceiptServiceChoice:
        try:
            with _CLIENTS[each].at(urls[each], key_file) as client:
                page = client.page(brand=brand, state=state, before=before, limit=limit)
        except ServiceError as error:
            away.append(str(error))
            continue
        found += [{"service": each.value, **item} for item in page["items"]]
        if page["next"] is not None:
            more[each.value] = page["next"]
    _RECEIPTS.show(found, {"items": found, "next": more}, as_json=as_json)
    for name, following in more.items():
        note(f"{name} has more: --service {name} --before {following}")
    if away:
        raise CommandError("; ".join(away))


@app.command()
def show(
    receipt_id: ReceiptId,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    social_url: SocialUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows a receipt with all its attempts.

    For example:

        brandctl receipts show 0197a3c4-5b6e-5c80-9d2f-3a4b5c6d7e8f
    """
    with _owner(receipt_id, publisher_url, social_url, key_file) as client:
        receipt = client.receipt(receipt_id)
    if as_json:
        print_json({"service": client.service, **receipt})
        return
    lines = [
        _told(receipt),
        f"brand {receipt['brand_slug']}, account {receipt['account']}, of {client.service}",
    ]
    lines += [f"{key}: {value}" for key, value in receipt["remote"].items()]
    for attempt in receipt["attempts"]:
        who = f" by {attempt['made_by']}" if attempt["made_by"] else ""
        detail = f": {attempt['detail']}" if attempt["detail"] else ""
        lines.append(f"{attempt['made_at'][:19]}Z  {attempt['step']}  {attempt['event']}{who}{detail}")
    out().file.write(printable("\n".join(lines), keep_lines=True) + "\n")


@app.command(name="confirm")
def confirm_receipt(
    receipt_id: ReceiptId,
    url: Annotated[str | None, typer.Option(help="Address of the post or page.")] = None,
    remote: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="A field of the answer that did not arrive, such as id=112233."
        ),
    ] = None,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    social_url: SocialUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Confirms that an effect in doubt happened: it is not sent again, and the following steps continue.

    For example:

        brandctl receipts confirm 0197a3c4-5b6e-5c80-9d2f-3a4b5c6d7e8f --url https://x.com/acme/status/1 --remote id=1
    """
    told = dict(each.partition("=")[::2] for each in remote or ())
    if url is not None:
        told["url"] = url
    if not told or not all(told.values()):
        raise UsageError("the address is missing: give --url, or --remote id=… if it has none")
    with _owner(receipt_id, publisher_url, social_url, key_file) as client:
        _decided(client.decide(receipt_id, "confirm", remote=told), as_json=as_json)


@app.command()
def repeat(
    receipt_id: ReceiptId,
    yes: Yes = False,
    as_json: AsJson = False,
    publisher_url: PublisherUrl = None,
    social_url: SocialUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Sends an effect in doubt again. Look at the account first: if the post is there after all, there will be two.

    For example:

        brandctl receipts repeat 0197a3c4-5b6e-5c80-9d2f-3a4b5c6d7e8f
    """
    with _owner(receipt_id, publisher_url, social_url, key_file) as client:
        if not yes:
            receipt = client.receipt(receipt_id)
            confirm(f"{receipt['subject']}: have you looked, and it is not there?")
        _decided(client.decide(receipt_id, "repeat"), as_json=as_json)


def _owner(
    receipt_id: UUID, publisher_url: str | None, social_url: str | None, key_file: Any
) -> _ReceiptsClient:
    """Returns the client of the service that has the receipt.

    Raises:
        ServiceError: no service has it, or one cannot be reached.
    """
    urls = {ReceiptServiceChoice.PUBLISHER: publisher_url, ReceiptServiceChoice.SOCIAL: social_url}
    unknown: ServiceError | None = None
    for each in ReceiptServiceChoice:
        client = _CLIENTS[each].at(urls[each], key_file)
        try:
            client.receipt(receipt_id)
        except ServiceError as error:
            if error.status != httpx.codes.NOT_FOUND:
                raise
            unknown = error
        else:
            return client
    assert unknown is not None
    raise ServiceError(f"there is no receipt {receipt_id}", unknown.status)


def _decided(receipt: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(receipt)
        return
    note(_told(receipt))


def _told(receipt: dict[str, Any]) -> str:
    detail = f": {receipt['detail']}" if receipt["detail"] else ""
    return f"{receipt['subject']}: {receipt['state'].replace('_', ' ')}{detail}"
