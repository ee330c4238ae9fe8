"""`brandctl documents`: the files that research reads, those it gave up, and reading them again."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

import typer
from pydantic import BaseModel, ConfigDict, ValidationError
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from brandctl.access import AccessError, find_access
from brandctl.service_client import ServiceClient, ServiceError
from brandctl.terminal import note, out, print_json, printable

app = typer.Typer(
    name="documents",
    no_args_is_help=True,
    help="""The files that research reads: which of them it gave up, and why, and reading them again.

A file is set aside when reading it took too much time or memory, or ended the process that read it. It is not read
again until it changes or is released.

Each command asks the research service. It finds it through --research-url or RESEARCH_URL, and the key through
SERVICE_KEY or --key-file; beside a local run, `.local/endpoints.json` tells both.

Exit codes: 0 done, 1 nothing found or something failed, 2 wrong usage.

For example:

    brandctl documents list --set-aside
    brandctl documents release 42
    brandctl documents release --all
""",
)

_USAGE: Final = 2
_PAGE: Final = 200
_COLOURS: Final = {"read": "green", "skipped": "yellow", "set_aside": "red"}

ResearchUrl = Annotated[
    str | None,
    typer.Option("--research-url", envvar="RESEARCH_URL", help="Address of the research service."),
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", dir_okay=False, help="File that holds the service key; else SERVICE_KEY."),
]


class ResearchError(ServiceError):
    """Research cannot be reached or refused; the message is for people."""


class Document(BaseModel):
    """A file of the corpus."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: int
    path: str
    size: int
    state: str
    problem: str | None
    title: str
    passages: int
    since: datetime


class _Page(BaseModel):
    items: tuple[Document, ...]
    next: str | None
    counts: dict[str, int] = {}


class Research(ServiceClient):
    """A client; use it as a context manager. Every method may raise `ResearchError`."""

    service = "research"
    error = ResearchError

    waiting = 0
    """Files that are still to be read."""

    def documents(self, state: str | None) -> Iterator[Document]:
        """By path, page after page. `waiting` is up to date behind the first of them."""
        after: str | None = ""
        while after is not None:
            given = {"limit": str(_PAGE), "after": after} | ({"state": state} if state else {})
            try:
                page = _Page.model_validate(self._ask("GET", "/v1/documents", params=given))
            except ValidationError as error:
                raise self._stranger() from error
            self.waiting = page.counts.get("waiting", 0)
            yield from page.items
            after = page.next

    def release(self, document: int) -> None:
        self._ask("POST", f"/v1/documents/{document}/release")


@app.command("list")
def list_documents(
    set_aside: Annotated[bool, typer.Option("--set-aside", help="Only those that were given up.")] = False,
    skipped: Annotated[bool, typer.Option("--skipped", help="Only those without text to search.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output, for scripts.")] = False,
    research_url: ResearchUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists the files of the corpus by path, with what is wrong with them; exit code 1 if there are none.

    For example:

        brandctl documents list --set-aside
        brandctl documents list --json | jq -r '.items[].path'
    """
    if set_aside and skipped:
        raise typer.BadParameter("give one of them", param_hint="--set-aside and --skipped")
    state = "set_aside" if set_aside else "skipped" if skipped else None
    with _research(research_url, key_file) as research:
        found = list(research.documents(state))
    if research.waiting > 0:
        note(f"Reading goes on: {research.waiting} files are still to be read.")
    if as_json:
        items = [document.model_dump(mode="json") for document in found]
        print_json({"items": items})
    elif found:
        _show(out(), found)
    if not found:
        note(f"No document is {state.replace('_', ' ')}." if state else "Research has read no document.")
        raise typer.Exit(1)


@app.command()
def release(
    documents: Annotated[list[int] | None, typer.Argument(metavar="[ID]...", help="Ids of `list`.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that are set aside.")] = False,
    research_url: ResearchUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Has files read again that were set aside or skipped. Do it once the cause is gone.

    For example:

        brandctl documents release 42
    """
    if everything == bool(documents):
        raise typer.BadParameter("give ids, or --all", param_hint="ID")
    refused = False
    with _research(research_url, key_file) as research:
        wanted = [each.id for each in research.documents("set_aside")] if everything else documents or []
        for document in dict.fromkeys(wanted):
            try:
                research.release(document)
                note(f"{document} released: it is read at the next look at the folder, which begins now")
            except ResearchError as error:
                refused = True
                note(str(error))
    if not wanted:
        note("No document is set aside.")
    raise typer.Exit(1 if refused or not wanted else 0)


@contextmanager
def _research(research_url: str | None, key_file: Path | None) -> Iterator[Research]:
    try:
        access = find_access(research_url, key_file, service="research")
    except AccessError as error:
        note(str(error))
        raise typer.Exit(_USAGE) from error
    try:
        with Research(access) as research:
            yield research
    except ResearchError as error:
        note(str(error))
        raise typer.Exit(1) from error


def _show(console: Console, documents: Sequence[Document]) -> None:
    headings = ("id", "state", "path", "size", "passages", "since", "title or problem")
    rows = [
        (
            str(each.id),
            each.state,
            printable(each.path),
            str(each.size),
            str(each.passages),
            each.since.astimezone().strftime("%Y-%m-%d %H:%M:%S"),
            printable(each.problem or each.title),
        )
        for each in documents
    ]
    if not console.is_terminal:
        for row in (headings, *rows):
            # Past the console, which would turn tabs into spaces.
            console.file.write("\t".join(row) + "\n")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, no_wrap=heading == "id", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style=_COLOURS.get(cell, "")) for cell in row))
    console.print(table)
