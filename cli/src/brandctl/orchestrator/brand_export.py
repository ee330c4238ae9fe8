"""`brandctl brands export`: all data of a brand in one zip file."""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated, Any, Final, TypeVar
from urllib.parse import quote
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import typer

from brandctl.asking import AsJson, KeyFile, ServiceClient
from brandctl.errors import UsageError
from brandctl.orchestrator.client import OrchestratorUrl
from brandctl.research.client import ResearchClient, ResearchUrl
from brandctl.terminal import note, print_json

_PAGE: Final = 50
_MOST_DAYS: Final = 400
"""The most days of views that the publisher reports."""
_NO_NAME: Final = re.compile("[^a-z0-9-]")

Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Its slug.")]
To = Annotated[Path | None, typer.Option(help="The file to write.", show_default="the standard output")]


class ExportClient(ServiceClient):
    """A client of the orchestrator; use it as a context manager. Every method may raise `ServiceError`."""

    service = "orchestrator"

    def one(self, path: str, **query: str | int) -> dict[str, Any]:
        return self._ask("GET", path, params=query)

    def all(self, path: str, **query: str) -> Iterator[dict[str, Any]]:
        """Yields all items of a list, reading it page by page."""
        for page in self._pages(path, {"limit": _PAGE, **query}):
            yield from page["items"]


class SiteExportClient(ExportClient):
    """A client of the publisher for exports."""

    service = "publisher"


class PostsExportClient(ExportClient):
    """A client of social for exports."""

    service = "social"


def export(
    brand: Brand,
    to: To = None,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    research_url: ResearchUrl = None,
    publisher_url: Annotated[str | None, SiteExportClient.address_option()] = None,
    social_url: Annotated[str | None, PostsExportClient.address_option()] = None,
    key_file: KeyFile = None,
) -> None:
    """Writes all data of a brand into a zip file: settings, keywords, subjects, articles, schedules, posts, documents, measures.

    Measures are views and clicks of the last 400 days, and post metrics; without the addresses of publisher and social they are left out, with a
    remark. Articles are Markdown, with versions and decisions as JSON. Documents are listed without their contents. The file has
    no keys or other secrets. `manifest.json` comes last: a file without it is incomplete.

    For example:

        brandctl brands export acme > acme.zip
        brandctl brands export acme --to acme.zip --json | jq .articles
    """
    if to is None and (as_json or sys.stdout.isatty()):
        raise UsageError(
            "give --to FILE, or redirect the output to a file: brandctl brands export acme > acme.zip"
        )
    with (
        ExportClient.at(orchestrator_url, key_file) as exports,
        ResearchClient.at(research_url, key_file) as research,
        nullcontext(sys.stdout.buffer) if to is None else to.open("wb") as out,
        ExitStack() as stack,
    ):
        manifest = _write(
            out,
            brand,
            exports,
            research,
            stack.enter_context(sites)
            if (sites := _known(SiteExportClient, publisher_url, key_file))
            else None,
            stack.enter_context(posts)
            if (posts := _known(PostsExportClient, social_url, key_file))
            else None,
        )
    if as_json:
        print_json(manifest)
    else:
        note(
            f"{brand}: {manifest['articles']} articles, {manifest['versions']} versions, {manifest['keywords']} keywords,"
            f" {manifest['posts']} posts, {manifest['schedules']} schedules, {manifest['documents']} documents"
        )
    for what, service in (("measured", SiteExportClient.service), ("received", PostsExportClient.service)):
        if manifest[what] is None:
            note(f"without what is {what}: give the address of {service}, --{service}-url URL")


_Asked = TypeVar("_Asked", bound=ExportClient)


def _known(client: type[_Asked], url: str | None, key_file: Path | None) -> _Asked | None:
    """A client of the service; None if its address is unknown."""
    try:
        return client.at(url, key_file)
    except UsageError:
        return None


def _write(
    out: IO[bytes],
    brand: str,
    exports: ExportClient,
    research: ResearchClient,
    sites: SiteExportClient | None,
    posts: PostsExportClient | None,
) -> dict[str, Any]:
    """Writes the archive part by part, so that memory holds only one part."""
    path = f"/v1/brands/{quote(brand, safe='')}"
    counts: dict[str, int | None] = {}
    with ZipFile(out, "w", ZIP_DEFLATED) as archive:
        _json(archive, "brand.json", exports.one(path))
        counts |= _keywords(archive, brand, exports)
        counts |= _articles(archive, path, exports)
        counts["schedules"] = _lines(archive, "schedules.jsonl", _schedules(path, exports))
        counts |= _subjects(archive, path, exports)
        _json(archive, "sources.json", research.sources(brand))
        documents = (document.model_dump(mode="json") for document in research.documents(brand, None))
        counts["documents"] = _lines(archive, "documents.jsonl", documents)
        counts["measured"] = None if sites is None else _measures(archive, path, sites)
        received = None if posts is None else posts.all(f"{path}/reach")
        counts["received"] = None if received is None else _lines(archive, "received.jsonl", received)
        manifest = {"brand": brand, "exported_at": datetime.now(UTC).isoformat(), **counts}
        _json(archive, "manifest.json", manifest)
    return manifest


def _keywords(archive: ZipFile, brand: str, exports: ExportClient) -> dict[str, int]:
    """Writes `keywords.jsonl`: each keyword with its cycle and posts."""
    cycles, posts = 0, 0

    def told() -> Iterator[dict[str, Any]]:
        nonlocal cycles, posts
        for cycle in exports.all("/v1/cycles", brand=brand):
            cycles += 1
            for keyword in exports.all(f"/v1/cycles/{cycle['cycle_id']}/keywords"):
                posts += len(keyword["posts"])
                yield {"cycle_id": cycle["cycle_id"], "handed_in_at": cycle["created_at"], **keyword}

    keywords = _lines(archive, "keywords.jsonl", told())
    return {"cycles": cycles, "keywords": keywords, "posts": posts}


def _articles(archive: ZipFile, path: str, exports: ExportClient) -> dict[str, int]:
    """Writes a folder for each article, with Markdown and JSON files for each version."""
    articles, versions = 0, 0
    for draft in exports.all(f"{path}/content"):
        articles += 1
        content_id = draft["content_id"]
        address = exports.one(f"/v1/content/{content_id}")["slug"].removesuffix(f"-{content_id}")
        # Only safe characters, so that no answer can make the archive unpack elsewhere.
        folder = f"articles/{_NO_NAME.sub('_', f'{address}-{content_id}')}"
        decisions = exports.one(f"/v1/drafts/{content_id}/decisions")["items"]
        _json(archive, f"{folder}/article.json", {**draft, "decisions": decisions})
        for each in exports.all(f"/v1/content/{content_id}/versions"):
            versions += 1
            version = exports.one(f"/v1/content/{content_id}/versions/{each['version']}")
            name = f"{folder}/version-{int(each['version']):03}"
            archive.writestr(f"{name}.md", f"# {version['title']}\n\n{version.pop('body_markdown')}")
            _json(archive, f"{name}.json", version)
    return {"articles": articles, "versions": versions}


def _measures(archive: ZipFile, path: str, sites: SiteExportClient) -> int:
    """Writes `measures.json` (by day and channel) and `measured.jsonl` (by article with views or clicks)."""
    days = str(_MOST_DAYS)
    whole = sites.one(f"{path}/measures", days=days, limit=1)
    _json(archive, "measures.json", {name: whole[name] for name in whole if name not in {"items", "next"}})
    return _lines(archive, "measured.jsonl", sites.all(f"{path}/measures", days=days))


def _schedules(path: str, exports: ExportClient) -> Iterator[dict[str, Any]]:
    """Yields the schedules with all their keywords."""
    for schedule in exports.all(f"{path}/schedules"):
        yield exports.one(f"{path}/schedules/{schedule['name']}")


def _subjects(archive: ZipFile, path: str, exports: ExportClient) -> dict[str, int]:
    """Writes `subject-decisions.jsonl`: people's joins and splits that hold. Keywords and schedules say `distinct` themselves."""
    decisions = exports.all(f"{path}/subject-decisions")
    return {"subject_decisions": _lines(archive, "subject-decisions.jsonl", decisions)}


def _json(archive: ZipFile, name: str, document: dict[str, Any]) -> None:
    archive.writestr(name, json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def _lines(archive: ZipFile, name: str, documents: Iterable[dict[str, Any]]) -> int:
    """Writes one JSON document a line; returns how many."""
    count = 0
    about = ZipInfo(name, datetime.now().astimezone().timetuple()[:6])
    about.compress_type = ZIP_DEFLATED
    with archive.open(about, "w") as file:
        for document in documents:
            file.write(json.dumps(document, ensure_ascii=False).encode() + b"\n")
            count += 1
    return count
