"""`brandctl brands export`: all that is known of a brand, as one file that people and programs can read."""

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
"""That the publisher tells of."""
_NO_NAME: Final = re.compile("[^a-z0-9-]")

Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Its slug.")]
To = Annotated[Path | None, typer.Option(help="The file to write.", show_default="the standard output")]


class ExportClient(ServiceClient):
    """A client of the orchestrator; use it as a context manager. Every method may raise `ServiceError`."""

    service = "orchestrator"

    def one(self, path: str, **query: str | int) -> dict[str, Any]:
        return self._ask("GET", path, params=query)

    def all(self, path: str, **query: str) -> Iterator[dict[str, Any]]:
        """Everything that is listed there, a page at a time."""
        for page in self._pages(path, {"limit": _PAGE, **query}):
            yield from page["items"]


class SiteExportClient(ExportClient):
    """What the publisher knows of it."""

    service = "publisher"


class PostsExportClient(ExportClient):
    """What social knows of it."""

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
    """Writes all that is known of a brand into a zip file: settings, keywords, joined and split subjects, articles with versions and decisions, schedules, posts, documents, measures.

    Measures are views and clicks of the last 400 days, and how posts were received; they are left out, which is said, where it is not known
    where publisher and social are. Articles are Markdown, with what is known of each version beside it as JSON. Of documents there is the list, not what is in them. No
    key and no other secret is in it. `manifest.json` comes last: a file without it is not whole.

    For example:

        brandctl brands export acme > acme.zip
        brandctl brands export acme --to acme.zip --json | jq .articles
    """
    if to is None and (as_json or sys.stdout.isatty()):
        raise UsageError("say --to FILE, or send the output into one: brandctl brands export acme > acme.zip")
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
            note(f"without what is {what}: say where {service} is, --{service}-url URL")


_Asked = TypeVar("_Asked", bound=ExportClient)


def _known(client: type[_Asked], url: str | None, key_file: Path | None) -> _Asked | None:
    """None: nobody has said where it is."""
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
    """Nothing but the part in hand is held in memory, however much there is."""
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
    """`keywords.jsonl`, each with its cycle and its posts."""
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
    """A folder for each, with a file of Markdown and one of facts for each of its versions."""
    articles, versions = 0, 0
    for draft in exports.all(f"{path}/content"):
        articles += 1
        content_id = draft["content_id"]
        address = exports.one(f"/v1/content/{content_id}")["slug"].removesuffix(f"-{content_id}")
        # Whoever unpacks it gets names of ours, whatever the service says.
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
    """`measures.json`, of each day and channel, and `measured.jsonl`, of each article that was looked at or reached."""
    days = str(_MOST_DAYS)
    whole = sites.one(f"{path}/measures", days=days, limit=1)
    _json(archive, "measures.json", {name: whole[name] for name in whole if name not in {"items", "next"}})
    return _lines(archive, "measured.jsonl", sites.all(f"{path}/measures", days=days))


def _schedules(path: str, exports: ExportClient) -> Iterator[dict[str, Any]]:
    """With the whole lists of their keywords."""
    for schedule in exports.all(f"{path}/schedules"):
        yield exports.one(f"{path}/schedules/{schedule['name']}")


def _subjects(archive: ZipFile, path: str, exports: ExportClient) -> dict[str, int]:
    """`subject-decisions.jsonl`: the joins and splits that people have made and that hold. What is distinct stands with keywords and schedules."""
    decisions = exports.all(f"{path}/subject-decisions")
    return {"subject_decisions": _lines(archive, "subject-decisions.jsonl", decisions)}


def _json(archive: ZipFile, name: str, document: dict[str, Any]) -> None:
    archive.writestr(name, json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def _lines(archive: ZipFile, name: str, documents: Iterable[dict[str, Any]]) -> int:
    """One document a line, as they come; how many."""
    count = 0
    about = ZipInfo(name, datetime.now().astimezone().timetuple()[:6])
    about.compress_type = ZIP_DEFLATED
    with archive.open(about, "w") as file:
        for document in documents:
            file.write(json.dumps(document, ensure_ascii=False).encode() + b"\n")
            count += 1
    return count
