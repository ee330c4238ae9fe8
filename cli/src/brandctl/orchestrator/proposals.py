"""`brandctl proposals`: changes and publications that somebody proposes who may not decide, such as an assistant."""

from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import UUID

import typer

from brandctl.commands import Group, Result
from brandctl.listing import Listing
from brandctl.options import AfterId, ContentId, Limit, OfBrand
from brandctl.short_ids import parse_id
from brandctl.terminal import printable, write
from brandctl.times import in_utc
from client.services.orchestrator import Orchestrator

if TYPE_CHECKING:
    from client.services.orchestrator import answers

app = Group(
    "proposals",
    """Lists what assistants propose, and accepts or dismisses it. Nothing of a draft changes until somebody accepts.

For example:

    brandctl proposals list --brand acme
    brandctl proposals show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    brandctl proposals accept 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f 5b6e7c80-9d2f-5a4b-8c6d-7e8f0197a3c4
""",
    Orchestrator,
)

ProposalId = Annotated[
    UUID, typer.Argument(metavar="PROPOSAL", parser=parse_id, help="Id of the proposal, as `list` shows it.")
]


def _what(proposal: dict[str, Any]) -> str:
    if proposal["kind"] == "edit":
        return "edit"
    at = proposal["publish_at"]
    return "publication" if at is None else f"publication on {in_utc(at)}"


def _state(proposal: dict[str, Any]) -> str:
    return proposal["outcome"] or ("outdated" if proposal["is_outdated"] else "open")


_PROPOSALS: Final = Listing(
    {
        "id": "id",
        "draft": "content_id",
        "what": _what,
        "state": _state,
        "by": "proposed_by",
        "title": "title",
        "comment": "comment",
    },
    nothing="nothing is proposed",
    colours={"open": "yellow", "accepted": "green", "dismissed": "dim", "outdated": "red"},
)


@app.command("list")
def list_proposals(
    orchestrator: Orchestrator, brand: OfBrand = None, after: AfterId = None, limit: Limit = 50
) -> Result:
    """Lists the proposals that wait for a person.

    For example:

        brandctl proposals list --brand acme
    """
    return _PROPOSALS.of(orchestrator.list_open_proposals(brand=brand, after=after, limit=limit), brand=brand)


@app.command()
def show(orchestrator: Orchestrator, content_id: ContentId) -> Result:
    """Shows all proposals for a draft, what each changes, and what became of it.

    For example:

        brandctl proposals show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f | less
    """
    found = orchestrator.list_proposals(content_id)
    told = "\n".join(_told(each) for each in found["items"])
    return Result(dict(found), lambda: write(told), note=[] if found["items"] else "nothing is proposed")


@app.command()
def accept(orchestrator: Orchestrator, content_id: ContentId, proposal_id: ProposalId) -> Result:
    """Edits or approves the draft as proposed, in your own name.

    For example:

        brandctl proposals accept 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f 5b6e7c80-9d2f-5a4b-8c6d-7e8f0197a3c4
    """
    draft = orchestrator.accept_proposal(content_id, proposal_id)
    return Result(
        draft,
        note=f"“{printable(draft['title'])}”, version {draft['version']}: {draft['state'].replace('_', ' ')}",
    )


@app.command()
def dismiss(
    orchestrator: Orchestrator,
    content_id: ContentId,
    proposal_id: ProposalId,
    reason: Annotated[
        str, typer.Option("--reason", "-m", help="Reason, shown to who proposed it.", show_default=False)
    ] = "",
) -> Result:
    """Closes a proposal; the draft stays as it is.

    For example:

        brandctl proposals dismiss 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f 5b6e7c80-9d2f-5a4b-8c6d-7e8f0197a3c4 -m "It was right."
    """
    found = orchestrator.dismiss_proposal(content_id, proposal_id, reason=reason)
    return Result(found, note=_told(found))


def _told(proposal: "answers.ProposalView") -> str:
    shown = dict(proposal)
    lines = [
        f"{proposal['id']}: {_what(shown)} of version {proposal['version']}, {_state(shown)}",
        f"  by {proposal['proposed_by']} on {in_utc(proposal['proposed_at'])}: {proposal['comment']}",
    ]
    if proposal["outcome"]:
        why = f": {proposal['reason']}" if proposal["reason"] else ""
        lines.append(f"  {proposal['outcome']} by {proposal['decided_by']}{why}")
    elif proposal["diff"]:
        lines.append(proposal["diff"].rstrip())
    return "\n".join(lines)
