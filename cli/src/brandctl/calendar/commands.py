"""`brandctl calendar`: shows and moves posts and articles with a time."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from brandctl.calendar import moving, week_view, weeks
from brandctl.commands import Group, Result
from brandctl.errors import UsageError
from brandctl.listing import Listing
from brandctl.options import Brand, Id, Positive
from brandctl.orchestrator import brand_times
from brandctl.settings import given
from brandctl.short_ids import parse_id
from brandctl.terminal import note, out, printable
from brandctl.times import with_offset
from client.calendars import join_calendars
from client.pages import MAX_PAGE, pages_of
from client.services.orchestrator import Orchestrator
from client.services.social import Social

app = Group(
    "calendar",
    """Shows and moves posts, articles approved for a time, and schedules; sets the slots of accounts.

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

Begin = Annotated[
    str | None,
    typer.Option("--from", help="A time such as 2027-03-01T09:00+01:00.", show_default="a week ago"),
]
To = Annotated[str | None, typer.Option("--to", help="Before such a time.", show_default="in 60 days")]
Zone = Annotated[str, typer.Option("--zone", help="Time zone, such as Europe/Berlin.")]

_ENTRIES: Final = Listing(
    {
        "at": lambda entry: with_offset(entry["at"]),
        "where": week_view.where,
        "state": week_view.state,
        "what": "title",
        "id": lambda entry: entry.get("post_id") or entry.get("content_id") or "-",
    },
    nothing="the calendar has no entries in that time",
    colours={"posted": "green", "planned": "yellow", "failed": "red", "in doubt": "red", "called off": "dim"},
)
_MOST_OF_WEEKS: Final = 2000
_SLOTS: Final = Listing(
    {
        "account": "account",
        "slots": lambda slots: "; ".join(map(weeks.shown, slots["slots"])) or "at once",
        "zone": "time_zone",
        "apart": lambda slots: f"{slots['spacing_minutes']} min",
        "quiet": lambda slots: _quiet(slots["quiet_hours"]),
        "queued": "queued",
        "next free": lambda slots: with_offset(slots["free"][0]) if slots["free"] else "-",
    },
    nothing="no account has slots: posts are sent at once",
)


@app.command()
def show(
    social: Social,
    orchestrator: Orchestrator,
    brand: Annotated[str | None, typer.Argument(metavar="BRAND")] = None,
    brand_option: Annotated[str | None, typer.Option("--brand", metavar="BRAND")] = None,
    begin: Begin = None,
    to: To = None,
    zone: Zone = "UTC",
    limit: Annotated[int, typer.Option(min=1, max=5000)] = 200,
) -> Result:
    """Lists past and coming posts, articles and schedules in the order of time.

    For example:

        brandctl calendar show acme --from 2027-03-01T00:00Z --to 2027-04-01T00:00Z --zone Europe/Berlin

    Options:
        brand: Slug of the brand.
        brand_option: Slug of the brand, as in other commands.
        limit: At most so many.
    """
    wanted = {each for each in (brand, brand_option) if each is not None}
    if len(wanted) != 1:
        raise UsageError("the brand is missing: brandctl calendar show BRAND")
    span = {"from_": begin, "to": to, "zone": zone}
    shown, cut = _merged(social, orchestrator, wanted.pop(), limit, span)
    listed = _ENTRIES.of({"items": shown, "more": cut})
    more = f"there is more: --from {shown[-1]['at']}, or a higher --limit" if cut else listed.note
    return Result(listed.answer, listed.show, note=more)


@app.command()
def week(
    social: Social,
    orchestrator: Orchestrator,
    brand: Brand,
    of: str | None = None,
    weeks_shown: Annotated[int, typer.Option("--weeks", min=1, max=52)] = 1,
    zone: Zone = "UTC",
) -> Result:
    """Shows the posts, articles and schedules of a week, day by day from Monday to Sunday.

    For example:

        brandctl calendar week acme --zone Europe/Berlin
        brandctl calendar week acme --of 2027-03-01 --weeks 4

    Options:
        of: A day of the week wanted, such as 2027-03-01. [default: today]
        weeks_shown: So many.
    """
    clocks = _clocks(zone)
    try:
        day = datetime.now(clocks).date() if of is None else date.fromisoformat(of)
        begin, end = week_view.span(day, weeks_shown, clocks)
    except (ValueError, OverflowError):
        raise UsageError(f"--of: {of!a} is no day; write it like 2027-03-01") from None
    span = {"from_": begin.isoformat(), "to": end.isoformat(), "zone": zone}
    shown, cut = _merged(social, orchestrator, brand, _MOST_OF_WEEKS, span)

    def show_week() -> None:
        last = end - timedelta(days=1)
        note(f"{brand}, {begin:%-d %b} to {last:%-d %b %Y}, by the clocks of {zone}")
        out().file.write("\n".join(week_view.lines(shown, begin, end)) + "\n")

    more = f"there is more than {_MOST_OF_WEEKS} entries: brandctl calendar show {brand} --from"
    return Result({"items": shown, "more": cut}, show_week, note=f"{more} {shown[-1]['at']}" if cut else ())


def _clocks(zone: str) -> ZoneInfo:
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"--zone: there is no time zone {zone[:40]!a}; write it like Europe/Berlin or UTC"
        ) from None


def _merged(
    social: Social, orchestrator: Orchestrator, brand: str, limit: int, span: Mapping[str, str | None]
) -> tuple[list[dict[str, Any]], bool]:
    """The entries of both services in the order of time, at most `limit`, and whether there are more."""
    merged: list[dict[str, Any]] = []
    is_cut = False
    for service in (social, orchestrator):
        found: list[Any] = []
        page: Any
        for page in pages_of(service.list_calendar_entries, brand=brand, limit=min(limit, MAX_PAGE), **span):
            found += page["items"]
            if len(found) >= limit:
                is_cut |= len(found) > limit or page["next"] is not None
                break
        merged += found[:limit]
    merged.sort(key=lambda entry: datetime.fromisoformat(entry["at"]))
    return merged[:limit], is_cut or len(merged) > limit


@app.command()
def export(
    social: Social,
    orchestrator: Orchestrator,
    brand: Brand,
    out: Annotated[Path | None, typer.Option(dir_okay=False)] = None,
    begin: Begin = None,
    to: To = None,
) -> None:
    """Writes the calendar as iCalendar, for other programs. A moved event keeps its UID.

    For example:

        brandctl calendar export acme --out acme.ics

    Options:
        out: File to write; else standard output.
    """
    feeds = (each.get_calendar_feed(brand=brand, from_=begin, to=to) for each in (social, orchestrator))
    text = join_calendars(brand, feeds)
    if out is not None:
        out.write_text(text, encoding="utf-8", newline="")
        note(f"{text.count('BEGIN:VEVENT')} events are in {out}")
    else:
        # Lines end with CR and LF, which terminals show as one line end.
        typer.echo(printable(text.replace("\r\n", "\n"), keep_lines=True).replace("\n", "\r\n"), nl=False)


@app.command()
def move(
    social: Social,
    orchestrator: Orchestrator,
    entry_id: Id,
    at: Annotated[str | None, typer.Option(help=f"To a time {brand_times.HELP}.")] = None,
    now: bool = False,
    next_: bool = False,
    first: bool = False,
    off: bool = False,
) -> Result:
    """Moves a post, or an article approved for a time, to another time, to now, to the front, or out of the calendar.

    Only accounts have slots. A post of the built-in feed and an article take --at, --now and --off; --off makes them wait for a person.

    For example:

        brandctl calendar move 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --at 2027-03-01T09:00+01:00

    Options:
        entry_id: Id of a post or an article, as in `week` and `show`.
        now: At once.
        next_: To the next free slot of its account, after the others.
        first: To the front of its account's queue.
        off: Out of the calendar, until someone moves it again.
    """
    if sum((at is not None, now, next_, first, off)) != 1:
        raise UsageError("give one of --at TIME, --now, --next, --first and --off")
    if at is not None:
        at = brand_times.read_time(
            at,
            lambda: brand_times.zone_of(orchestrator, moving.find_brand(social, orchestrator, entry_id)),
        )
    to = moving.NewTime(at=at, now=now, first=first, off=off)
    answer, told = moving.move(social, orchestrator, entry_id, to)
    return Result(answer, remark=told)


@app.command()
def slots(
    social: Social,
    brand: Brand,
    account: Annotated[str | None, typer.Argument(metavar="ACCOUNT")] = None,
    at: list[str] | None = None,
    zone: str | None = None,
    apart: Positive = None,
    quiet: str | None = None,
    duplicates_days: Annotated[int | None, typer.Option(min=0)] = None,
    remove: bool = False,
) -> Result | None:
    """Shows the slots of a brand's accounts, or sets those of one account. Options left out take their defaults.

    For example:

        brandctl calendar slots acme
        brandctl calendar slots acme mastodon-eu --at "mon-fri 09:00,17:30" --at "sat 11:00" --zone Europe/Berlin

    Options:
        account: Its name, as `brandctl accounts` shows it.
        at: Times such as 'mon-fri 09:00,17:30'; repeat for more.
        zone: Time zone of the times. [default: UTC]
        apart: Minutes between two posts. [default: 10]
        quiet: Hours without posts, such as 22:00-07:00.
        duplicates_days: Days before the same text or link may be posted again. [default: 30]
        remove: Remove the slots: later posts are sent at once.
    """
    rules = given(
        slots=at and [weeks.times(each) for each in at],
        time_zone=zone,
        spacing_minutes=apart,
        quiet_hours=quiet and weeks.quiet(quiet),
        duplicates_days=duplicates_days,
    )
    if account is None and (rules or remove):
        raise UsageError("the account is missing: brandctl calendar slots BRAND ACCOUNT …")
    if rules and remove:
        raise UsageError("--remove goes with no other option: either set the slots or remove them")
    if account is None:
        return _SLOTS.of(social.list_account_slots(brand), more=False)
    if remove:
        social.delete_account_slots(brand, account)
        note(f"{account} has no slots for {brand}: later posts are sent at once")
        return None
    one = (
        social.set_account_slots(brand, account, **rules)
        if rules
        else social.get_account_slots(brand, account)
    )
    return _SLOTS.of(one, [one])


@app.command()
def reorder(
    social: Social,
    brand: Brand,
    account: str,
    post_ids: Annotated[list[UUID] | None, typer.Argument(metavar="ID...", parser=parse_id)] = None,
) -> Result:
    """Puts the queue of an account into another order; without ids, closes its gaps and follows changed slots.

    For example:

        brandctl calendar reorder acme mastodon-eu 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e90

    Options:
        account: Name of the account, as in `brandctl accounts list`.
        post_ids: The posts that come first, in this order.
    """
    queue = social.set_account_queue(brand, account, post_ids=post_ids or [])
    return _ENTRIES.of(queue, more=False, nothing="nothing is in the queue")


@app.command()
def repeat(
    social: Social,
    post_id: Id,
    cool_down: Positive = None,
    at: list[str] | None = None,
    zone: str = "UTC",
    at_most: Annotated[int, typer.Option("--times", min=1)] = 3,
    everywhere: bool = False,
    stop: bool = False,
) -> Result | None:
    """Repeats a post in other words: after a cool-down when nothing new waits, or at times of the week or month.

    For example:

        brandctl calendar repeat 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --cool-down 60 --times 3
        brandctl calendar repeat 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --at "mon 09:00" --zone Europe/Berlin --times 10
        brandctl calendar repeat 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f --at "1,last 09:00" --at "second-tue 17:30" --times 12

    Options:
        post_id: `post_id`, as in `show`.
        cool_down: Days before it may be posted again, when nothing new waits.
        at: At times such as 'mon,thu 09:00', '1,15,last 09:00' or 'second-tue 09:00'; repeat for more.
        zone: Time zone of the times.
        at_most: How often to repeat it.
        everywhere: On each account that posted its article.
        stop: No more.
    """
    if sum((cool_down is not None, bool(at), stop)) != 1:
        raise UsageError("give one of --cool-down DAYS, --at TIMES and --stop")
    entry = social.get_calendar_entry(post_id) if everywhere else None
    if stop:
        if entry is None:
            social.delete_post_repeats(post_id)
        else:
            social.delete_article_repeats(entry["brand_slug"], entry["content_id"])
        note("the post is not repeated any more; its planned repeats are removed")
        return None
    rule: dict[str, Any] = (
        {"kind": "evergreen", "cool_down_days": cool_down}
        if cool_down is not None
        else {"kind": "recurring", "time_zone": zone, **weeks.recurring(at or ())}
    )
    answer = (
        social.set_post_repeats(post_id, at_most=at_most, **rule)
        if entry is None
        else social.set_article_repeats(entry["brand_slug"], entry["content_id"], at_most=at_most, **rule)
    )
    where = answer["account"] or "each account"
    return Result(answer, remark=f"{answer['kind']} on {where}: {answer['made']} of {answer['at_most']} made")


def _quiet(hours: dict[str, str] | None) -> str:
    return "-" if hours is None else f"{hours['begin']}-{hours['end']}"
