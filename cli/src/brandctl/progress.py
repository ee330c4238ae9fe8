"""The demo's display: progress per keyword while it runs, links at the end."""

from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from brandctl.keyword_progress import CycleKeywords, KeywordProgress
from brandctl.local.services import PROCESSES, ServiceAddresses
from brandctl.terminal import printable, say

_STYLES: Final = {
    "completed": "green",
    "refused": "yellow",
    "needs_review": "yellow",
    "rejected": "yellow",
    "failed": "red",
}


class ProgressView:
    """A live table on a terminal, a line per change anywhere else."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._seen: dict[str, str] = {}
        self._live = Live(console=console, refresh_per_second=8, transient=False)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, cycle: CycleKeywords) -> None:
        if self._console.is_terminal:
            self._live.update(_table(cycle.keywords))
            return
        for keyword in cycle.keywords:
            why = keyword.reason or keyword.answers
            told = f"{keyword.state} ({why})" if why else keyword.state
            if self._seen.get(keyword.keyword) != told:
                self._seen[keyword.keyword] = told
                say(self._console, f"  {keyword.keyword}: {told}")


def show_links(
    console: Console, slug: str, cycle: CycleKeywords, addresses: ServiceAddresses, screens: str
) -> None:
    """Prints the addresses of the console (`screens`), site, articles, posts, API and health, one a line."""
    say(console, "")
    _section(console, "Console", [screens])
    _section(console, "Site", [f"{addresses.url('publisher')}/sites/{slug}/"])
    _section(
        console, "Articles", [keyword.published_url for keyword in cycle.keywords if keyword.published_url]
    )
    _section(console, "Posts", [url for keyword in cycle.keywords for url in keyword.posts])
    _section(console, "Feed of the posts", [f"{addresses.url('social')}/feeds/{slug}"])
    _section(console, "API", [f"{addresses.url('orchestrator')}/docs"])
    _section(console, "Health", [f"{addresses.url(name)}/health/ready" for name in PROCESSES])
    for keyword in cycle.keywords:
        if keyword.state != "completed":
            reason = keyword.reason or "no reason given"
            say(console, f"{keyword.keyword}: {keyword.state}, {reason}", _STYLES.get(keyword.state))


def _section(console: Console, title: str, urls: Sequence[str]) -> None:
    if urls:
        say(console, title, "bold")
        for url in urls:
            say(console, f"  {url}")


def _table(keywords: Sequence[KeywordProgress]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("keyword", "state", "result"):
        table.add_column(heading, header_style="dim", overflow="fold")
    for keyword in keywords:
        result = keyword.published_url or keyword.reason or keyword.waits or keyword.answers or ""
        state = (
            Text(printable(keyword.state), style=_STYLES[keyword.state])
            if keyword.ended
            else Spinner("dots", text=printable(keyword.state))
        )
        table.add_row(Text(printable(keyword.keyword)), state, Text(printable(result)))
    return table
