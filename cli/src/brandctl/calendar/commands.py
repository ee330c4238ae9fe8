"""`brandctl calendar`: shows and moves posts and articles with a time."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.calendar import moving, week_view, weeks
from brandctl.calendar.clients import CalendarArticlesClient, CalendarPostsClient
from brandctl.errors import UsageError
from brandctl.listing import Listing
from brandctl.orchestrator import brand_times
from brandctl.short_ids import parse_id
from brandctl.terminal import note, out, print_json, printable

app = typer.Typer(
    name="calendar",
    no_args_is_help=True,
    help="""Shows and moves posts, articles approved for a time, and schedules; sets the slots of accounts.

Posts come from the social service, the rest from the orchestrator: --social-url and --orchestrator-url, or SOCIAL_URL and
ORCHESTRATOR_URL; the key comes from SERVICE_KEY or --key-file. Beside a local run, `.local/endpoints.json` holds all of it.

Exit codes: 0 done, 1 nothing found or something failed, 2 wrong usage.

For example:

    brandctl calendar week acme --zone Europe/Berlin
    brandctl calendar slots acme mastodon-eu --at "mon-fri 09:00,17:30" --zone Europe/Berlin --quiet 22:00-07:00
    brandctl calendar move 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --first
    brandctl calendar export acme > acme.ics
""",
)

Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Slug of the brand.")]
AccountName = Annotated[
    str, typer.Argument(metavar="ACCOUNT", help="Name of the account, as in `brandctl accounts list`.")
]
PostId = Annotated[UUID, typer.Argument(metavar="ID", parser=parse_id, help="`post_id`, as in `show`.")]
Begin = Annotated[
    str | None,
    typer.Option("--from", help="A time such as 2027-03-01T09:00+01:00.", show_default="a week ago"),
]
To = Annotated[str | None, typer.Option("--to", help="Before such a time.", show_default="in 60 days")]
Zone = Annotated[str, typer.Option("--zone", help="Time zone, such as Europe/Berlin.")]
SocialUrl = Annotated[str | None, CalendarPostsClient.address_option()]
OrchestratorUrl = Annotated[str | None, CalendarArticlesClient.address_option()]


def _at(entry: dict[str, Any]) -> str:
    return datetime.fromisoformat(entry["at"]).isoformat(sep=" ", timespec="minutes")


_ENTRIES: Final = Listing[dict[str, Any]](
    {
        "at": _at,
        "where": week_view.where,
        "state": week_view.state,
        "what": lambda entry: entry["title"],
        "id": lambda entry: entry.get("post_id") or entry.get("content_id") or "-",
    },
    nothing="the calendar has no entries in that time",
    colours={"posted": "green", "planned": "yellow", "failed": "red", "in doubt": "red", "called off": "dim"},
)
_MOST_OF_WEEKS: Final = 2000
_SLOTS: Final = Listing[dict[str, Any]](
    {
        "account": lambda slots: slots["account"],
        "slots": lambda slots: "; ".join(map(weeks.shown, slots["slots"])) or "at once",
        "zone": lambda slots: slots["time_zone"],
        "apart": lambda slots: f"{slots['spacing_minutes']} min",
        "quiet": lambda slots: _quiet(slots["quiet_hours"]),
        "queued": lambda slots: str(slots["queued"]),
        "next free": lambda slots: _moment(slots["free"][0]) if slots["free"] else "-",
    },
    nothing="no account has slots: posts are sent at once",
)


@app.command()
def show(
    brand: Annotated[str | None, typer.Argument(metavar="BRAND", help="Slug of the brand.")] = None,
    brand_option: Annotated[
        str | None, typer.Option("--brand", metavar="BRAND", help="Slug of the brand, as in other commands.")
    ] = None,
    begin: Begin = None,
    to: To = None,
    zone: Zone = "UTC",
    limit: Annotated[int, typer.Option("--limit", min=1, max=5000, help="At most so many.")] = 200,
    as_json: AsJson = False,
    social_url: SocialUrl = None,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists past and coming posts, articles and schedules in the order of time.

    For example:

        brandctl calendar show acme --from 2027-03-01T00:00Z --to 2027-04-01T00:00Z --zone Europe/Berlin
    """
    wanted = {each for each in (brand, brand_option) if each is not None}
    if len(wanted) != 1:
        raise UsageError("the brand is missing: brandctl calendar show BRAND")
    (slug,) = wanted
    span = {"from": begin, "to": to, "zone": zone}
    with (
        CalendarPostsClient.at(social_url, key_file) as posts,
        CalendarArticlesClient.at(orchestrator_url, key_file) as articles,
    ):
        shown, cut = _merged(posts, articles, slug, limit, span)
    _ENTRIES.show(shown, {"items": shown, "more": cut}, as_json=as_json)
    if cut and not as_json:
        note(f"there is more: --from {shown[-1]['at']}, or a higher --limit")


@app.command()
def week(
    brand: Brand,
    of: Annotated[
        str | None,
        typer.Option("--of", help="A day of the week wanted, such as 2027-03-01.", show_default="today"),
    ] = None,
    weeks_shown: Annotated[int, typer.Option("--weeks", min=1, max=52, help="So many.")] = 1,
    zone: Zone = "UTC",
    as_json: AsJson = False,
    social_url: SocialUrl = None,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows the posts, articles and schedules of a week, day by day from Monday to Sunday.

    For example:

        brandctl calendar week acme --zone Europe/Berlin
        brandctl calendar week acme --of 2027-03-01 --weeks 4
    """
    clocks = _clocks(zone)
    try:
        day = datetime.now(clocks).date() if of is None else date.fromisoformat(of)
        begin, end = week_view.span(day, weeks_shown, clocks)
    except (ValueError, OverflowError):
        raise UsageError(f"--of: {of!a} is no day; write it like 2027-03-01") from None
    span = {"from": begin.isoformat(), "to": end.isoformat(), "zone": zone}
    with (
        CalendarPostsClient.at(social_url, key_file) as posts,
        CalendarArticlesClient.at(orchestrator_url, key_file) as articles,
    ):
        shown, cut = _merged(posts, articles, brand, _MOST_OF_WEEKS, span)
    if as_json:
        print_json({"items": shown, "more": cut})
        return
    last = end - timedelta(days=1)
    note(f"{brand}, {begin:%-d %b} to {last:%-d %b %Y}, by the clocks of {zone}")
    out().file.write("\n".join(week_view.lines(shown, begin, end)) + "\n")
    if cut:
        note(
            f"there is more than {_MOST_OF_WEEKS} entries: brandctl calendar show {brand} --from {shown[-1]['at']}"
        )


def _clocks(zone: str) -> ZoneInfo:
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"--zone: there is no time zone {zone[:40]!a}; write it like Europe/Berlin or UTC"
        ) from None


def _merged(
    posts: CalendarPostsClient,
    articles: CalendarArticlesClient,
    brand: str,
    limit: int,
    span: Mapping[str, str | None],
) -> tuple[list[dict[str, Any]], bool]:
    """The entries of both services in the order of time, at most `limit`, and whether there are more."""
    found, more = posts.entries(brand, limit, **span)
    others, more_others = articles.entries(brand, limit, **span)
    merged = sorted([*found, *others], key=lambda entry: datetime.fromisoformat(entry["at"]))
    return merged[:limit], more or more_others or len(merged) > limit


@app.command()
def export(
    brand: Brand,
    out: Annotated[
        Path | None, typer.Option("--out", dir_okay=False, help="File to write; else standard output.")
    ] = None,
    begin: Begin = None,
    to: To = None,
    social_url: SocialUrl = None,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Writes the calendar as iCalendar, for other programs. A moved event keeps its UID.

    For example:

        brandctl calendar export acme --out acme.ics
    """
    span = {"from": begin, "to": to}
    with (
        CalendarPostsClient.at(social_url, key_file) as posts,
        CalendarArticlesClient.at(orchestrator_url, key_file) as articles,
    ):
        text = _one_file(posts.file(brand, **span), articles.file(brand, **span), brand)
    if out is not None:
        out.write_text(text, encoding="utf-8", newline="")
        note(f"{text.count('BEGIN:VEVENT')} events are in {out}")
    else:
        # Lines end with CR and LF, which terminals show as one line end.
        typer.echo(printable(text.replace("\r\n", "\n"), keep_lines=True).replace("\n", "\r\n"), nl=False)


@app.command()
def move(
    entry_id: Annotated[
        UUID,
        typer.Argument(
            metavar="ID", parser=parse_id, help="Id of a post or an article, as in `week` and `show`."
        ),
    ],
    at: Annotated[str | None, typer.Option("--at", help=f"To a time {brand_times.HELP}.")] = None,
    now: Annotated[bool, typer.Option("--now", help="At once.")] = False,
    next_slot: Annotated[
        bool, typer.Option("--next", help="To the next free slot of its account, after the others.")
    ] = False,
    first: Annotated[bool, typer.Option("--first", help="To the front of its account's queue.")] = False,
    off: Annotated[
        bool, typer.Option("--off", help="Out of the calendar, until someone moves it again.")
    ] = False,
    as_json: AsJson = False,
    social_url: SocialUrl = None,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Moves a post, or an article approved for a time, to another time, to now, to the front, or out of the calendar.

    Only accounts have slots. A post of the built-in feed and an article take --at, --now and --off; --off makes them wait for a person.

    For example:

        brandctl calendar move 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --at 2027-03-01T09:00+01:00
    """
    if sum((at is not None, now, next_slot, first, off)) != 1:
        raise UsageError("give one of --at TIME, --now, --next, --first and --off")
    if at is not None:
        at = brand_times.read_time(
            at,
            lambda: _brand_of(entry_id, social_url, orchestrator_url, key_file),
            orchestrator_url,
            key_file,
        )
    to = moving.NewTime(at=at, now=now, first=first, off=off)
    with (
        CalendarPostsClient.at(social_url, key_file) as posts,
        CalendarArticlesClient.at(orchestrator_url, key_file) as articles,
    ):
        answer, told = moving.move(posts, articles, entry_id, to)
    if as_json:
        print_json(answer)
    note(told)


def _brand_of(
    entry_id: UUID, social_url: str | None, orchestrator_url: str | None, key_file: Path | None
) -> str:
    with (
        CalendarPostsClient.at(social_url, key_file) as posts,
        CalendarArticlesClient.at(orchestrator_url, key_file) as articles,
    ):
        return moving.find_brand(posts, articles, entry_id)


@app.command()
def slots(
    brand: Brand,
    account: Annotated[
        str | None, typer.Argument(metavar="ACCOUNT", help="Its name, as `brandctl accounts` shows it.")
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option("--at", help="Times such as 'mon-fri 09:00,17:30'; repeat for more."),
    ] = None,
    zone: Annotated[str | None, typer.Option("--zone", help="By whose clocks.", show_default="UTC")] = None,
    apart: Annotated[
        int | None, typer.Option("--apart", min=1, help="Minutes between two posts.", show_default="10")
    ] = None,
    quiet: Annotated[
        str | None, typer.Option("--quiet", help="Hours without posts, such as 22:00-07:00.")
    ] = None,
    duplicates_days: Annotated[
        int | None,
        typer.Option(min=0, help="Days before the same text or link may be posted again.", show_default="30"),
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the slots: later posts are sent at once.")
    ] = False,
    as_json: AsJson = False,
    social_url: SocialUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows the slots of a brand's accounts, or sets those of one account. Options left out take their defaults.

    For example:

        brandctl calendar slots acme
        brandctl calendar slots acme mastodon-eu --at "mon-fri 09:00,17:30" --at "sat 11:00" --zone Europe/Berlin
    """
    told: dict[str, Any] = {
        "slots": at and [weeks.times(each) for each in at],
        "time_zone": zone,
        "spacing_minutes": apart,
        "quiet_hours": quiet and weeks.quiet(quiet),
        "duplicates_days": duplicates_days,
    }
    rules = {name: value for name, value in told.items() if value is not None}
    if account is None and (rules or remove):
        raise UsageError("the account is missing: brandctl calendar slots BRAND ACCOUNT …")
    if rules and remove:
        raise UsageError("--remove goes with no other option: either set the slots or remove them")
    with CalendarPostsClient.at(social_url, key_file) as posts:
        if account is None:
            answer = posts.all_slots(brand)
            _SLOTS.show(answer["items"], answer, as_json=as_json)
            return
        if remove:
            posts.remove_slots(brand, account)
            note(f"{account} has no slots for {brand}: later posts are sent at once")
            return
        one = posts.set_slots(brand, account, rules) if rules else posts.slots(brand, account)
    _SLOTS.show([one], one, as_json=as_json)


@app.command()
def reorder(
    brand: Brand,
    account: AccountName,
    post_ids: Annotated[
        list[UUID] | None,
        typer.Argument(metavar="ID...", parser=parse_id, help="The posts that come first, in this order."),
    ] = None,
    as_json: AsJson = False,
    social_url: SocialUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Puts the queue of an account into another order; without ids, closes its gaps and follows changed slots.

    For example:

        brandctl calendar reorder acme mastodon-eu 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e90
    """
    with CalendarPostsClient.at(social_url, key_file) as posts:
        answer = posts.order(brand, account, post_ids or [])
    _ENTRIES.show(answer["items"], answer, as_json=as_json, nothing="nothing is in the queue")


@app.command()
def repeat(
    post_id: PostId,
    cool_down: Annotated[
        int | None,
        typer.Option(
            "--cool-down", min=1, help="Days before it may be posted again, when nothing new waits."
        ),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            help="At times such as 'mon,thu 09:00', '1,15,last 09:00' or 'second-tue 09:00'; repeat for more.",
        ),
    ] = None,
    zone: Annotated[str, typer.Option("--zone", help="By whose clocks.")] = "UTC",
    at_most: Annotated[int, typer.Option("--times", min=1, help="How often to repeat it.")] = 3,
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="On each account that posted its article.")
    ] = False,
    stop: Annotated[bool, typer.Option("--stop", help="No more.")] = False,
    as_json: AsJson = False,
    social_url: SocialUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Repeats a post in other words: after a cool-down when nothing new waits, or at times of the week or month.

    For example:

        brandctl calendar repeat 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --cool-down 60 --times 3
        brandctl calendar repeat 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --at "mon 09:00" --zone Europe/Berlin --times 10
        brandctl calendar repeat 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --at "1,last 09:00" --at "second-tue 17:30" --times 12
    """
    if sum((cool_down is not None, bool(at), stop)) != 1:
        raise UsageError("give one of --cool-down DAYS, --at TIMES and --stop")
    with CalendarPostsClient.at(social_url, key_file) as posts:
        place = f"/v1/calendar/{post_id}"
        if everywhere:
            entry = posts.entry(post_id)
            place = f"/v1/brands/{entry['brand_slug']}/articles/{entry['content_id']}"
        if stop:
            posts.repeat_no_more(place)
            note("the post is not repeated any more; its planned repeats are removed")
            return
        rule: dict[str, Any] = (
            {"kind": "evergreen", "cool_down_days": cool_down}
            if cool_down is not None
            else {"kind": "recurring", "time_zone": zone, **weeks.recurring(at or ())}
        )
        answer = posts.repeat(place, {**rule, "at_most": at_most})
    if as_json:
        print_json(answer)
    where = answer["account"] or "each account"
    note(f"{answer['kind']} on {where}: {answer['made']} of {answer['at_most']} made")


def _one_file(posts: str, articles: str, brand: str) -> str:
    """One calendar of two: what stands in the second is put behind what stands in the first."""
    ends = "END:VCALENDAR\r\n"
    begin = articles.find("BEGIN:VEVENT")
    events = "" if begin < 0 else articles[begin:].removesuffix(ends)
    named = posts.replace(f"NAME:{brand}: posts", f"NAME:{brand}")
    return named.removesuffix(ends) + events + (ends if posts else "")


def _quiet(hours: dict[str, str] | None) -> str:
    return "-" if hours is None else f"{hours['begin']}-{hours['end']}"


def _moment(time: str) -> str:
    return datetime.fromisoformat(time).isoformat(sep=" ", timespec="minutes")
