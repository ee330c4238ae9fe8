"""Writes all data of a brand into a zip file, part by part."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import chain
from typing import TYPE_CHECKING, Any, Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from client.documents import documents_of
from client.errors import RefusedError
from client.pages import items_of

if TYPE_CHECKING:
    from client.services.orchestrator import Orchestrator
    from client.services.publisher import Publisher
    from client.services.research import Research
    from client.services.social import Social

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

        Without a publisher, measures and subscribers are left out; without social, what posts received.
        """
        self.write_articles_and_keywords()
        self.write_research(research)
        self.counts["measured"] = None if publisher is None else self.write_measures(publisher)
        self.counts["subscribers"] = None if publisher is None else self.write_newsletter(publisher)
        self.counts["received"] = None if social is None else self.write_reach(social)
        manifest = {"brand": self.brand, "exported_at": datetime.now(UTC).isoformat(), **self.counts}
        self.write("manifest.json", manifest)
        return manifest

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
