"""`brandctl posts`: waiting posts and the decisions about them, and the state of sent posts."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import UUID

import typer

from brandctl.commands import Group, KeyFile, Result, connect
from brandctl.decisions import decide_each
from brandctl.errors import UsageError
from brandctl.listing import Listing
from brandctl.options import AfterNumber, Comment, Limit, OfBrand, Reason, Version
from brandctl.orchestrator import brand_times
from brandctl.short_ids import parse_id
from brandctl.social.parked import parked
from brandctl.social.rules import reach, remove_rules, rules, set_rules
from brandctl.terminal import write
from brandctl.times import in_utc
from client.services.orchestrator import Orchestrator
from client.services.social import PostState, Social

if TYPE_CHECKING:
    from client.services.social import answers

app = Group(
    "posts",
    """Lists posts, and approves, edits, rejects and retries them.

For example:

    brandctl brands set acme --posts-approval everything
    brandctl posts list --brand acme
    brandctl posts approve 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --at 2027-03-01T09:00+01:00
""",
    Social,
)

PostId = Annotated[UUID, typer.Argument(metavar="ID", parser=parse_id, help="`post_id`, as in `list`.")]

_POSTS: Final = Listing(
    {
        "id": "post_id",
        "brand": "brand_slug",
        "channel": "channel",
        "version": "version",
        "state": "state",
        "at": lambda post: in_utc(post["publish_at"]) if post["publish_at"] else "",
        "why": lambda post: post.get("reason", ""),
        "where": "post_url",
        "text": "text",
    },
    nothing="nothing waits; --state posted and --state failed list what became of the others",
    colours={
        "waiting": "yellow",
        **dict.fromkeys(("scheduled", "sending", "posted"), "green"),
        **dict.fromkeys(("failed", "in_doubt", "called_off", "rejected"), "red"),
    },
)
_DECISIONS: Final = Listing(
    {
        "at": lambda each: in_utc(each["at"]),
        "decision": lambda each: each["decision"].replace("_", " "),
        "version": "version",
        "by": "by",
        "comment": "comment",
    },
    nothing="there are no decisions yet",
)


@app.command("list")
def list_posts(
    social: Social,
    brand: OfBrand = None,
    state: PostState | None = None,
    after: AfterNumber = None,
    limit: Limit = 50,
) -> Result:
    """Lists posts that wait, are scheduled, or went to a platform, with state, reason and address.

    For example:

        brandctl posts list --brand acme --json | jq -r '.items[].post_id'
        brandctl posts list --state failed

    Options:
        state: Only this state. [default: those that wait, have a time, are sent or in doubt]
    """
    return _POSTS.of(social.list_posts(brand=brand, state=state, after=after, limit=limit), brand=brand)


@app.command()
def show(social: Social, post_id: PostId) -> Result:
    """Shows the text of a post, its length on its channel, and the last decision.

    For example:

        brandctl posts show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    """
    post = social.get_post(post_id)
    beside = [*filter(None, [post["link"]]), *post["tags"]]
    text = "\n\n".join(filter(None, [post["text"], " ".join(beside)]))
    counts = [f"{each['used']:,} of {each['maximum']:,} {each['unit']}" for each in post["counts"]]
    return Result(
        post,
        lambda: write(f"{text}\n"),
        note=[*counts, _told(post)],
    )


@app.command()
def approve(
    social: Social,
    as_json: bool,
    post_ids: Annotated[list[UUID], typer.Argument(metavar="ID...", parser=parse_id)],
    version: Version = None,
    at: Annotated[
        str | None,
        typer.Option(
            help=f"Not before this time, {brand_times.HELP}; a second approval moves it.",
            show_default="the next free slot of its account, or now if that has none",
        ),
    ] = None,
    now: bool = False,
    key_file: KeyFile = None,
) -> Result:
    """Approves exactly these versions, for the next free slot of their account, a time, or now. The answer says when.

    For example:

        brandctl posts approve 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --version 2
        brandctl posts approve 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --now

    Options:
        post_ids: `post_id`, as `list` shows it.
        now: Send it now, without a slot.
    """
    if now and at is not None:
        raise UsageError("give either --at TIME or --now, not both")
    if version is not None and len(post_ids) > 1:
        raise UsageError("--version goes with one post only; without it, the newest versions are approved")

    def decide(post_id: UUID) -> "answers.PostView":
        post = social.get_post(post_id)
        when: dict[str, Any] = {"now": True} if now else {}
        if at is not None:
            when = {"publish_at": brand_times.read_time(at, lambda: _zone_of(post["brand_slug"], key_file))}
        return social.approve_post(post_id, version=version or post["version"], **when)

    return decide_each(dict.fromkeys(post_ids), decide, _told, as_json=as_json)


def _zone_of(brand: str, key_file: KeyFile) -> str:
    with connect(Orchestrator, None, key_file) as orchestrator:
        return brand_times.zone_of(orchestrator, brand)


@app.command()
def unschedule(social: Social, post_id: PostId) -> Result:
    """Cancels the time of a post: the post waits again.

    For example:

        brandctl posts unschedule 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    """
    return _decided(social.unschedule_post(post_id))


@app.command()
def edit(
    social: Social,
    post_id: PostId,
    text: str | None = None,
    file: Annotated[typer.FileText | None, typer.Option()] = None,
    version: Version = None,
    comment: Comment = "",
) -> Result:
    """Replaces the text of a post, within the rules of its channel; the post then waits for approval.

    For example:

        brandctl posts edit 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --text "Twelve hours, and no longer."

    Options:
        text: The new text.
        file: File with the new text; - is standard input.
        comment: Reason, stored with the decision.
    """
    if (text is None) == (file is None):
        raise UsageError("the new text is missing: give either --text or --file")
    wanted = text if file is None else file.read()
    seen = version or social.get_post(post_id)["version"]
    return _decided(social.edit_post(post_id, version=seen, text=wanted or "", comment=comment))


@app.command()
def reject(social: Social, post_id: PostId, reason: Reason, version: Version = None) -> Result:
    """Rejects a post: this channel never gets a post about the article.

    For example:

        brandctl posts reject 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --reason "Not our tone."
    """
    seen = version or social.get_post(post_id)["version"]
    return _decided(social.reject_post(post_id, version=seen, reason=reason))


@app.command()
def decisions(social: Social, post_id: PostId) -> Result:
    """Lists the decisions about a post, latest first.

    For example:

        brandctl posts decisions 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    """
    return _DECISIONS.of(social.list_post_decisions(post_id), more=False)


@app.command()
def retry(
    social: Social,
    post_id: Annotated[UUID | None, typer.Argument(metavar="[ID]")] = None,
    account: str | None = None,
) -> Result:
    """Retries a post that failed on a platform, or all failed posts of an account that is connected again.

    For example:

        brandctl posts retry 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
        brandctl posts retry --account acme-mastodon

    Options:
        post_id: `post_id`, as `list` shows it.
        account: All posts that failed because this account accepted none or was not connected.
    """
    if post_id is not None and account is None:
        return _decided(social.retry_post(post_id))
    if post_id is not None or account is None:
        raise UsageError("give either the ID of a post or --account NAME")
    # Read all pages first: a retried post is on no later page.
    retried = [social.retry_post(each["post_id"]) for each in list(parked(social, account, account))]
    told = [*map(_told, retried)] or [f"no post failed because {account} was not connected"]
    return Result({"items": retried}, note=told)


for command in (rules, set_rules, remove_rules, reach):
    app.command()(command)


def _decided(post: "answers.PostView") -> Result:
    return Result(post, note=_told(post))


def _told(post: "answers.PostView") -> str:
    parts = [f"“{post['title']}” on {post['channel']}, version {post['version']}: {post['state']}"]
    if at := post["publish_at"]:
        is_due = datetime.fromisoformat(at) <= datetime.now(UTC)
        parts.append("it goes out now" if is_due else f"it is posted on {in_utc(at)}")
    if decided := post["decision"]:
        why = f": {decided['comment']}" if decided["comment"] else ""
        parts.append(
            f"version {decided['version']} {decided['decision'].replace('_', ' ')} by {decided['by']}{why}"
        )
    if post.get("detail"):
        parts.append(f"{post['reason']}: {post['detail']}")
    if retry_at := post.get("retry_at"):
        parts.append(f"it is tried again on {in_utc(retry_at)}")
    if post["post_url"]:
        parts.append(post["post_url"])
    return "\n  ".join(parts)
