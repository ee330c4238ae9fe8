"""`brandctl documents`: the folder's files and the brands' documents that research reads or has set aside."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer

from brandctl.commands import Group, Result
from brandctl.errors import FAILURES, CommandError
from brandctl.listing import Listing
from brandctl.terminal import note
from client.documents import alike
from client.errors import ClientError
from client.pages import MAX_PAGE, pages_of
from client.services.research import Research

app = Group(
    "documents",
    """Lists, uploads and removes the documents that research reads: its folder's files and, with --brand, a brand's own.

A document is set aside when reading it took too much time or memory, or ended the process that read it. It is not read
again until it changes or is released.

For example:

    brandctl documents add handbook.pdf --brand acme --own
    brandctl documents list --brand acme
    brandctl documents remove 17 --brand acme
    brandctl documents list --set-aside
    brandctl documents release --all
""",
    Research,
)

_Thing = TypeVar("_Thing")
_FILES: Final = Listing(
    {
        "id": "id",
        "state": "state",
        "path": "path",
        "size": "size",
        "passages": "passages",
        "since": lambda document: (
            f"{datetime.fromisoformat(document['since']).astimezone():%Y-%m-%d %H:%M:%S}"
        ),
        "title or problem": lambda document: document["problem"] or document["title"],
    },
    nothing="Research has read no document.",
    colours={"read": "green", "skipped": "yellow", "set_aside": "red", "waiting": "cyan"},
)


def _rights(document: dict[str, Any]) -> str:
    """The owner of a document, and its licence."""
    return ", ".join(filter(None, ("own" if document["own"] else "", document["licence"] or "")))


_OF_BRAND: Final = replace(_FILES, columns={**_FILES.columns, "rights": _rights})

_READABLE: Final = frozenset(
    ".adoc .asciidoc .htm .html .markdown .md .pdf .rest .rst .txt .xhtml".split()  # noqa: SIM905  (one line)
)
"""Suffixes of files that research can read."""

Brand = Annotated[str, typer.Option(help="Slug of the brand whose documents these are.")]
BrandOrFolder = Annotated[
    str | None,
    typer.Option("--brand", help="Slug of the brand whose documents these are.", show_default="the folder"),
]


@app.command()
def add(
    research: Research,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...")],
    brand: Brand,
    own: Annotated[bool | None, typer.Option("--own/--not-own")] = None,
    licence: str | None = None,
    title: str | None = None,
    url: str | None = None,
) -> Result:
    """Uploads documents that research searches for this brand only. The same bytes twice are one document.

    For example:

        brandctl documents add guide.pdf prices.html --brand acme --own
        brandctl documents add handbook/ --brand acme --own
        brandctl documents add study.pdf --brand acme --licence "CC BY 4.0" --url https://example.org/study

    Options:
        files: PDF, HTML, Markdown, reStructuredText, AsciiDoc or text files, or a folder with such files.
        own: The brand wrote it itself. [default: no]
        licence: Licence of the document. [default: as it says itself]
        title: Title that articles give it. [default: as it says itself]
        url: Address for readers of articles. [default: as it says itself]
    """
    files = [file for each in files for file in _files_of(each)]
    if len(files) > 1 and (title or url):
        raise typer.BadParameter("give it with one file at a time", param_hint="--title and --url")

    def upload(file: Path) -> tuple[int, str]:
        try:
            content = file.read_bytes()
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}") from error
        try:
            kept = research.add_document(
                brand, content, name=file.name, own=own, licence=licence, title=title, url=url
            )
        except ClientError as error:
            raise CommandError(f"{file}: {error}") from error
        return kept["id"], f"{file} is document {kept['id']} of {brand}"

    return _each(files, upload)


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
    research: Research, documents: Annotated[list[int], typer.Argument(metavar="ID...")], brand: Brand
) -> Result:
    """Removes documents of a brand from research. Articles that quote them stay.

    For example:

        brandctl documents remove 17 --brand acme

    Options:
        documents: Ids from `list --brand`.
    """

    def forget(document: int) -> tuple[int, str]:
        research.remove_document(brand, document)
        return document, f"{document} removed"

    return _each(dict.fromkeys(documents), forget)


@app.command("list")
def list_documents(
    research: Research,
    brand: BrandOrFolder = None,
    set_aside: bool = False,
    skipped: bool = False,
) -> Result:
    """Lists the folder's files by path, or a brand's documents by upload, with their problems; exit code 1 if none.

    For example:

        brandctl documents list --set-aside
        brandctl documents list --brand acme --json | jq -r '.items[].path'

    Options:
        set_aside: Only those that are set aside.
        skipped: Only those without text to search.
    """
    if set_aside and skipped:
        raise typer.BadParameter("give only one of them", param_hint="--set-aside and --skipped")
    state = "set_aside" if set_aside else "skipped" if skipped else None
    read = (research.list_corpus_documents,) if brand is None else (research.list_documents, brand)
    pages = list(pages_of(*read, limit=MAX_PAGE, state=state))
    found = list(alike(pages))
    if (waiting := pages[-1]["counts"].get("waiting", 0)) > 0:
        note(f"Research is still reading: {waiting} files are left.")
    listing = _FILES if brand is None else _OF_BRAND
    if found:
        return listing.of({"items": found})
    nothing = listing.nothing if brand is None else f"{brand} has no document."
    return Result({"items": []}, error=f"No document is {state.replace('_', ' ')}." if state else nothing)


@app.command()
def release(
    research: Research,
    documents: Annotated[list[int] | None, typer.Argument(metavar="[ID]...")] = None,
    brand: BrandOrFolder = None,
    all_: bool = False,
) -> Result:
    """Makes research read documents again that it set aside or skipped. Do it once the cause is gone.

    For example:

        brandctl documents release 42
        brandctl documents release --brand acme --all

    Options:
        documents: Ids of `list`.
        all_: All that are set aside.
    """
    if all_ == bool(documents):
        raise typer.BadParameter("give ids, or --all", param_hint="ID")
    if all_:
        read = (research.list_corpus_documents,) if brand is None else (research.list_documents, brand)
        found = alike(pages_of(*read, limit=MAX_PAGE, state="set_aside"))
        documents = [each["id"] for each in found]
    if not documents:
        raise CommandError("No document is set aside.")

    def let_go(document: int) -> tuple[int, str]:
        if brand is None:
            research.release_corpus_document(document)
        else:
            research.release_document(brand, document)
        return document, f"{document} released: research reads it now"

    return _each(dict.fromkeys(documents), let_go)


def _each(things: Iterable[_Thing], do: Callable[[_Thing], tuple[int, str]]) -> Result:
    """Calls `do` for each and prints its remark; the command fails at the end if one was refused."""
    done: list[int] = []
    refused: list[dict[str, str]] = []
    for each in things:
        try:
            document, told = do(each)
        except FAILURES as error:
            told = str(error)
            refused.append({"asked": str(each), "detail": told})
        else:
            done.append(document)
        note(told)
    return Result({"done": done, "refused": refused}, fails=bool(refused))
