"""`brandctl posts`: waiting posts and the decisions about them, and the state of sent posts."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Final
from uuid import UUID

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.decisions import decide_each
from brandctl.errors import UsageError
from brandctl.listing import Limit, Listing, OfBrand
from brandctl.orchestrator import brand_times
from brandctl.short_ids import parse_id
from brandctl.social.client import PostsClient, SocialUrl, moment
from brandctl.social.parked import parked
from brandctl.social.reach import reach
from brandctl.social.rules import remove_rules, rules, set_rules
from brandctl.terminal import note, out, print_json, printable

app = typer.Typer(
    name="posts",
    no_args_is_help=True,
    help=f"""Lists posts, and approves, edits, rejects and retries them.

{PostsClient.help()}

For example:

    brandctl brands set acme --posts-approval everything
    brandctl posts list --brand acme
    brandctl posts approve 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --at 2027-03-01T09:00+01:00
""",
)

PostId = Annotated[UUID, typer.Argument(metavar="ID", parser=parse_id, help="`post_id`, as in `list`.")]
Version = Annotated[
    int | None, typer.Option(min=1, help="The version that you reviewed.", show_default="the newest")
]


class PostStateChoice(StrEnum):
    WAITING = "waiting"
    SCHEDULED = "scheduled"
    SENDING = "sending"
    POSTED = "posted"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"
    CALLED_OFF = "called_off"
    REJECTED = "rejected"


def _when(post: dict[str, Any]) -> str:
    return "" if post["publish_at"] is None else moment(post["publish_at"])


_POSTS: Final = Listing[dict[str, Any]](
    {
        "id": lambda post: post["post_id"],
        "brand": lambda post: post["brand_slug"],
        "channel": lambda post: post["channel"],
        "version": lambda post: str(post["version"]),
        "state": lambda post: post["state"],
        "at": _when,
        "why": lambda post: post.get("reason", ""),
        "where": lambda post: post["post_url"] or "",
        "text": lambda post: post["text"],
    },
    nothing="nothing waits; --state posted and --state failed list what became of the others",
    colours={
        "waiting": "yellow",
        "scheduled": "green",
        "sending": "green",
        "posted": "green",
        "failed": "red",
        "in_doubt": "red",
        "called_off": "red",
        "rejected": "red",
    },
)


@app.command(name="list")
def list_posts(
    brand: OfBrand = None,
    state: Annotated[
        PostStateChoice | None,
        typer.Option(
            help="Only this state.", show_default="those that wait, have a time, are sent or in doubt"
        ),
    ] = None,
    after: Annotated[int | None, typer.Option(help="The cursor that the previous page printed.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    social_url: SocialUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists posts that wait, are scheduled, or went to a platform, with state, reason and address.

    For example:

        brandctl posts list --brand acme --json | jq -r '.items[].post_id'
        brandctl posts list --state failed
    """
    with PostsClient.at(social_url, key_file) as posts:
        answer = posts.page(brand=brand, state=state, after=after, limit=limit)
    _POSTS.show(answer["items"], answer, as_json=as_json, more=answer["next"])


@app.command()
def show(
    post_id: PostId, as_json: AsJson = False, social_url: SocialUrl = None, key_file: KeyFile = None
) -> None:
    """Shows the text of a post, its length on its channel, and the last decision.

    For example:

        brandctl posts show 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    """
    with PostsClient.at(social_url, key_file) as posts:
        post = posts.post(post_id)
    if as_json:
        print_json(post)
        return
    beside = [*filter(None, [post["link"]]), *post["tags"]]
    out().file.write(
        printable("\n\n".join(filter(None, [post["text"], " ".join(beside)])), keep_lines=True) + "\n"
    )
    for count in post["counts"]:
        note(f"{count['used']:,} of {count['maximum']:,} {count['unit']}")
    note(_told(post))


@app.command()
def approve(
    post_ids: Annotated[
        list[UUID],
        typer.Argument(metavar="ID...", parser=parse_id, help="`post_id`, as `list` shows it."),
    ],
    version: Version = None,
    at: Annotated[
        str | None,
        typer.Option(
            help=f"Not before this time, {brand_times.HELP}; a second approval moves it.",
            show_default="the next free slot of its account, or now if that has none",
        ),
    ] = None,
    now: Annotated[bool, typer.Option("--now", help="Send it now, without a slot.")] = False,
    as_json: AsJson = False,
    social_url: SocialUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Approves exactly these versions, for the next free slot of their account, a time, or now. The answer says when.

    For example:

        brandctl posts approve 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --version 2
        brandctl posts approve 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --now
    """
    if now and at is not None:
        raise UsageError("give either --at TIME or --now, not both")
    if version is not None and len(post_ids) > 1:
        raise UsageError("--version goes with one post only; without it, the newest versions are approved")
    with PostsClient.at(social_url, key_file) as posts:

        def decide(post_id: UUID) -> dict[str, Any]:
            post = posts.post(post_id)
            when: dict[str, Any] = {"now": True} if now else {}
            if at is not None:
                when = {"publish_at": brand_times.read_time(at, lambda: post["brand_slug"], None, key_file)}
            return posts.decide(post_id, "approve", version=version or post["version"], **when)

        decide_each(dict.fromkeys(post_ids), decide, _told, as_json=as_json)


@app.command()
def unschedule(
    post_id: PostId, as_json: AsJson = False, social_url: SocialUrl = None, key_file: KeyFile = None
) -> None:
    """Cancels the time of a post: the post waits again.

    For example:

        brandctl posts unschedule 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    """
    with PostsClient.at(social_url, key_file) as posts:
        _decided(posts.decide(post_id, "unschedule"), as_json=as_json)


@app.command()
def edit(
    post_id: PostId,
    text: Annotated[str | None, typer.Option(help="What it is to say.")] = None,
    file: Annotated[
        typer.FileText | None, typer.Option(help="File with the new text; - is standard input.")
    ] = None,
    version: Version = None,
    comment: Annotated[str, typer.Option("--comment", "-m", help="Reason, stored with the decision.")] = "",
    as_json: AsJson = False,
    social_url: SocialUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Replaces the text of a post, within the rules of its channel; the post then waits for approval.

    For example:

        brandctl posts edit 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --text "Twelve hours, and no longer."
    """
    if (text is None) == (file is None):
        raise UsageError("the new text is missing: give either --text or --file")
    wanted = text if file is None else file.read()
    with PostsClient.at(social_url, key_file) as posts:
        seen = version or posts.post(post_id)["version"]
        _decided(posts.decide(post_id, "edit", version=seen, text=wanted, comment=comment), as_json=as_json)


@app.command()
def reject(
    post_id: PostId,
    reason: Annotated[str, typer.Option("--reason", "-m", help="Reason, stored and shown with its keyword.")],
    version: Version = None,
    as_json: AsJson = False,
    social_url: SocialUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Rejects a post: this channel never gets a post about the article.

    For example:

        brandctl posts reject 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --reason "Not our tone."
    """
    with PostsClient.at(social_url, key_file) as posts:
        seen = version or posts.post(post_id)["version"]
        _decided(posts.decide(post_id, "reject", version=seen, reason=reason), as_json=as_json)


_DECISIONS: Final = Listing[dict[str, Any]](
    {
        "at": lambda each: moment(each["at"]),
        "decision": lambda each: each["decision"].replace("_", " "),
        "version": lambda each: str(each["version"]),
        "by": lambda each: each["by"],
        "comment": lambda each: each["comment"],
    },
    nothing="there are no decisions yet",
)


@app.command()
def decisions(
    post_id: PostId, as_json: AsJson = False, social_url: SocialUrl = None, key_file: KeyFile = None
) -> None:
    """Lists the decisions about a post, latest first.

    For example:

        brandctl posts decisions 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    """
    with PostsClient.at(social_url, key_file) as posts:
        answer = posts.decisions(post_id)
    _DECISIONS.show(answer["items"], answer, as_json=as_json)


@app.command()
def retry(
    post_id: Annotated[
        UUID | None, typer.Argument(metavar="[ID]", help="`post_id`, as `list` shows it.")
    ] = None,
    account: Annotated[
        str | None,
        typer.Option(help="All posts that failed because this account accepted none or was not connected."),
    ] = None,
    as_json: AsJson = False,
    social_url: SocialUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Retries a post that failed on a platform, or all failed posts of an account that is connected again.

    For example:

        brandctl posts retry 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
        brandctl posts retry --account acme-mastodon
    """
    if (post_id is None) == (account is None):
        raise UsageError("give either the ID of a post or --account NAME")
    with PostsClient.at(social_url, key_file) as posts:
        if post_id is not None:
            _decided(posts.decide(post_id, "retry"), as_json=as_json)
            return
        assert account is not None
        # Read all pages first: a retried post is on no later page.
        retried = [
            posts.decide(UUID(each["post_id"]), "retry") for each in list(parked(posts, account, account))
        ]
    if as_json:
        print_json({"items": retried})
        return
    for post in retried:
        note(_told(post))
    if not retried:
        note(f"no post failed because {account} was not connected")


for command in (rules, set_rules, remove_rules, reach):
    app.command()(command)


def _decided(post: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(post)
    else:
        note(_told(post))


def _told(post: dict[str, Any]) -> str:
    parts = [f"“{post['title']}” on {post['channel']}, version {post['version']}: {post['state']}"]
    if post["publish_at"]:
        is_due = datetime.fromisoformat(post["publish_at"]) <= datetime.now(UTC)
        parts.append("it goes out now" if is_due else f"it is posted on {_when(post)}")
    if decided := post["decision"]:
        why = f": {decided['comment']}" if decided["comment"] else ""
        parts.append(
            f"version {decided['version']} {decided['decision'].replace('_', ' ')} by {decided['by']}{why}"
        )
    if post.get("detail"):
        parts.append(f"{post['reason']}: {post['detail']}")
    if post.get("retry_at"):
        parts.append(f"it is tried again on {moment(post['retry_at'])}")
    if post["post_url"]:
        parts.append(post["post_url"])
    return "\n  ".join(parts)
