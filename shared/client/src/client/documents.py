"""Documents of research: those of a brand and files of its folder, with the same names."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from client.pages import MAX_PAGE, pages_of

if TYPE_CHECKING:
    from client.services.research import Research

_OF_BOTH: Final = ("id", "size", "state", "problem", "title", "passages")


def documents_of(research: "Research", brand: str) -> Iterator[dict[str, Any]]:
    """Yields a brand's documents, named as files of the folder are."""
    return alike(pages_of(research.list_documents, brand, limit=MAX_PAGE))


def alike(pages: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yields the documents of pages; one of a brand is named as a file of the folder is."""
    for page in pages:
        for each in page["items"]:
            rights = {name: each[name] for name in ("licence", "own") if name in each}
            path, since = each.get("path", each.get("name")), each.get("since", each.get("uploaded_at"))
            yield {name: each[name] for name in _OF_BOTH} | {"path": path, "since": since} | rights
