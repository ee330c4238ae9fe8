"""`brandctl keywords`: the history of a keyword in all cycles."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from brandctl.access import AccessError
from brandctl.commands import Group, Result
from brandctl.errors import CommandError
from brandctl.keywords.story import KeywordEvent, tell
from brandctl.listing import Listing
from brandctl.options import AfterCursor, Limit, OfBrand
from brandctl.short_ids import is_id, shorten
from brandctl.tables import show_table
from brandctl.terminal import note, out
from brandctl.times import to_minute, to_second
from client.errors import ClientError
from client.pages import MAX_PAGE, pages_of, read_if_known
from client.services.monitor import Monitor
from client.services.orchestrator import Orchestrator

app = Group(
    "keywords",
    """Lists the keywords of all cycles, and shows the history of one. It needs no traces.

For example:

    brandctl keywords list --brand acme --search brew
    brandctl keywords show "cold brew" --brand acme
""",
    Orchestrator,
)
MOST_CYCLES: Final = 10
"""The most cycles that `show` prints; the keyword may be in more."""
MOST_LETTERS: Final = 1_000
"""The most dead letters of one keyword."""

_KEYWORDS: Final = Listing(
    {
        "keyword": "keyword",
        "brand": "brand_slug",
        "state": "state",
        "since": lambda each: to_minute(each["moved_at"]),
        "cycle": "cycle_id",
        "result": lambda each: each["published_url"] or each["reason"] or each["waits"] or "",
    },
    nothing="no such keyword in the stored cycles",
    colours={"completed": "green", "refused": "yellow", "needs_review": "yellow", "failed": "red"},
)


@app.command("list")
def list_keywords(
    orchestrator: Orchestrator,
    brand: OfBrand = None,
    search: str | None = None,
    state: str | None = None,
    after: AfterCursor = None,
    limit: Limit = 50,
) -> Result:
    """Lists the keywords of all stored cycles, latest cycle first.

    For example:

        brandctl keywords list --brand acme --search brew --state failed

    Options:
        search: Only keywords that contain this text. [default: all]
        state: Only this state, such as completed or failed. [default: in any state]
    """
    query: dict[str, Any] = {"q": search, "state": state}
    return _KEYWORDS.of(
        orchestrator.search_for_keywords(brand=brand, after=after, limit=limit, **query), brand=brand
    )


@app.command()
def show(orchestrator: Orchestrator, monitor: Monitor, keyword: str, brand: OfBrand = None) -> Result:
    """Shows the history of a keyword from the databases: submission, turn, research, writing, posts, end.

    Retries, decisions and dead letters are included. A keyword of several cycles has a history for each, latest first. Exit code 1 if it is unknown.

    For example:

        brandctl keywords show "cold brew" --brand acme

    Options:
        keyword: The keyword as submitted.
    """
    found = orchestrator.search_for_keywords(brand=brand, keyword=keyword, limit=MOST_CYCLES)
    items: list[Any] = found["items"]
    if not items:
        raise CommandError(
            f"no stored cycle has the keyword {keyword!r}; brandctl keywords list --search finds others"
        )
    letters = _letters(monitor, items)
    stories = [
        _story(orchestrator, each, dead)
        for each, dead in zip(items, letters or [[]] * len(items), strict=True)
    ]
    answer = [
        {**each, "story": [event.as_json() for event in story], "dead_letters_read": letters is not None}
        for each, story in zip(items, stories, strict=True)
    ]

    def show_stories() -> None:
        for each, story in zip(items, stories, strict=True):
            _show_story(each, story)

    more = f"There are more cycles with it; these are the latest {MOST_CYCLES}."
    return Result(answer, show_stories, remark=() if found["next"] is None else more)


def _show_story(keyword: dict[str, Any], story: list[KeywordEvent]) -> None:
    note(f"“{keyword['keyword']}” of {keyword['brand_slug']}, correlation_id {keyword['correlation_id']}")
    if limits := _limits(keyword):
        note(
            f"its request {' and '.join(limits)}; brandctl chain {keyword['correlation_id']} --calls tells its cost"
        )
    ids = [each.id for each in story if each.id is not None and is_id(each.id)]
    shown = shorten(ids) if out().is_terminal else {}
    rows = [(to_second(each.at), each.what, each.told(shown)) for each in story]
    show_table(("when", "what", "detail"), rows)


def _limits(keyword: Mapping[str, Any]) -> list[str]:
    """The limits of its request in words; an orchestrator of a version before tells none."""
    deadline, cost = keyword.get("deadline"), keyword.get("max_cost")
    return [
        *([] if deadline is None else [f"ends at {to_minute(deadline)}"]),
        *([] if cost is None else [f"may cost {cost:.2f} dollars"]),
    ]


def _story(orchestrator: Orchestrator, item: dict[str, Any], letters: list[Any]) -> list[KeywordEvent]:
    content_id = item["content_id"]
    if content_id is None:
        return tell(item, workflow={}, content={}, decisions=(), letters=letters)
    return tell(
        item,
        # The writing of an earlier article belongs to another keyword's history.
        workflow={} if item["has_standing_article"] else _known(orchestrator.get_workflow, content_id),
        content=_known(orchestrator.get_article, content_id),
        decisions=_known(orchestrator.list_draft_decisions, content_id).get("items", ()),
        letters=letters,
    )


def _known(read: Callable[[str], Mapping[str, Any]], content_id: str) -> Mapping[str, Any]:
    return read_if_known(read, content_id, or_gone=True) or {}


def _letters(monitor: Monitor, items: list[Any]) -> list[list[Any]] | None:
    """The dead letters of each keyword, latest first; None if the monitor cannot be reached, since the rest is still useful."""
    try:
        found = [_letters_of(monitor, each) for each in items]
    except (AccessError, ClientError) as error:
        note(f"Dead letters are left out: {error}")
        return None
    if any(has_more for _, has_more in found):
        note(f"There are more dead letters; of each cycle, these are the latest {MOST_LETTERS:,}.")
    return [letters for letters, _ in found]


def _letters_of(monitor: Monitor, keyword: dict[str, Any]) -> tuple[list[Any], bool]:
    """At most `MOST_LETTERS` dead letters, and whether there are more."""
    named = {name: keyword[name] for name in ("correlation_id", "keyword", "content_id")}
    letters: list[Any] = []
    for page in pages_of(monitor.list_dead_letters, limit=MAX_PAGE, **named):
        letters += page["items"]
        if len(letters) >= MOST_LETTERS:
            return letters, page["next"] is not None
    return letters, False
