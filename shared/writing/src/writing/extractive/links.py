"""Resolves links between documents of a collection to addresses on the web. Pure."""

from collections.abc import Callable
from functools import partial
from urllib.parse import urldefrag, urljoin, urlsplit

from writing.article import ArticleSource


def resolver(source: ArticleSource) -> Callable[[str], str | None]:
    """Returns the function that resolves the targets of the source's links."""
    return partial(_resolve, source.url, source.path)


def _resolve(url: str | None, path: str | None, target: str) -> str | None:
    if urlsplit(target).scheme in {"http", "https"}:
        return target
    # Where the collection lies on the web follows from the address of one of its documents.
    if url is None or urlsplit(url).scheme not in {"http", "https"}:
        return None
    page, _ = urldefrag(url)
    if path is None or not page.endswith(f"/{path}"):
        return None
    resolved = urljoin(page.removesuffix(path), target)
    return resolved if resolved.startswith(page.removesuffix(path)) else None
