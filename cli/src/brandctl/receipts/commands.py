"""`brandctl receipts`: effects on outside servers, and decisions about those in doubt."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal
from uuid import UUID

import typer

from brandctl.commands import Group, Result
from brandctl.confirming import confirm
from brandctl.errors import CommandError, UsageError
from brandctl.listing import Listing
from brandctl.options import Limit, OfBrand, Yes
from brandctl.short_ids import parse_id
from brandctl.terminal import write
from client.errors import ClientError
from client.pages import read_if_known
from client.services.publisher import Publisher, ReceiptState
from client.services.social import Social

if TYPE_CHECKING:
    from client.services.social import answers

app = Group(
    "receipts",
    """Lists posts and publications on outside servers that are under way or in doubt, and settles those in doubt.

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

_RECEIPTS: Final = Listing(
    {
        "id": "receipt_id",
        "service": "service",
        "brand": "brand_slug",
        "state": "state",
        "what": "subject",
        "why": "detail",
    },
    nothing="nothing is under way or in doubt",
    colours={"in_doubt": "red", "refused": "red", "unknown": "yellow", "confirmed": "green"},
)


@app.command("list")
def list_receipts(
    publisher: Publisher,
    social: Social,
    brand: OfBrand = None,
    state: ReceiptState | None = None,
    before: int | None = None,
    limit: Limit = 50,
    service: Literal["publisher", "social"] | None = None,
) -> Result:
    """Lists effects on outside servers, newest first; exit code 1 if a service cannot be reached.

    For example:

        brandctl receipts list --state in_doubt --json | jq -r '.items[].receipt_id'

    Options:
        state: Only this state. [default: all but confirmed]
        before: With --service: the cursor that the previous page printed.
        service: Only this service's. [default: all that have receipts]
    """
    if before is not None and service is None:
        raise UsageError("--before continues the list of one service: give --service, too")
    found: list[Any] = []
    more: dict[str, int] = {}
    away: list[str] = []
    for each in (publisher, social):
        if service not in {None, each.service}:
            continue
        try:
            page = read_if_known(
                partial(each.list_receipts, brand=brand, state=state, before=before, limit=limit)
            )
        except ClientError as error:
            away.append(str(error))
            continue
        if page is None:  # its version has no receipts
            continue
        found += [{"service": each.service, **item} for item in page["items"]]
        if page["next"] is not None:
            more[each.service] = page["next"]
    listed = _RECEIPTS.of({"items": found, "next": more}, found)
    remarks = [f"{name} has more: --service {name} --before {following}" for name, following in more.items()]
    return Result(listed.answer, listed.show, listed.note, remark=remarks, error="; ".join(away))


@app.command()
def show(publisher: Publisher, social: Social, receipt_id: ReceiptId) -> Result:
    """Shows a receipt with all its attempts.

    For example:

        brandctl receipts show 0197a3c4-5b6e-5c80-9d2f-3a4b5c6d7e8f
    """
    service, receipt = _found(publisher, social, receipt_id)
    lines = [
        _told(receipt),
        f"brand {receipt['brand_slug']}, account {receipt['account']}, of {service.service}",
    ]
    lines += [f"{key}: {value}" for key, value in receipt["remote"].items()]
    for attempt in receipt["attempts"]:
        who = f" by {attempt['made_by']}" if attempt["made_by"] else ""
        detail = f": {attempt['detail']}" if attempt["detail"] else ""
        lines.append(f"{attempt['made_at'][:19]}Z  {attempt['step']}  {attempt['event']}{who}{detail}")
    return Result({"service": service.service, **receipt}, lambda: write("\n".join(lines) + "\n"))


@app.command("confirm")
def confirm_receipt(
    publisher: Publisher,
    social: Social,
    receipt_id: ReceiptId,
    url: str | None = None,
    remote: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE")] = None,
) -> Result:
    """Confirms that an effect in doubt happened: it is not sent again, and the following steps continue.

    For example:

        brandctl receipts confirm 0197a3c4-5b6e-5c80-9d2f-3a4b5c6d7e8f --url https://x.com/acme/status/1 --remote id=1

    Options:
        url: Address of the post or page.
        remote: A field of the answer that did not arrive, such as id=112233.
    """
    told: dict[str, Any] = dict(each.partition("=")[::2] for each in remote or ())
    if url is not None:
        told["url"] = url
    if not told or not all(told.values()):
        raise UsageError("the address is missing: give --url, or --remote id=… if it has none")
    service, _ = _found(publisher, social, receipt_id)
    return _decided(service.confirm_receipt(receipt_id, remote=told))


@app.command()
def repeat(publisher: Publisher, social: Social, receipt_id: ReceiptId, yes: Yes = False) -> Result:
    """Sends an effect in doubt again. Look at the account first: if the post is there after all, there will be two.

    For example:

        brandctl receipts repeat 0197a3c4-5b6e-5c80-9d2f-3a4b5c6d7e8f
    """
    service, receipt = _found(publisher, social, receipt_id)
    if not yes:
        confirm(f"{receipt['subject']}: have you looked, and it is not there?")
    return _decided(service.repeat_receipt(receipt_id))


def _found(publisher: Publisher, social: Social, receipt_id: UUID) -> tuple[Publisher | Social, Any]:
    """Returns the service that has the receipt, and the receipt.

    Raises:
        ClientError: one service cannot be reached.
        CommandError: no service has it.
    """
    for service in (publisher, social):
        if (receipt := read_if_known(service.get_receipt, receipt_id)) is not None:
            return service, receipt
    raise CommandError(f"there is no receipt {receipt_id}")


def _decided(receipt: Any) -> Result:
    return Result(receipt, note=_told(receipt))


def _told(receipt: "answers.ReceiptView") -> str:
    detail = f": {receipt['detail']}" if receipt["detail"] else ""
    return f"{receipt['subject']}: {receipt['state'].replace('_', ' ')}{detail}"
