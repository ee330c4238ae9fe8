"""Reads an archive of `client.brand_archive` into the services of another installation, or of the same after an erasure.

Each step may be repeated: a service stores each row of an archive once. An import that broke off continues with the same call. Nothing of an
archive is taken for a path or a page: the services check every row, and render pages anew.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID
from zipfile import ZipFile

from client.archive_reading import (
    ArchiveError,
    accounts_of,
    bytes_of,
    json_of,
    lines_of,
    mapping_of,
    object_of,
    read_manifest,
)
from client.brand_archive import PARTS
from client.errors import RefusedError

if TYPE_CHECKING:
    from client.services.orchestrator import Orchestrator
    from client.services.publisher import Publisher
    from client.services.research import Research
    from client.services.social import Social

_REQUEST_BYTES: Final = 1_000_000
_REQUEST_ROWS: Final = 200
SLUG: Final = re.compile("[a-z0-9]+(-[a-z0-9]+)*")
"""What a slug looks like; the services say it again."""
_LONGEST_SLUG: Final = 63
_NOT_OUT: Final = frozenset({"new", "waiting", "planned"})
_SITE_FIELDS: Final = ("accent", "typefaces", "tags", "author", "canonical_source", "menu")
"""Settings of a site that move; its own address is connected again."""


@dataclass
class ImportReport:
    """What became of an import."""

    brand: str
    added: dict[str, int] = field(default_factory=dict)
    """New rows by `service/part`."""
    known: int = 0
    """Rows that were there already, from the same archive."""
    had_ended: bool = False
    """The archive was imported before: nothing was changed."""
    connect_again: list[str] = field(default_factory=list)
    """Accounts and addresses that the brand had, for a person to connect here."""
    documents: int = 0
    """Documents that were handed over."""
    not_taken: list[str] = field(default_factory=list)
    """Settings that this installation refused, each with the reason."""


@dataclass
class BrandImport:
    """Imports one archive. `progress` is told the name of each step before it begins; `slug` is another one than the brand had."""

    archive: ZipFile
    orchestrator: "Orchestrator"
    research: "Research"
    publisher: "Publisher"
    social: "Social"
    progress: Callable[[str], None] = lambda _: None
    slug: str | None = None
    report: ImportReport | None = None
    """Is filled while the import runs, for somebody who shows it."""
    goes_on: bool = False
    """The brand moves, and has stopped where the archive is from: its work goes on here, and it keeps its site's own address."""

    def run(self) -> ImportReport:
        """Imports the archive, or continues; the brand is paused until a person resumes it.

        Raises:
            ArchiveError: the file is no archive, or of another version, or hostile.
            RefusedError: a service refuses a row, or the brand has other data there.
        """
        manifest = read_manifest(self.archive)
        former = str(manifest["brand"])
        self._brand, self._import_id = self.slug or former, UUID(manifest["archive_id"])
        if not SLUG.fullmatch(self._brand) or len(self._brand) > _LONGEST_SLUG:
            raise ArchiveError(
                f"“{self._brand[:80]}” is no slug of a brand; give small letters, digits and hyphens",
                "no_slug",
            )
        if self._brand != former:
            self._check_is_new()
        self._report = self.report or ImportReport(self._brand)
        self._moves: dict[str, str] = {}
        self._import_part("orchestrator", "settings")
        if self._report.had_ended:
            return self._report
        if self.goes_on:
            self._keep_address()
        new = self.publisher.get_site_settings(self._brand)["url"]
        if isinstance(manifest["site_url"], str) and manifest["site_url"].endswith("/") and new.endswith("/"):
            self._moves = {manifest["site_url"]: new}
        for part in PARTS["orchestrator"][1:]:
            self._import_part("orchestrator", part)
        self._import_research()
        self._import_site()
        for part in PARTS["social"]:
            self._import_part("social", part)
        for service in ("research", "publisher", "social", "orchestrator"):
            self.progress(f"{service}: the end")
            self._service(service).import_brand_part(
                self._brand, PARTS[service][0], import_id=self._import_id, ends_import=True
            )
        self._report.connect_again = list(accounts_of(self.archive))
        return self._report

    def _keep_address(self) -> None:
        """Gives the site its own address, before pages and texts are stored that say it."""
        address = mapping_of(self.archive, "copy/publisher/site.json").get("address")
        if address:
            self._try("address", lambda: self.publisher.update_site_settings(self._brand, address=address))

    def _check_is_new(self) -> None:
        """Refuses a second copy under another slug before anything is stored: cycles and articles keep their ids.

        It asks for the first of each: an installation has all of them or none.
        """
        for owner in (
            self._owner("cycles", "cycle_id", lambda of: self.orchestrator.get_cycle(of)["brand_slug"]),
            self._owner(
                "articles", "content_id", lambda of: self.orchestrator.get_article(of)["brand"]["slug"]
            ),
        ):
            if owner not in {None, self._brand}:
                raise ArchiveError(
                    f"the brand is here already, as “{owner}”: an installation has each article once. Erase “{owner}” first, or import"
                    " into another installation",
                    "here_already",
                    str(owner),
                )

    def _owner(self, part: str, key: str, ask: Callable[[str], str]) -> str | None:
        """The brand here of the first row of a part; None if the row is new here."""
        first = next(lines_of(self.archive, f"copy/orchestrator/{part}.jsonl"), None)
        if first is None:
            return None
        try:
            return ask(str(object_of(first).get(key)))
        except RefusedError as error:
            # Whatever else is wrong with the row, its service says when it gets it.
            if error.status in {HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY}:
                return None
            raise

    def _service(self, name: str) -> Any:
        return getattr(self, name)

    def _import_part(self, service: str, part: str) -> None:
        self.progress(f"{service}: {part}")
        for rows in self._requests(service, part):
            answer = self._service(service).import_brand_part(
                self._brand, part, import_id=self._import_id, rows=rows, goes_on=self.goes_on
            )
            self._report.known += answer["known"]
            name = f"{service}/{part}"
            self._report.added[name] = self._report.added.get(name, 0) + answer["added"]
            if part == "settings":
                self._report.had_ended = answer["had_ended"]

    def _requests(self, service: str, part: str) -> Iterator[list[dict[str, Any]]]:
        """Yields rows in groups that fit into a request."""
        rows: list[dict[str, Any]] = []
        size = 0
        for line in lines_of(self.archive, f"copy/{service}/{part}.jsonl"):
            if rows and (len(rows) >= _REQUEST_ROWS or size + len(line) > _REQUEST_BYTES):
                yield rows
                rows, size = [], 0
            rows.append(self._moved(service, line))
            size += len(line)
        if rows:
            yield rows

    def _moved(self, service: str, line: str) -> dict[str, Any]:
        """The row, with the site's address here in place of the former one. What is posted stays as it was posted."""
        row = object_of(line)
        if service == "orchestrator" or (service == "social" and row.get("state") in _NOT_OUT):
            for former, new in self._moves.items():
                line = line.replace(former, new)
            return object_of(line)
        return row

    def _import_research(self) -> None:
        self._import_part("research", "research")
        sources = mapping_of(self.archive, "sources.json")
        self._try("sources", lambda: self.research.set_sources(self._brand, extra=sources))
        self.progress("research: documents")
        for line in lines_of(self.archive, "copy/research/documents.jsonl"):
            about = object_of(line)
            content = bytes_of(self.archive, str(about.get("file")))
            self.research.add_document(
                self._brand,
                content=content,
                name=str(about.get("name")),
                title=about.get("title") or None,
                url=about.get("url"),
                licence=about.get("licence"),
                own=about.get("own"),
            )
            self._report.documents += 1

    def _import_site(self) -> None:
        site = mapping_of(self.archive, "copy/publisher/site.json")
        change = {name: site[name] for name in _SITE_FIELDS if site.get(name) is not None}
        for part in ("sites", "logos"):
            self._import_part("publisher", part)
        if change:
            self._try("site", lambda: self.publisher.update_site_settings(self._brand, extra=change))
        for part in PARTS["publisher"][2:]:
            self._import_part("publisher", part)
        for target in json_of(self.archive, "copy/publisher/targets.json"):
            try:
                name, settings = str(target["target"]), dict(target["settings"])
            except (KeyError, TypeError, ValueError) as error:
                raise ArchiveError("targets.json is none of an export", "not_an_export") from error
            self._set_target(name, settings)

    def _set_target(self, name: str, settings: Mapping[str, Any]) -> None:
        self._try(f"target {name}", lambda: self.publisher.set_target(self._brand, name, extra=settings))

    def _try(self, what: str, change: Callable[[], Any]) -> None:
        """Notes a setting that this installation refuses, such as one that needs a gateway."""
        try:
            change()
        except RefusedError as error:
            if error.status >= 500:  # noqa: PLR2004 - a failure, which the next attempt may not have
                raise
            self._report.not_taken.append(f"{what}: {error}")
