"""`brandctl keywords`: the history of a keyword in all cycles."""

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from brandctl.access import AccessError
from brandctl.asking import AsJson, KeyFile, ServiceError
from brandctl.errors import CommandError
from brandctl.keywords.clients import MOST_LETTERS, DeadLettersClient, KeywordsClient
from brandctl.keywords.story import KeywordEvent, tell
from brandctl.listing import Limit, Listing, OfBrand
from brandctl.short_ids import is_id, shorten
from brandctl.tables import show_table
from brandctl.terminal import note, out, print_json

app = typer.Typer(
    name="keywords",
    no_args_is_help=True,
    help=f"""Lists the keywords of all cycles, and shows the history of one. It needs no traces.

{KeywordsClient.help()}

For example:

    brandctl keywords list --brand acme --search brew
    brandctl keywords show "cold brew" --brand acme
""",
)
OrchestratorUrl = Annotated[str | None, KeywordsClient.address_option()]
MonitorUrl = Annotated[str | None, DeadLettersClient.address_option()]
MOST_CYCLES: Final = 10
"""The most cycles that `show` prints; the keyword may be in more."""

_KEYWORDS: Final = Listing[dict[str, Any]](
    {
        "keyword": lambda each: str(each["keyword"]),
        "brand": lambda each: str(each["brand_slug"]),
        "state": lambda each: str(each["state"]),
        "since": lambda each: _minute(each["moved_at"]),
        "cycle": lambda each: str(each["cycle_id"]),
        "result": lambda each: str(each["published_url"] or each["reason"] or each["waits"] or ""),
    },
    nothing="no such keyword in the stored cycles",
    colours={"completed": "green", "refused": "yellow", "needs_review": "yellow", "failed": "red"},
)


@app.command(name="list")
def list_keywords(
    brand: OfBrand = None,
    search: Annotated[
        str | None, typer.Option(help="Only keywords that contain this text.", show_default="all")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(help="Only this state, such as completed or failed.", show_default="in any state"),
    ] = None,
    after: Annotated[str | None, typer.Option(help="The cursor that the previous page printed.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists the keywords of all stored cycles, latest cycle first.

    For example:

        brandctl keywords list --brand acme --search brew --state failed
    """
    with KeywordsClient.at(orchestrator_url, key_file) as keywords:
        answer = keywords.page(brand=brand, q=search, state=state, after=after, limit=limit)
    _KEYWORDS.show(answer["items"], answer, as_json=as_json, more=answer["next"])


@app.command()
def show(
    keyword: Annotated[str, typer.Argument(metavar="KEYWORD", help="The keyword as submitted.")],
    brand: OfBrand = None,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    monitor_url: MonitorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows the history of a keyword from the databases: submission, turn, research, writing, posts, end.

    Retries, decisions and dead letters are included. A keyword of several cycles has a history for each, latest first. Exit code 1 if it is unknown.

    For example:

        brandctl keywords show "cold brew" --brand acme
    """
    with KeywordsClient.at(orchestrator_url, key_file) as keywords:
        found = keywords.page(brand=brand, keyword=keyword, limit=MOST_CYCLES)
        items = found["items"]
        if not items:
            raise CommandError(
                f"no stored cycle has the keyword {keyword!r}; brandctl keywords list --search finds others"
            )
        letters = _letters(items, monitor_url, key_file)
        stories = [
            _story(keywords, each, dead)
            for each, dead in zip(items, letters or [[]] * len(items), strict=True)
        ]
    if as_json:
        print_json(
            [
                {
                    **each,
                    "story": [happening.as_json() for happening in story],
                    "dead_letters_read": letters is not None,
                }
                for each, story in zip(items, stories, strict=True)
            ]
        )
    else:
        for each, story in zip(items, stories, strict=True):
            _show_story(each, story)
    if found["next"] is not None:
        note(f"There are more cycles with it; these are the latest {MOST_CYCLES}.")


def _show_story(keyword: dict[str, Any], story: list[KeywordEvent]) -> None:
    note(f"“{keyword['keyword']}” of {keyword['brand_slug']}, correlation_id {keyword['correlation_id']}")
    ids = [each.id for each in story if each.id is not None and is_id(each.id)]
    shown = shorten(ids) if out().is_terminal else {}
    show_table(
        ("when", "what", "detail"),
        [(_minute(each.at, "seconds"), each.what, each.told(shown)) for each in story],
    )


def _story(
    keywords: KeywordsClient, item: dict[str, Any], letters: list[dict[str, Any]]
) -> list[KeywordEvent]:
    content_id = item["content_id"]
    if content_id is None:
        return tell(item, workflow={}, content={}, decisions=(), letters=letters)
    return tell(
        item,
        # The writing of an earlier article belongs to another keyword's history.
        workflow={} if item["has_standing_article"] else keywords.workflow(content_id),
        content=keywords.content(content_id),
        decisions=keywords.decisions(content_id),
        letters=letters,
    )


def _letters(
    items: list[dict[str, Any]], monitor_url: str | None, key_file: Path | None
) -> list[list[dict[str, Any]]] | None:
    """The dead letters of each keyword; None if the monitor cannot be reached, since the rest is still useful."""
    try:
        with DeadLettersClient.at(monitor_url, key_file) as monitor:
            found = [
                monitor.of_keyword(each["correlation_id"], each["keyword"], each["content_id"])
                for each in items
            ]
    except (AccessError, ServiceError) as error:
        note(f"Dead letters are left out: {error}")
        return None
    if any(has_more for _, has_more in found):
        note(f"There are more dead letters; of each cycle, these are the latest {MOST_LETTERS:,}.")
    return [letters for letters, _ in found]


def _minute(moment: str | None, precision: str = "minutes") -> str:
    """Formats a time as `2026-07-01 12:00`, or with seconds."""
    if moment is None:
        return ""
    return moment[: 16 if precision == "minutes" else 19].replace("T", " ")
