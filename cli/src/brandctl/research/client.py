"""Client of research's API: documents and a brand's sources."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Final
from urllib.parse import quote

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from brandctl.asking import ServiceClient

_PAGE: Final = 200


class DocumentAnswer(BaseModel):
    """A file of the folder, or a document of a brand, for which `path` is its name."""

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
    """Whether the brand wrote it; None for a file of the folder."""


class _DocumentPage(BaseModel):
    items: tuple[DocumentAnswer, ...]
    counts: dict[str, int] = {}


class ResearchClient(ServiceClient):
    """A client; use it as a context manager. Every method may raise `ServiceError`."""

    service = "research"

    waiting = 0
    """Documents that research has not read yet."""

    def documents(self, brand: str | None, state: str | None) -> Iterator[DocumentAnswer]:
        """Yields a brand's documents, or without a brand the folder's, page by page. The first page sets `waiting`."""
        for answer in self._pages(_documents_of(brand), {"limit": _PAGE, "state": state}):
            page = self._read(_DocumentPage, answer)
            self.waiting = page.counts.get("waiting", 0)
            yield from page.items

    def add(self, brand: str, name: str, content: bytes, about: dict[str, Any]) -> DocumentAnswer:
        answer = self._ask(
            "POST",
            _documents_of(brand),
            params={"name": name, **about},
            content=content,
            headers={"Content-Type": "application/octet-stream"},
        )
        return self._read(DocumentAnswer, answer)

    def remove(self, brand: str, document: int) -> None:
        self._ask("DELETE", f"{_documents_of(brand)}/{document}")

    def release(self, brand: str | None, document: int) -> None:
        self._ask("POST", f"{_documents_of(brand)}/{document}/release")

    def sources(self, brand: str) -> dict[str, Any]:
        return self._ask("GET", f"{_of(brand)}/sources")

    def set_sources(self, brand: str, sources: dict[str, Any]) -> dict[str, Any]:
        return self._ask("PUT", f"{_of(brand)}/sources", json=sources)


ResearchUrl = Annotated[str | None, ResearchClient.address_option()]


def _documents_of(brand: str | None) -> str:
    return "/v1/documents" if brand is None else f"{_of(brand)}/documents"


def _of(brand: str) -> str:
    return f"/v1/brands/{quote(brand, safe='')}"
