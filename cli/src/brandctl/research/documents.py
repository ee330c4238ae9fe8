"""`brandctl documents`: the folder's files and the brands' documents that research reads or has set aside."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer

from brandctl.asking import AsJson, KeyFile, ServiceError
from brandctl.errors import CommandError
from brandctl.listing import Listing
from brandctl.research.client import DocumentAnswer, ResearchClient, ResearchUrl
from brandctl.terminal import note, print_json

app = typer.Typer(
    name="documents",
    no_args_is_help=True,
    help=f"""Lists, uploads and removes the documents that research reads: its folder's files and, with --brand, a brand's own.

A document is set aside when reading it took too much time or memory, or ended the process that read it. It is not read
again until it changes or is released.

{ResearchClient.help()}

For example:

    brandctl documents add handbook.pdf --brand acme --own
    brandctl documents list --brand acme
    brandctl documents remove 17 --brand acme
    brandctl documents list --set-aside
    brandctl documents release --all
""",
)

_Thing = TypeVar("_Thing")


def _rights(document: DocumentAnswer) -> str:
    """The owner of a document, and its licence."""
    return ", ".join(filter(None, ("own" if document.own else "", document.licence or "")))


_FILES: Final = Listing[DocumentAnswer](
    {
        "id": lambda document: str(document.id),
        "state": lambda document: document.state,
        "path": lambda document: document.path,
        "size": lambda document: str(document.size),
        "passages": lambda document: str(document.passages),
        "since": lambda document: document.since.astimezone().strftime("%Y-%m-%d %H:%M:%S"),
        "title or problem": lambda document: document.problem or document.title,
    },
    nothing="Research has read no document.",
    colours={"read": "green", "skipped": "yellow", "set_aside": "red", "waiting": "cyan"},
)
_OF_BRAND: Final = replace(_FILES, columns={**_FILES.columns, "rights": _rights})

_READABLE: Final = {
    ".adoc",
    ".asciidoc",
    ".htm",
    ".html",
    ".markdown",
    ".md",
    ".pdf",
    ".rest",
    ".rst",
    ".txt",
    ".xhtml",
}
"""Suffixes of files that research can read."""

Brand = Annotated[str, typer.Option(help="Slug of the brand whose documents these are.")]
BrandOrFolder = Annotated[
    str | None,
    typer.Option("--brand", help="Slug of the brand whose documents these are.", show_default="the folder"),
]


@app.command()
def add(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="PDF, HTML, Markdown, reStructuredText, AsciiDoc or text files, or a folder with such files.",
        ),
    ],
    brand: Brand,
    own: Annotated[
        bool | None, typer.Option("--own/--not-own", help="The brand wrote it itself.", show_default="no")
    ] = None,
    licence: Annotated[
        str | None, typer.Option(help="Licence of the document.", show_default="as it says itself")
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Title that articles give it.", show_default="as it says itself")
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="Address for readers of articles.", show_default="as it says itself")
    ] = None,
    as_json: AsJson = False,
    research_url: ResearchUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Uploads documents that research searches for this brand only. The same bytes twice are one document.

    For example:

        brandctl documents add guide.pdf prices.html --brand acme --own
        brandctl documents add handbook/ --brand acme --own
        brandctl documents add study.pdf --brand acme --licence "CC BY 4.0" --url https://example.org/study
    """
    files = [file for each in files for file in _files_of(each)]
    if len(files) > 1 and (title or url):
        raise typer.BadParameter("give it with one file at a time", param_hint="--title and --url")
    about: dict[str, Any] = {"own": own, "licence": licence, "title": title, "url": url}
    with ResearchClient.at(research_url, key_file) as research:

        def upload(file: Path) -> tuple[int, str]:
            try:
                content = file.read_bytes()
            except OSError as error:
                raise CommandError(f"{file} cannot be read: {error.strerror}") from error
            try:
                kept = research.add(brand, file.name, content, about)
            except ServiceError as error:
                raise ServiceError(f"{file}: {error}") from error
            return kept.id, f"{file} is document {kept.id} of {brand}"

        _each(files, upload, as_json=as_json)


def _files_of(path: Path) -> list[Path]:
    """Returns the file, or the folder's readable files by path, without hidden ones.

    Raises:
        CommandError: the folder has none.
    """
    if not path.is_dir():
        return [path]
    found, others = list[Path](), 0
    for each in sorted(path.rglob("*")):
        if not each.is_file() or any(part.startswith(".") for part in each.relative_to(path).parts):
            continue
        if each.suffix.lower() in _READABLE:
            found.append(each)
        else:
            others += 1
    if not found:
        raise CommandError(f"{path} has no file that can be read: {', '.join(sorted(_READABLE))}")
    if others:
        note(f"{path}: {others} files of other kinds are left out")
    return found


@app.command()
def remove(
    documents: Annotated[list[int], typer.Argument(metavar="ID...", help="Ids from `list --brand`.")],
    brand: Brand,
    as_json: AsJson = False,
    research_url: ResearchUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Removes documents of a brand from research. Articles that quote them stay.

    For example:

        brandctl documents remove 17 --brand acme
    """
    with ResearchClient.at(research_url, key_file) as research:

        def forget(document: int) -> tuple[int, str]:
            research.remove(brand, document)
            return document, f"{document} removed"

        _each(dict.fromkeys(documents), forget, as_json=as_json)


@app.command("list")
def list_documents(
    brand: BrandOrFolder = None,
    set_aside: Annotated[bool, typer.Option("--set-aside", help="Only those that are set aside.")] = False,
    skipped: Annotated[bool, typer.Option("--skipped", help="Only those without text to search.")] = False,
    as_json: AsJson = False,
    research_url: ResearchUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists the folder's files by path, or a brand's documents by upload, with their problems; exit code 1 if none.

    For example:

        brandctl documents list --set-aside
        brandctl documents list --brand acme --json | jq -r '.items[].path'
    """
    if set_aside and skipped:
        raise typer.BadParameter("give only one of them", param_hint="--set-aside and --skipped")
    state = "set_aside" if set_aside else "skipped" if skipped else None
    with ResearchClient.at(research_url, key_file) as research:
        found = list(research.documents(brand, state))
    if research.waiting > 0:
        note(f"Research is still reading: {research.waiting} files are left.")
    listing, unsaid = (_FILES, {"licence", "own"}) if brand is None else (_OF_BRAND, set())
    told = {"items": [document.model_dump(mode="json", exclude=unsaid) for document in found]}
    if found or as_json:
        listing.show(found, told, as_json=as_json)
    if not found:
        nothing = listing.nothing if brand is None else f"{brand} has no document."
        raise CommandError(f"No document is {state.replace('_', ' ')}." if state else nothing)


@app.command()
def release(
    documents: Annotated[list[int] | None, typer.Argument(metavar="[ID]...", help="Ids of `list`.")] = None,
    brand: BrandOrFolder = None,
    everything: Annotated[bool, typer.Option("--all", help="All that are set aside.")] = False,
    as_json: AsJson = False,
    research_url: ResearchUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Makes research read documents again that it set aside or skipped. Do it once the cause is gone.

    For example:

        brandctl documents release 42
        brandctl documents release --brand acme --all
    """
    if everything == bool(documents):
        raise typer.BadParameter("give ids, or --all", param_hint="ID")
    with ResearchClient.at(research_url, key_file) as research:
        wanted = (
            [each.id for each in research.documents(brand, "set_aside")] if everything else documents or []
        )

        def let_go(document: int) -> tuple[int, str]:
            research.release(brand, document)
            return document, f"{document} released: research reads it now"

        if wanted:
            _each(dict.fromkeys(wanted), let_go, as_json=as_json)
    if not wanted:
        raise CommandError("No document is set aside.")


def _each(things: Iterable[_Thing], do: Callable[[_Thing], tuple[int, str]], *, as_json: bool) -> None:
    """Calls `do` for each and prints the result; exits with code 1 at the end if one was refused."""
    done: list[int] = []
    refused: dict[str, str] = {}
    for each in things:
        try:
            document, told = do(each)
        except CommandError as error:
            told = refused[str(each)] = str(error)
        else:
            done.append(document)
        note(told)
    if as_json:
        rows = [{"asked": asked, "detail": detail} for asked, detail in refused.items()]
        print_json({"done": done, "refused": rows})
    if refused:
        raise typer.Exit(1)
