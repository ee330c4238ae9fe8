"""`brandctl drafts`: drafts that wait for a person, and the decisions about them."""

import shlex
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote
from uuid import UUID

import typer

from brandctl.asking import AsJson, KeyFile, ServiceClient, ServiceError
from brandctl.confirming import Yes, confirm
from brandctl.decisions import decide_each
from brandctl.errors import CommandError, UsageError
from brandctl.listing import MOST_OF_A_PAGE, AfterId, Limit, Listing, OfBrand
from brandctl.orchestrator import brand_times
from brandctl.orchestrator.client import OrchestratorClient, OrchestratorUrl
from brandctl.orchestrator.draft_file import DraftFile, DraftFileError, edited
from brandctl.short_ids import parse_id
from brandctl.terminal import note, out, print_json, printable

app = typer.Typer(
    name="drafts",
    no_args_is_help=True,
    help=f"""Lists drafts that wait for a person; approves, edits, returns, rejects and removes them.

{OrchestratorClient.help()}

For example:

    brandctl drafts list --brand acme
    brandctl drafts show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    brandctl drafts approve 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --version 2
""",
)


def _at(planned: dict[str, Any]) -> str:
    moment = datetime.fromisoformat(planned["publish_at"])
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _why(draft: dict[str, Any]) -> str:
    if planned := draft.get("scheduled"):
        return f"published on {_at(planned)}"
    return "; ".join(draft["held_for"])


_DRAFTS: Final = Listing[dict[str, Any]](
    {
        "id": lambda draft: draft["content_id"],
        "brand": lambda draft: draft["brand_slug"],
        "version": lambda draft: str(draft["version"]),
        "state": lambda draft: draft["state"],
        "words": lambda draft: str(draft["word_count"]),
        "title": lambda draft: draft["title"],
        "why": _why,
    },
    nothing="nothing waits",
    colours={
        "waiting": "yellow",
        "scheduled": "green",
        "correction": "yellow",
        "rejected": "red",
        "approved": "green",
    },
)

ContentId = Annotated[
    UUID, typer.Argument(metavar="ID", parser=parse_id, help="`content_id`, as in `list` and cycles.")
]
Version = Annotated[
    int | None, typer.Option(min=1, help="The version that you reviewed.", show_default="the newest")
]


class DraftStateChoice(StrEnum):
    WAITING = "waiting"
    SCHEDULED = "scheduled"
    RETURNED = "returned"
    CORRECTION = "correction"
    REJECTED = "rejected"
    APPROVED = "approved"
    TAKEN_DOWN = "taken_down"


class DraftsClient(ServiceClient):
    """A client of the orchestrator; use it as a context manager. Every method may raise `ServiceError`."""

    service = "orchestrator"

    def page(self, **query: str | int | UUID | None) -> dict[str, Any]:
        return self._ask("GET", "/v1/drafts", params=query)

    def draft(self, content_id: UUID) -> dict[str, Any]:
        return self._ask("GET", f"/v1/drafts/{content_id}")

    def version(self, content_id: UUID, version: int) -> dict[str, Any]:
        return self._ask("GET", f"/v1/content/{content_id}/versions/{version}")

    def difference(self, content_id: UUID, first: int, second: int) -> dict[str, Any]:
        return self._ask("GET", f"/v1/content/{content_id}/diff", params={"from": first, "to": second})

    def decide(self, content_id: UUID, what: str, **body: Any) -> dict[str, Any]:
        return self._ask("POST", f"/v1/drafts/{content_id}/{what}", json=body)

    def mark_reviewed(self, content_id: UUID) -> dict[str, Any]:
        return self._ask("POST", f"/v1/drafts/{content_id}/looked")

    def looked(self, brand: str) -> dict[str, Any]:
        return self._ask("POST", f"/v1/brands/{quote(brand, safe='')}/looked")


@app.command(name="list")
def list_drafts(
    brand: OfBrand = None,
    state: Annotated[
        DraftStateChoice | None,
        typer.Option(help="Only this state.", show_default="all that need a decision or a rewrite"),
    ] = None,
    after: AfterId = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists drafts that wait for a person, are being rewritten, or correct a published article.

    For example:

        brandctl drafts list --brand acme --json | jq -r '.items[].content_id'
    """
    with DraftsClient.at(orchestrator_url, key_file) as drafts:
        answer = drafts.page(brand=brand, state=state, after=after, limit=limit)
    _DRAFTS.show(answer["items"], answer, as_json=as_json, more=answer["next"])


@app.command()
def show(
    content_id: ContentId,
    version: Version = None,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows a version of a draft, its quality measures, and the last decision.

    For example:

        brandctl drafts show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f | less
    """
    with DraftsClient.at(orchestrator_url, key_file) as drafts:
        draft = drafts.draft(content_id)
        found = drafts.version(content_id, version or draft["version"])
    if as_json:
        print_json(draft | {"shown": found})
        return
    out().file.write(printable(str(DraftFile.of(found)), keep_lines=True))
    for each in found["measures"]:
        if not each["holds"]:
            note(f"measured: {each['problem']}")
    note(_told(draft))


@app.command()
def diff(
    content_id: ContentId,
    first: Annotated[
        int | None, typer.Option("--from", min=1, help="Version to compare.", show_default="the one before")
    ] = None,
    second: Annotated[
        int | None, typer.Option("--to", min=1, help="Version to compare it with.", show_default="the newest")
    ] = None,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows the differences between two versions.

    For example:

        brandctl drafts diff 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --from 1 --to 3
    """
    with DraftsClient.at(orchestrator_url, key_file) as drafts:
        newest = second or int(drafts.draft(content_id)["version"])
        answer = drafts.difference(content_id, first or max(newest - 1, 1), newest)
    if as_json:
        print_json(answer)
        return
    out().file.write(printable(answer["diff"], keep_lines=True))
    if not answer["diff"]:
        note(f"nothing differs between versions {answer['first']} and {answer['second']}")
    if answer["is_cut"]:
        note("the rest is too long to compare")


@app.command()
def approve(
    content_ids: Annotated[
        list[UUID] | None,
        typer.Argument(
            metavar="[ID]...", parser=parse_id, help="`content_id`, as `list` and cycles show it."
        ),
    ] = None,
    brand: Annotated[
        str | None, typer.Option("--brand", help="With --all: slug of the brand whose drafts these are.")
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="All waiting drafts of the brand, in the versions that the command lists first."
        ),
    ] = False,
    yes: Yes = False,
    version: Version = None,
    despite_newer: Annotated[
        bool,
        typer.Option(
            "--despite-newer", help="Approve even if there is a newer version, or during a rewrite."
        ),
    ] = False,
    at: Annotated[
        str | None,
        typer.Option(
            help=f"Not before this time, {brand_times.HELP}; a second approval moves it.", show_default="now"
        ),
    ] = None,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Approves exactly these versions, to be published now or at a time.

    If some of several drafts cannot be approved, the command names them, approves the others, and exits with code 1.

    For example:

        brandctl drafts approve 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --version 2
        brandctl drafts approve 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --at "2027-03-01 09:00"
        brandctl drafts approve --all --brand acme
    """
    if bool(content_ids) == everything or everything is not (brand is not None):
        raise UsageError("give the ids of drafts, or --all with --brand BRAND")
    if version is not None and (everything or len(content_ids or ()) > 1):
        raise UsageError("--version goes with one draft only; without it, the newest versions are approved")
    with DraftsClient.at(orchestrator_url, key_file) as drafts:
        wanted = _waiting(drafts, brand, yes=yes) if brand else dict.fromkeys(content_ids or (), version)

        def decide(content_id: UUID) -> dict[str, Any]:
            draft = drafts.draft(content_id)
            seen = wanted[content_id] or draft["version"]
            when = {}
            if at is not None:
                time = brand_times.read_time(at, lambda: draft["brand_slug"], orchestrator_url, key_file)
                when = {"publish_at": time}
            return drafts.decide(content_id, "approve", version=seen, despite_newer=despite_newer, **when)

        decide_each(wanted, decide, _told, as_json=as_json)


@app.command()
def unschedule(
    content_id: ContentId,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Cancels the time of a draft: the draft waits again.

    For example:

        brandctl drafts unschedule 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    """
    with DraftsClient.at(orchestrator_url, key_file) as drafts:
        _decided(drafts.decide(content_id, "unschedule"), as_json=as_json)


@app.command(name="return")
def send_back(
    content_id: ContentId,
    comment: Annotated[str, typer.Option("--comment", "-m", help="What the model should change.")],
    version: Version = None,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Returns a draft to the model, which rewrites it by the comment. Digests cannot be returned: edit or reject them.

    For example:

        brandctl drafts return 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f -m "Say how long it keeps."
    """
    with DraftsClient.at(orchestrator_url, key_file) as drafts:
        seen = version or drafts.draft(content_id)["version"]
        _decided(drafts.decide(content_id, "return", version=seen, comment=comment), as_json=as_json)


@app.command()
def reject(
    content_id: ContentId,
    reason: Annotated[str, typer.Option("--reason", "-m", help="Reason, stored and shown with its keyword.")],
    version: Version = None,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Rejects a draft for good and ends its keyword; for an approved article, drops only the waiting correction.

    For example:

        brandctl drafts reject 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --reason "We do not sell that any more."
    """
    with DraftsClient.at(orchestrator_url, key_file) as drafts:
        seen = version or drafts.draft(content_id)["version"]
        _decided(drafts.decide(content_id, "reject", version=seen, reason=reason), as_json=as_json)


@app.command()
def take_down(
    content_id: ContentId,
    reason: Annotated[
        str, typer.Option("--reason", "-m", help="Reason, stored and shown with its keyword and posts.")
    ],
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Takes a page down: its address answers 410, and feeds and site map omit it. `approve` brings it back.

    For example:

        brandctl drafts take-down 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --reason "The recipe is wrong."
    """
    with DraftsClient.at(orchestrator_url, key_file) as drafts:
        _decided(drafts.decide(content_id, "take-down", reason=reason), as_json=as_json)


@app.command()
def delete(
    content_id: ContentId,
    reason: Annotated[
        str,
        typer.Option("--reason", "-m", help="Reason, stored with name and time, and shown with its keyword."),
    ],
    yes: Yes = False,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Deletes an article for good: text, versions, decisions and research; its page answers 410. Needs the scope admin.

    For example:

        brandctl drafts delete 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --reason "It was about a person."
    """
    with DraftsClient.at(orchestrator_url, key_file) as drafts:
        if not yes:
            draft = drafts.draft(content_id)
            confirm(f"Delete “{draft['title']}” of {draft['brand_slug']}, with all its versions, for good?")
        gone = drafts.decide(content_id, "delete", reason=reason)
    if as_json:
        print_json(gone)
        return
    note(f"{gone['address']} of {gone['brand_slug']} was deleted by {gone['deleted_by']}: {gone['reason']}")
    if gone["published_url"]:
        note(f"  {gone['published_url']} answers 410 from now on")


@app.command()
def looked(
    brand: Annotated[
        str | None, typer.Argument(metavar="[BRAND]", help="Slug of a brand: all its waiting drafts.")
    ] = None,
    draft: Annotated[UUID | None, typer.Option(metavar="ID", help="This draft alone.")] = None,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Marks waiting drafts as reviewed without a decision: the brand continues.

    For example:

        brandctl drafts looked acme
        brandctl drafts looked --draft 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    """
    with DraftsClient.at(orchestrator_url, key_file) as drafts:
        if brand is not None and draft is None:
            answer, seen = drafts.looked(brand), f"what waits of {printable(brand)}"
        elif draft is not None and brand is None:
            answer = drafts.mark_reviewed(draft)
            seen = f"“{printable(answer['title'])}” of {printable(answer['brand_slug'])}"
        else:
            raise UsageError("give either a brand, or a draft with --draft")
    if as_json:
        print_json(answer)
    else:
        note(f"{seen} has been seen")


@app.command()
def edit(
    content_id: ContentId,
    file: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="Send this file of an earlier edit, without an editor."
        ),
    ] = None,
    comment: Annotated[str, typer.Option("--comment", "-m", help="Reason, stored with the version.")] = "",
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Opens the newest version in $VISUAL or $EDITOR and stores the result as the next version, which waits for approval.

    An unchanged text is not sent. If the service refuses the text, it stays in a file that the command names.

    For example:

        brandctl drafts edit 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    """
    with DraftsClient.at(orchestrator_url, key_file) as drafts:
        kept = file
        if kept is None:
            newest = drafts.draft(content_id)["version"]
            kept = edited(str(DraftFile.of(drafts.version(content_id, newest))))
            if kept is None:
                note("nothing changed; nothing was sent")
                return
        try:
            changed = DraftFile.parse(kept.read_text(encoding="utf-8"))
            answer = drafts.decide(content_id, "edit", **changed.as_request(comment))
        except (DraftFileError, ServiceError, UnicodeDecodeError) as error:
            raise ServiceError(
                f"{error}\nYour text is kept in {kept}; mend it and send it with:"
                f" brandctl drafts edit {content_id} --file {shlex.quote(str(kept))}"
            ) from error
    if file is None:
        kept.unlink()
    _decided(answer, as_json=as_json)


def _waiting(drafts: DraftsClient, brand: str, *, yes: bool) -> dict[UUID, int | None]:
    """Lists a brand's waiting drafts and asks for confirmation; returns id → version."""
    found: list[dict[str, Any]] = []
    after: str | None = None
    while True:
        page = drafts.page(brand=brand, state=DraftStateChoice.WAITING, after=after, limit=MOST_OF_A_PAGE)
        found += page["items"]
        after = page["next"]
        if after is None:
            break
    if not found:
        raise CommandError(f"no draft of {brand} waits")
    if not yes:
        for draft in found:
            note(f"“{draft['title']}” ({draft['keyword']}), version {draft['version']}")
        confirm(f"Approve these {len(found)} drafts of {brand}?")
    return {UUID(draft["content_id"]): draft["version"] for draft in found}


def _decided(draft: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(draft)
    else:
        note(_told(draft))


def _told(draft: dict[str, Any]) -> str:
    parts = [
        f"“{draft['title']}” ({draft['keyword']}), version {draft['version']}: {draft['state'].replace('_', ' ')}"
    ]
    if draft["held_for"] and draft["state"] in {"waiting", "returned"}:
        parts.append(f"waits because {'; '.join(draft['held_for'])}")
    if planned := draft.get("scheduled"):
        parts.append(f"version {planned['version']} is published on {_at(planned)}")
    if draft["state"] == "correction":
        parts.append(f"version {draft['stands']} stands until it is approved")
    if decided := draft["decision"]:
        why = f": {decided['comment']}" if decided["comment"] else ""
        parts.append(
            f"version {decided['version']} {decided['decision'].replace('_', ' ')} by {decided['by']}{why}"
        )
    if draft["published_url"]:
        parts.append(draft["published_url"])
    return "\n  ".join(parts)
