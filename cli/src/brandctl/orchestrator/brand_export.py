"""`brandctl brands export`: all data of a brand in one zip file."""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from brandctl.commands import Result
from brandctl.errors import UsageError
from brandctl.options import Brand
from brandctl.research.documents import documents_of
from client import RefusedError
from client.pages import items_of
from client.services.orchestrator import Orchestrator
from client.services.publisher import Publisher
from client.services.research import Research
from client.services.social import Social

_PAGE: Final = 50
_MOST_DAYS: Final = 400
"""The most days of views that the publisher reports."""
_NO_NAME: Final = re.compile("[^a-z0-9-]")


def export(
    brand: Brand,
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    as_json: bool,
    to: Path | None = None,
) -> Result:
    """Writes all data of a brand into a zip file: settings, keywords, subjects, articles, schedules, posts, documents, measures.

    Measures are views and clicks of the last 400 days, and post metrics; without the addresses of publisher and social they are left out, with a
    remark. Articles are Markdown, with versions and decisions as JSON. Documents are listed without their contents. The file has
    no keys or other secrets. `manifest.json` comes last: a file without it is incomplete.

    For example:

        brandctl brands export acme > acme.zip
        brandctl brands export acme --to acme.zip --json | jq .articles

    Options:
        to: The file to write. [default: the standard output]
    """
    if to is None and (as_json or sys.stdout.isatty()):
        raise UsageError(
            "give --to FILE, or redirect the output to a file: brandctl brands export acme > acme.zip"
        )
    orchestrator.connect()
    research.connect()
    with (
        nullcontext(sys.stdout.buffer) if to is None else to.open("wb") as out,
        ZipFile(out, "w", ZIP_DEFLATED) as archive,
    ):
        writer = _BrandArchive(archive, brand, orchestrator)
        writer.write_articles_and_keywords()
        writer.write_research(research)
        writer.counts["measured"] = writer.write_measures(publisher) if _is_known(publisher) else None
        writer.counts["subscribers"] = writer.write_newsletter(publisher) if _is_known(publisher) else None
        writer.counts["received"] = writer.write_reach(social) if _is_known(social) else None
        manifest = {"brand": brand, "exported_at": datetime.now(UTC).isoformat(), **writer.counts}
        writer.write("manifest.json", manifest)
    about = (
        f"{brand}: {manifest['articles']} articles, {manifest['versions']} versions, {manifest['keywords']} keywords,"
        f" {manifest['posts']} posts, {manifest['schedules']} schedules, {manifest['documents']} documents"
    )
    missing = [
        f"without what is {what}: give the address of {service}, --{service}-url URL"
        for what, service in (("measured", "publisher"), ("received", "social"))
        if manifest[what] is None
    ]
    if manifest["subscribers"] is None and manifest["measured"] is not None:
        missing.append("without the newsletter's subscribers: the key needs the scope operate")
    return Result(manifest, note=about, remark=missing)


def _is_known(service: Publisher | Social) -> bool:
    """Whether the address of a service is known."""
    try:
        service.connect()
    except UsageError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class _BrandArchive:
    """Writes the archive part by part, so that memory holds only one part."""

    archive: ZipFile
    brand: str
    orchestrator: Orchestrator
    counts: dict[str, int | None] = field(default_factory=dict)

    def write_articles_and_keywords(self) -> None:
        orchestrator, brand = self.orchestrator, self.brand
        self.write("brand.json", orchestrator.get_brand(brand))
        self._write_keywords()
        self._write_articles()
        # With all their keywords.
        schedules = (
            orchestrator.get_schedule(brand, each["name"])
            for each in items_of(orchestrator.list_schedules, brand, limit=_PAGE)
        )
        self.counts["schedules"] = self.write_lines("schedules.jsonl", schedules)
        # People's joins and splits that hold; keywords and schedules say `distinct` themselves.
        decisions = items_of(orchestrator.list_subject_decisions, brand, limit=_PAGE)
        self.counts["subject_decisions"] = self.write_lines("subject-decisions.jsonl", decisions)

    def write_research(self, research: Research) -> None:
        self.write("sources.json", research.get_sources(self.brand))
        documents = documents_of(research, self.brand)
        self.counts["documents"] = self.write_lines("documents.jsonl", documents)

    def write_measures(self, publisher: Publisher) -> int:
        """Writes `measures.json` (by day and channel) and `measured.jsonl` (by article with views or clicks)."""
        whole = publisher.list_measures(self.brand, days=_MOST_DAYS, limit=1)
        told = {name: value for name, value in whole.items() if name not in {"items", "next"}}
        self.write("measures.json", told)
        measured = items_of(publisher.list_measures, self.brand, days=_MOST_DAYS, limit=_PAGE)
        return self.write_lines("measured.jsonl", measured)

    def write_newsletter(self, publisher: Publisher) -> int | None:
        """Writes `subscribers.jsonl`: the addresses that get the newsletter, or are asked to confirm. None: the key may not see them."""
        subscribers = items_of(publisher.list_subscribers, self.brand, limit=_PAGE)
        try:
            first = next(subscribers, None)
        except RefusedError as error:
            if error.status == HTTPStatus.FORBIDDEN:
                return None
            raise
        found = () if first is None else chain((first,), subscribers)
        return self.write_lines("subscribers.jsonl", found)

    def write_reach(self, social: Social) -> int:
        return self.write_lines("received.jsonl", items_of(social.list_reach, self.brand, limit=_PAGE))

    def _write_keywords(self) -> None:
        """Writes `keywords.jsonl`: each keyword with its cycle and posts."""
        cycles, posts = 0, 0

        def told() -> Iterator[dict[str, Any]]:
            nonlocal cycles, posts
            orchestrator = self.orchestrator
            for cycle in items_of(orchestrator.list_cycles, brand=self.brand, limit=_PAGE):
                cycles += 1
                for keyword in items_of(orchestrator.list_cycle_keywords, cycle["cycle_id"], limit=_PAGE):
                    posts += len(keyword["posts"])
                    yield {"cycle_id": cycle["cycle_id"], "handed_in_at": cycle["created_at"], **keyword}

        keywords = self.write_lines("keywords.jsonl", told())
        self.counts.update(cycles=cycles, keywords=keywords, posts=posts)

    def _write_articles(self) -> None:
        """Writes a folder for each article, with Markdown and JSON files for each version."""
        orchestrator, articles, versions = self.orchestrator, 0, 0
        for draft in items_of(orchestrator.list_brand_articles, self.brand, limit=_PAGE):
            articles += 1
            content_id = draft["content_id"]
            address = orchestrator.get_article(content_id)["slug"].removesuffix(f"-{content_id}")
            # Only safe characters, so that no answer can make the archive unpack elsewhere.
            folder = f"articles/{_NO_NAME.sub('_', f'{address}-{content_id}')}"
            decisions = orchestrator.list_draft_decisions(content_id)["items"]
            self.write(f"{folder}/article.json", {**draft, "decisions": decisions})
            for each in items_of(orchestrator.list_article_versions, content_id, limit=_PAGE):
                versions += 1
                version = {**orchestrator.get_article_version(content_id, each["version"])}
                name = f"{folder}/version-{int(each['version']):03}"
                self.archive.writestr(f"{name}.md", f"# {version['title']}\n\n{version.pop('body_markdown')}")
                self.write(f"{name}.json", version)
        self.counts.update(articles=articles, versions=versions)

    def write(self, name: str, document: Any) -> None:
        self.archive.writestr(name, json.dumps(document, ensure_ascii=False, indent=2) + "\n")

    def write_lines(self, name: str, documents: Iterable[Any]) -> int:
        """Writes one JSON document a line; returns how many."""
        count = 0
        about = ZipInfo(name, datetime.now().astimezone().timetuple()[:6])
        about.compress_type = ZIP_DEFLATED
        with self.archive.open(about, "w") as file:
            for document in documents:
                file.write(json.dumps(document, ensure_ascii=False).encode() + b"\n")
                count += 1
        return count
