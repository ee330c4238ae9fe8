"""`brandctl drafts`: drafts that wait for a person, and the decisions about them."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import UUID

import typer

from brandctl.commands import Group, Result
from brandctl.confirming import confirm
from brandctl.decisions import decide_each
from brandctl.errors import CommandError, UsageError
from brandctl.listing import Listing
from brandctl.options import AfterId, Comment, ContentId, Limit, OfBrand, Reason, Version, Yes
from brandctl.orchestrator import brand_times
from brandctl.orchestrator.draft_file import DraftFile, DraftFileError, edited
from brandctl.short_ids import parse_id
from brandctl.terminal import note, printable, write
from brandctl.times import in_utc
from client.errors import ClientError
from client.pages import MAX_PAGE, items_of
from client.services.orchestrator import DraftState, Orchestrator

if TYPE_CHECKING:
    from client.services.orchestrator import answers

app = Group(
    "drafts",
    """Lists drafts that wait for a person; approves, edits, returns, rejects and removes them.

For example:

    brandctl drafts list --brand acme
    brandctl drafts show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    brandctl drafts approve 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --version 2
""",
    Orchestrator,
)


def _why(draft: dict[str, Any]) -> str:
    if planned := draft.get("scheduled"):
        return f"published on {in_utc(planned['publish_at'])}"
    return "; ".join(draft["held_for"])


_DRAFTS: Final = Listing(
    {
        "id": "content_id",
        "brand": "brand_slug",
        "version": "version",
        "state": "state",
        "words": "word_count",
        "title": "title",
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


@app.command("list")
def list_drafts(
    orchestrator: Orchestrator,
    brand: OfBrand = None,
    state: DraftState | None = None,
    after: AfterId = None,
    limit: Limit = 50,
) -> Result:
    """Lists drafts that wait for a person, are being rewritten, or correct a published article.

    For example:

        brandctl drafts list --brand acme --json | jq -r '.items[].content_id'

    Options:
        state: Only this state. [default: all that need a decision or a rewrite]
    """
    return _DRAFTS.of(
        orchestrator.list_drafts(brand=brand, state=state, after=after, limit=limit), brand=brand
    )


@app.command()
def show(orchestrator: Orchestrator, content_id: ContentId, version: Version = None) -> Result:
    """Shows a version of a draft, its quality measures, the sentences that the checks cut from it, and the last decision.

    For example:

        brandctl drafts show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f | less
    """
    draft = orchestrator.get_draft(content_id)
    found = orchestrator.get_article_version(content_id, version or draft["version"])
    notes = [f"measured: {each['problem']}" for each in found["measures"] if not each["holds"]]
    notes += map(_cut_told, draft["cuts"])
    if any(not each["kept_by"] for each in draft["cuts"]):
        notes.append(
            f"to keep one of these sentences in your own name: brandctl drafts keep {content_id} NUMBER"
        )
    return Result(
        {**draft, "shown": found},
        lambda: write(str(DraftFile.of(found))),
        note=[*notes, _told(draft)],
    )


@app.command()
def diff(
    orchestrator: Orchestrator,
    content_id: ContentId,
    from_: Annotated[int | None, typer.Option("--from", min=1)] = None,
    to: Annotated[int | None, typer.Option(min=1)] = None,
) -> Result:
    """Shows the differences between two versions.

    For example:

        brandctl drafts diff 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --from 1 --to 3

    Options:
        from_: Version to compare. [default: the one before]
        to: Version to compare it with. [default: the newest]
    """
    newest = to or orchestrator.get_draft(content_id)["version"]
    found = orchestrator.compare_article_versions(content_id, from_=from_ or max(newest - 1, 1), to=newest)
    remarks = []
    if not found["diff"]:
        remarks.append(f"nothing differs between versions {found['first']} and {found['second']}")
    if found["is_cut"]:
        remarks.append("the rest is too long to compare")
    return Result(found, lambda: write(found["diff"]), note=remarks)


@app.command()
def approve(
    orchestrator: Orchestrator,
    as_json: bool,
    content_ids: Annotated[list[UUID] | None, typer.Argument(metavar="[ID]...", parser=parse_id)] = None,
    brand: str | None = None,
    all_: bool = False,
    yes: Yes = False,
    version: Version = None,
    despite_newer: bool = False,
    at: Annotated[
        str | None,
        typer.Option(
            help=f"Not before this time, {brand_times.HELP}; a second approval moves it.", show_default="now"
        ),
    ] = None,
) -> Result:
    """Approves exactly these versions, to be published now or at a time.

    If some of several drafts cannot be approved, the command names them, approves the others, and exits with code 1.

    For example:

        brandctl drafts approve 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --version 2
        brandctl drafts approve 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --at "2027-03-01 09:00"
        brandctl drafts approve --all --brand acme

    Options:
        content_ids: `content_id`, as `list` and cycles show it.
        brand: With --all: slug of the brand.
        all_: All waiting drafts of the brand, in the versions that the command lists first.
        despite_newer: Approve even if there is a newer version, or during a rewrite.
    """
    if bool(content_ids) == all_ or all_ is not (brand is not None):
        raise UsageError("give the ids of drafts, or --all with --brand BRAND")
    if version is not None and (all_ or len(content_ids or ()) > 1):
        raise UsageError("--version goes with one draft only; without it, the newest versions are approved")
    wanted = _waiting(orchestrator, brand, yes=yes) if brand else dict.fromkeys(content_ids or (), version)

    def decide(content_id: UUID) -> "answers.DraftView":
        draft = orchestrator.get_draft(content_id)
        when: dict[str, Any] = {}
        if at is not None:
            zone = lambda: brand_times.zone_of(orchestrator, draft["brand_slug"])  # noqa: E731
            when = {"publish_at": brand_times.read_time(at, zone)}
        seen = wanted[content_id] or draft["version"]
        return orchestrator.approve_draft(content_id, version=seen, despite_newer=despite_newer, **when)

    return decide_each(wanted, decide, _told, as_json=as_json)


@app.command()
def unschedule(orchestrator: Orchestrator, content_id: ContentId) -> Result:
    """Cancels the time of a draft: the draft waits again.

    For example:

        brandctl drafts unschedule 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    """
    return _decided(orchestrator.unschedule_draft(content_id))


@app.command("return")
def send_back(
    orchestrator: Orchestrator, content_id: ContentId, comment: Comment, version: Version = None
) -> Result:
    """Returns a draft to the model, which rewrites it by the comment. Digests cannot be returned: edit or reject them.

    For example:

        brandctl drafts return 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f -m "Say how long it keeps."

    Options:
        comment: The changes that the model should make.
    """
    seen = version or orchestrator.get_draft(content_id)["version"]
    return _decided(orchestrator.return_draft(content_id, version=seen, comment=comment))


@app.command()
def reject(
    orchestrator: Orchestrator, content_id: ContentId, reason: Reason, version: Version = None
) -> Result:
    """Rejects a draft for good and ends its keyword; for an approved article, drops only the waiting correction.

    For example:

        brandctl drafts reject 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --reason "We do not sell that any more."
    """
    seen = version or orchestrator.get_draft(content_id)["version"]
    return _decided(orchestrator.reject_draft(content_id, version=seen, reason=reason))


@app.command()
def take_down(orchestrator: Orchestrator, content_id: ContentId, reason: Reason) -> Result:
    """Takes a page down: its address answers 410, and feeds and site map omit it. `approve` brings it back.

    For example:

        brandctl drafts take-down 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --reason "The recipe is wrong."

    Options:
        reason: Reason, stored and shown with its keyword and posts.
    """
    return _decided(orchestrator.take_down_article(content_id, reason=reason))


@app.command()
def delete(orchestrator: Orchestrator, content_id: ContentId, reason: Reason, yes: Yes = False) -> Result:
    """Deletes an article for good: text, versions, decisions and research; its page answers 410. Needs the scope admin.

    For example:

        brandctl drafts delete 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --reason "It was about a person."

    Options:
        reason: Reason, stored with name and time, and shown with its keyword.
    """
    if not yes:
        draft = orchestrator.get_draft(content_id)
        confirm(f"Delete “{draft['title']}” of {draft['brand_slug']}, with all its versions, for good?")
    gone = orchestrator.delete_article(content_id, reason=reason)
    told = [
        f"{gone['address']} of {gone['brand_slug']} was deleted by {gone['deleted_by']}: {gone['reason']}"
    ]
    if gone["published_url"]:
        told.append(f"  {gone['published_url']} answers 410 from now on")
    return Result(gone, note=told)


@app.command()
def looked(
    orchestrator: Orchestrator,
    brand: Annotated[str | None, typer.Argument()] = None,
    draft: Annotated[UUID | None, typer.Option(metavar="ID")] = None,
) -> Result:
    """Marks waiting drafts as reviewed without a decision: the brand continues.

    For example:

        brandctl drafts looked acme
        brandctl drafts looked --draft 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f

    Options:
        brand: Slug of a brand: all its waiting drafts.
        draft: This draft alone.
    """
    if brand is not None and draft is None:
        marked = orchestrator.mark_brand_reviewed(brand)
        return Result(marked, note=f"what waits of {printable(brand)} has been seen")
    if draft is None or brand is not None:
        raise UsageError("give either a brand, or a draft with --draft")
    seen = orchestrator.mark_reviewed(draft)
    return Result(seen, note=f"“{printable(seen['title'])}” of {printable(seen['brand_slug'])} has been seen")


@app.command()
def edit(
    orchestrator: Orchestrator,
    content_id: ContentId,
    file: Annotated[Path | None, typer.Option(exists=True, dir_okay=False)] = None,
    comment: Comment = "",
) -> Result | None:
    """Opens the newest version in $VISUAL or $EDITOR and stores the result as the next version, which waits for approval.

    An unchanged text is not sent. If the service refuses the text, it stays in a file that the command names.

    For example:

        brandctl drafts edit 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f

    Options:
        file: Send this file of an earlier edit, without an editor.
        comment: Reason, stored with the version.
    """
    kept = file
    if kept is None:
        newest = orchestrator.get_draft(content_id)["version"]
        kept = edited(str(DraftFile.of(orchestrator.get_article_version(content_id, newest))))
        if kept is None:
            note("nothing changed; nothing was sent")
            return None
    try:
        changed = DraftFile.parse(kept.read_text(encoding="utf-8"))
        answer = orchestrator.edit_draft(content_id, **changed.as_request(comment))
    except (DraftFileError, ClientError, UnicodeDecodeError) as error:
        raise CommandError(
            f"{error}\nYour text is kept in {kept}; mend it and send it with:"
            f" brandctl drafts edit {content_id} --file {shlex.quote(str(kept))}"
        ) from error
    if file is None:
        kept.unlink()
    return _decided(answer)


@app.command()
def keep(
    orchestrator: Orchestrator,
    content_id: ContentId,
    number: Annotated[int, typer.Argument(min=1)],
    comment: Comment = "",
    version: Version = None,
) -> Result:
    """Puts a sentence that the checks cut back to its place, in your own name, as the next version of the draft.

    It gets no citation, and the note under the article says that it is in an editor's name.

    For example:

        brandctl drafts keep 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f 2 -m "We measured it."

    Options:
        number: Number of the sentence, as `show` lists them.
        comment: Reason, stored with the version.
    """
    draft = orchestrator.get_draft(content_id)
    seen = version or draft["version"]
    kept = orchestrator.keep_cut_sentence(content_id, version=seen, number=number, comment=comment)
    after = orchestrator.get_draft(content_id)["cuts"]
    told = [_cut_told(each) for each in after if each["number"] == number]
    where = f"brandctl drafts diff {content_id} shows where it stands"
    return Result(kept, note=[*told, _told(kept), where])


def _waiting(orchestrator: Orchestrator, brand: str, *, yes: bool) -> dict[UUID, int | None]:
    """Lists a brand's waiting drafts and asks for confirmation; returns id → version."""
    found = list(items_of(orchestrator.list_drafts, brand=brand, state="waiting", limit=MAX_PAGE))
    if not found:
        raise CommandError(f"no draft of {brand} waits")
    if not yes:
        for draft in found:
            note(f"“{draft['title']}” ({draft['keyword']}), version {draft['version']}")
        confirm(f"Approve these {len(found)} drafts of {brand}?")
    return {UUID(draft["content_id"]): draft["version"] for draft in found}


def _cut_told(cut: "answers.CutSentenceView") -> str:
    kept = f", kept by {cut['kept_by']} on {in_utc(cut['kept_at'])}" if cut["kept_at"] else ""
    where = f" from “{cut['heading']}”" if cut["heading"] else ""
    lines = [f"cut {cut['number']}{where}{kept}: {cut['text']}", f"because {cut['problem']}"]
    if cut["nearest"]:
        sources = "".join(f" [{n}]" for n in cut["sources"])
        lines.append(f"nearest in the sources: {cut['nearest']}{sources}")
    return "\n  ".join(lines)


def _decided(draft: "answers.DraftView") -> Result:
    return Result(draft, note=_told(draft))


def _told(draft: "answers.DraftView") -> str:
    parts = [
        f"“{draft['title']}” ({draft['keyword']}), version {draft['version']}: {draft['state'].replace('_', ' ')}"
    ]
    if draft["held_for"] and draft["state"] in {"waiting", "returned"}:
        parts.append(f"waits because {'; '.join(draft['held_for'])}")
    if planned := draft.get("scheduled"):
        parts.append(f"version {planned['version']} is published on {in_utc(planned['publish_at'])}")
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
