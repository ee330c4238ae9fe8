"""Writes all data of a brand into a zip file, part by part: for people to read, and in `copy/` for `client.brand_import`."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import chain
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias
from uuid import uuid4
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from client.documents import documents_of
from client.errors import RefusedError
from client.pages import MAX_PAGE, items_of, pages_of

if TYPE_CHECKING:
    from client.services.orchestrator import Orchestrator
    from client.services.publisher import Publisher
    from client.services.research import Research
    from client.services.social import Social

FORMAT: Final = 2
"""Of the archive; 2: it has `copy/`, and can be imported."""
PARTS: Final = {
    "orchestrator": (
        "settings", "subject-decisions", "cycles", "keywords", "articles", "former-addresses", "deleted-articles", "schedules",
    ),
    "research": ("research",),
    "publisher": (
        "sites", "logos", "pages", "former-pages", "deleted-pages", "short-links", "publications", "subscribers",
    ),
    "social": (
        "feeds", "feed-posts", "pending-posts", "channel-posts", "channel-rules", "posting-rules", "repeats",
    ),
}  # fmt: skip
"""The parts of a brand at each service, in the order of an import; the services list the same."""
BUILT_IN: Final = frozenset({"site", "feed"})
"""The target and the channel that need no account."""

_Rows: TypeAlias = Callable[..., Any]
_PAGE: Final = 50
_MOST_DAYS: Final = 400
"""The most days of views that the publisher reports."""
_NO_NAME: Final = re.compile("[^a-z0-9-]")


@dataclass(frozen=True, slots=True)
class BrandArchive:
    """Writes the archive part by part, so that memory holds only one part. The zip file need not be one that can go back."""

    archive: ZipFile
    brand: str
    orchestrator: "Orchestrator"
    counts: dict[str, int | None] = field(default_factory=dict)

    def write_all(
        self, research: "Research", publisher: "Publisher | None", social: "Social | None"
    ) -> dict[str, Any]:
        """Writes everything, and `manifest.json` last; returns the manifest. A count is None for what is left out.

        Without a publisher, measures and subscribers are left out; without social, what posts received. `copied` lists the services
        whose rows are in `copy/`: only an archive with all of them can be imported. That needs a key of the scope `admin`.
        """
        self.write_articles_and_keywords()
        self.write_research(research)
        self.counts["measured"] = None if publisher is None else self.write_measures(publisher)
        self.counts["subscribers"] = None if publisher is None else self.write_newsletter(publisher)
        self.counts["received"] = None if social is None else self.write_reach(social)
        manifest = {
            "format": FORMAT,
            "archive_id": str(uuid4()),
            "brand": self.brand,
            "exported_at": datetime.now(UTC).isoformat(),
            **self.write_copies(research, publisher, social),
            **self.counts,
        }
        self.write("manifest.json", manifest)
        return manifest

    def write_for_move(
        self, research: "Research", publisher: "Publisher", social: "Social", archive_id: str
    ) -> None:
        """Writes only what an import reads, so that the brand is paused for a shorter time.

        `archive_id` is the move's: a second archive of the move continues the import of the first.

        Raises:
            RefusedError: a service does not give its rows.
        """
        self.write("brand.json", self.orchestrator.get_brand(self.brand, counters=False))
        self.write("sources.json", research.get_sources(self.brand))
        told = self.write_copies(research, publisher, social)
        manifest = {"format": FORMAT, "archive_id": archive_id, "brand": self.brand, **told}
        self.write("manifest.json", manifest)

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

    def write_research(self, research: "Research") -> None:
        self.write("sources.json", research.get_sources(self.brand))
        documents = documents_of(research, self.brand)
        self.counts["documents"] = self.write_lines("documents.jsonl", documents)

    def write_measures(self, publisher: "Publisher") -> int:
        """Writes `measures.json` (by day and channel) and `measured.jsonl` (by article with views or clicks)."""
        whole = publisher.list_measures(self.brand, days=_MOST_DAYS, limit=1)
        told = {name: value for name, value in whole.items() if name not in {"items", "next"}}
        self.write("measures.json", told)
        measured = items_of(publisher.list_measures, self.brand, days=_MOST_DAYS, limit=_PAGE)
        return self.write_lines("measured.jsonl", measured)

    def write_newsletter(self, publisher: "Publisher") -> int | None:
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

    def write_reach(self, social: "Social") -> int:
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

    def write_copies(
        self, research: "Research", publisher: "Publisher | None", social: "Social | None"
    ) -> dict[str, Any]:
        """Writes the rows of all services that give them to this key; returns what the manifest says of them."""
        services: dict[str, _Rows | None] = {
            "orchestrator": self.orchestrator.list_brand_part,
            "research": research.list_brand_part,
            "publisher": None if publisher is None else publisher.list_brand_part,
            "social": None if social is None else social.list_brand_part,
        }
        copied = [name for name, read in services.items() if read is not None and self._copy(name, read)]
        told: dict[str, Any] = {"copied": copied, "site_url": None}
        if publisher is not None and "publisher" in copied:
            site = publisher.get_site_settings(self.brand)
            told["site_url"] = site["url"]
            self.write("copy/publisher/site.json", site)
            self.write("copy/publisher/targets.json", publisher.list_targets(self.brand)["items"])
        if "research" in copied:
            self._copy_documents(research)
        return told

    def _copy(self, service: str, read: _Rows) -> bool:
        """Whether the service gave its rows: its version may be an older one, or the key may not have the scope for them."""
        for part in PARTS[service]:
            rows = items_of(read, self.brand, part, limit=MAX_PAGE)
            try:
                first = next(rows, None)
            except RefusedError as error:
                if error.status in {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}:
                    return False
                raise
            self.write_lines(f"copy/{service}/{part}.jsonl", () if first is None else chain((first,), rows))
        return True

    def _copy_documents(self, research: "Research") -> None:
        """Writes each document's file, and `copy/research/documents.jsonl`, which names it."""

        def told() -> Iterator[dict[str, Any]]:
            for page in pages_of(research.list_documents, self.brand, limit=MAX_PAGE):
                for each in page["items"]:
                    yield {
                        **each,
                        "file": f"copy/research/documents/{int(each['id'])}{_suffix(each['name'])}",
                    }

        listed = list(told())
        self.write_lines("copy/research/documents.jsonl", listed)
        for each in listed:
            with (
                research.get_document_file(self.brand, each["id"]) as parts,
                self._open(each["file"]) as file,
            ):
                for part in parts:
                    file.write(part)

    def write(self, name: str, document: Any) -> None:
        self.archive.writestr(name, json.dumps(document, ensure_ascii=False, indent=2) + "\n")

    def write_lines(self, name: str, documents: Iterable[Any]) -> int:
        """Writes one JSON document a line; returns how many."""
        count = 0
        with self._open(name) as file:
            for document in documents:
                file.write(json.dumps(document, ensure_ascii=False).encode() + b"\n")
                count += 1
        return count

    def _open(self, name: str) -> IO[bytes]:
        about = ZipInfo(name, datetime.now().astimezone().timetuple()[:6])
        about.compress_type = ZIP_DEFLATED
        return self.archive.open(about, "w", force_zip64=True)


def _suffix(name: str) -> str:
    """The end of a file's name, if it is a plain one: it says the format."""
    suffix = PurePosixPath(name).suffix.lower()
    return suffix if suffix[1:].isalnum() and suffix.isascii() else ""
