"""The research service's HTTP API, as far as documents go, and how commands that use it begin and end."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from brandctl.access import AccessError, find_access
from brandctl.service_client import ServiceClient, ServiceError
from brandctl.terminal import note

USAGE: Final = 2
_PAGE: Final = 200

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
    """A file of the folder, or a document of a brand. `path` is the name that a brand's document was given."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: int
    path: str = Field(validation_alias=AliasChoices("path", "name"))
    size: int
    state: str
    problem: str | None
    title: str
    passages: int
    since: datetime = Field(validation_alias=AliasChoices("since", "uploaded_at"))
    licence: str | None = None
    own: bool | None = None
    """None of a file of the folder."""


class _Page(BaseModel):
    items: tuple[Document, ...]
    next: int | str | None
    counts: dict[str, int] = {}


class Research(ServiceClient):
    """A client; use it as a context manager. Every method may raise `ResearchError`. Without a brand, it is about the folder."""

    service = "research"
    error = ResearchError

    waiting = 0
    """Documents that are still to be read."""

    def documents(self, brand: str | None, state: str | None) -> Iterator[Document]:
        """Page after page. `waiting` is up to date behind the first of them."""
        after: int | str | None = "" if brand is None else 0
        while after is not None:
            given = {"limit": str(_PAGE), "after": str(after)} | ({"state": state} if state else {})
            try:
                page = _Page.model_validate(self._ask("GET", _documents_of(brand), params=given))
            except ValidationError as error:
                raise self._stranger() from error
            self.waiting = page.counts.get("waiting", 0)
            yield from page.items
            after = page.next

    def add(self, brand: str, name: str, content: bytes, about: dict[str, Any]) -> Document:
        given = {"name": name} | {key: value for key, value in about.items() if value is not None}
        try:
            return Document.model_validate(
                self._ask(
                    "POST",
                    _documents_of(brand),
                    params=given,
                    content=content,
                    headers={"Content-Type": "application/octet-stream"},
                )
            )
        except ValidationError as error:
            raise self._stranger() from error

    def remove(self, brand: str, document: int) -> None:
        self._ask("DELETE", f"{_documents_of(brand)}/{document}")

    def release(self, brand: str | None, document: int) -> None:
        self._ask("POST", f"{_documents_of(brand)}/{document}/release")


def _documents_of(brand: str | None) -> str:
    return "/v1/documents" if brand is None else f"/v1/brands/{brand}/documents"


@contextmanager
def research_at(url: str | None, key_file: Path | None) -> Iterator[Research]:
    """Research, for the time of a command; what it refuses ends the command with a message."""
    try:
        access = find_access(url, key_file, service="research")
    except AccessError as error:
        note(str(error))
        raise typer.Exit(USAGE) from error
    try:
        with Research(access) as research:
            yield research
    except ResearchError as error:
        note(str(error))
        raise typer.Exit(1) from error
