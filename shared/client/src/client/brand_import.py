"""Reads an archive of `client.brand_archive` into the services of another installation, or of the same after an erasure.

Each step may be repeated: a service stores each row of an archive once. An import that broke off continues with the same call. Nothing of an
archive is taken for a path or a page: the services check every row, and render pages anew.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Final
from uuid import UUID
from zipfile import BadZipFile, ZipFile, ZipInfo

from client.brand_archive import BUILT_IN, FORMAT, PARTS
from client.errors import ClientError, RefusedError

if TYPE_CHECKING:
    from client.services.orchestrator import Orchestrator
    from client.services.publisher import Publisher
    from client.services.research import Research
    from client.services.social import Social

MAX_ENTRIES: Final = 200_000
MAX_BYTES: Final = 20_000_000_000
"""Of all files of an archive together, unpacked."""
MAX_RATIO: Final = 500
"""Between a file's size and its packed size, for files of more than a megabyte."""
_MAX_ROW: Final = 7_500_000
_REQUEST_BYTES: Final = 1_000_000
_REQUEST_ROWS: Final = 200
_MAX_DOCUMENT: Final = 60_000_000
_NOT_OUT: Final = frozenset({"new", "waiting", "planned"})
_SITE_FIELDS: Final = ("accent", "typefaces", "tags", "author", "canonical_source", "menu")
"""Settings of a site that move; its own address is connected again."""


class ArchiveError(ClientError):
    """The file is no archive that can be imported; the message says why, and what to do."""


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
    not_taken: list[str] = field(default_factory=list)
    """Settings that this installation refused, each with the reason."""


@dataclass
class BrandImport:
    """Imports one archive. `progress` is told the name of each step before it begins."""

    archive: ZipFile
    orchestrator: "Orchestrator"
    research: "Research"
    publisher: "Publisher"
    social: "Social"
    progress: Callable[[str], None] = lambda _: None

    def run(self) -> ImportReport:
        """Imports the archive, or continues; the brand is paused until a person resumes it.

        Raises:
            ArchiveError: the file is no archive, or of another version, or hostile.
            RefusedError: a service refuses a row, or the brand has other data there.
        """
        manifest = read_manifest(self.archive)
        self._brand, self._import_id = str(manifest["brand"]), UUID(manifest["archive_id"])
        self._report = ImportReport(self._brand)
        self._moves: dict[str, str] = {}
        self._import_part("orchestrator", "settings")
        if self._report.had_ended:
            return self._report
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
        self._report.connect_again = self._accounts()
        return self._report

    def _service(self, name: str) -> Any:
        return getattr(self, name)

    def _import_part(self, service: str, part: str) -> None:
        self.progress(f"{service}: {part}")
        for rows in self._requests(service, part):
            answer = self._service(service).import_brand_part(
                self._brand, part, import_id=self._import_id, rows=rows
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
        row = _object_of(line)
        if service == "orchestrator" or (service == "social" and row.get("state") in _NOT_OUT):
            for former, new in self._moves.items():
                line = line.replace(former, new)
            return _object_of(line)
        return row

    def _import_research(self) -> None:
        self._import_part("research", "research")
        sources = _json_of(self.archive, "sources.json")
        self._try("sources", lambda: self.research.set_sources(self._brand, extra=sources))
        self.progress("research: documents")
        for line in lines_of(self.archive, "copy/research/documents.jsonl"):
            about = _object_of(line)
            content = _bytes_of(self.archive, str(about.get("file")))
            self.research.add_document(
                self._brand,
                content=content,
                name=str(about.get("name")),
                title=about.get("title") or None,
                url=about.get("url"),
                licence=about.get("licence"),
                own=about.get("own"),
            )

    def _import_site(self) -> None:
        site = _json_of(self.archive, "copy/publisher/site.json")
        change = {name: site[name] for name in _SITE_FIELDS if site.get(name) is not None}
        for part in ("sites", "logos"):
            self._import_part("publisher", part)
        if change:
            self._try("site", lambda: self.publisher.update_site_settings(self._brand, extra=change))
        for part in PARTS["publisher"][2:]:
            self._import_part("publisher", part)
        for target in _json_of(self.archive, "copy/publisher/targets.json"):
            self._set_target(str(target["target"]), target["settings"])

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

    def _accounts(self) -> list[str]:
        brand = _json_of(self.archive, "brand.json")
        site = _json_of(self.archive, "copy/publisher/site.json")
        channels = [f"channel {name}" for name in brand.get("channels", ()) if name not in BUILT_IN]
        targets = [f"target {name}" for name in brand.get("targets", ()) if name not in BUILT_IN]
        address = [f"address {site['address']}"] if site.get("address") else []
        return [*targets, *channels, *address]


def open_archive(file: str | IO[bytes]) -> ZipFile:
    """Opens an archive, and refuses one that would take too much to read.

    Raises:
        ArchiveError: the file is no zip file, or is hostile.
    """
    try:
        archive = ZipFile(file)
    except (BadZipFile, NotImplementedError, ValueError, EOFError) as error:
        raise ArchiveError(f"the file is no archive of a brand: {error}") from error
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        raise ArchiveError(f"the archive has more than {MAX_ENTRIES:,} files; no export writes so many")
    if sum(each.file_size for each in entries) > MAX_BYTES:
        raise ArchiveError(f"the archive is larger than {MAX_BYTES // 10**9} GB when it is unpacked")
    if len({each.filename for each in entries}) < len(entries):
        raise ArchiveError("the archive has two files of the same name; export the brand again")
    for each in entries:
        _check_ratio(each)
    return archive


def _check_ratio(entry: ZipInfo) -> None:
    if entry.file_size > 1_000_000 and entry.file_size > MAX_RATIO * max(entry.compress_size, 1):  # noqa: PLR2004
        raise ArchiveError(
            f"{_shown(entry.filename)} unpacks to more than {MAX_RATIO} times its size; no export writes such a file"
        )


def _shown(name: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in name[:100])


def read_manifest(archive: ZipFile) -> Mapping[str, Any]:
    """Returns the manifest of an archive that can be imported.

    Raises:
        ArchiveError: it cannot; the message says what to do.
    """
    if "manifest.json" not in archive.namelist():
        raise ArchiveError(
            "the archive has no manifest.json: its export was broken off; export the brand again"
        )
    manifest = _json_of(archive, "manifest.json")
    if not isinstance(manifest, dict) or not isinstance(manifest.get("brand"), str):
        raise ArchiveError("manifest.json is none of an export; export the brand again")
    if manifest.get("format", 1) == 1:
        raise ArchiveError(
            "the archive was written by a version that could not import: update the former installation, and export the brand again"
        )
    if manifest["format"] != FORMAT:
        raise ArchiveError(
            f"the archive has the format {manifest['format']!r}; this version reads {FORMAT}: update it"
        )
    missing = [service for service in PARTS if service not in manifest.get("copied", ())]
    if missing:
        raise ArchiveError(
            f"the archive lacks the rows of {', '.join(missing)}: export with a key of the scope admin, and with the addresses of all"
            " services"
        )
    try:
        UUID(manifest["archive_id"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArchiveError("manifest.json has no archive_id; export the brand again") from error
    return {"site_url": None, **manifest}


def lines_of(archive: ZipFile, name: str) -> Iterator[str]:
    """Yields the lines of a file of the archive.

    Raises:
        ArchiveError: there is no such file, it is damaged, or a line is too long.
    """
    try:
        with archive.open(name) as file:
            while line := file.readline(_MAX_ROW + 1):
                if len(line) > _MAX_ROW:
                    raise ArchiveError(
                        f"{name} has a row of more than {_MAX_ROW / 1e6} MB, which no service takes"
                    )
                yield line.decode().rstrip("\n")
    except KeyError as error:
        raise ArchiveError(f"the archive lacks {_shown(name)}; export the brand again") from error
    except (
        BadZipFile,
        NotImplementedError,
        UnicodeDecodeError,
        EOFError,
        OSError,
        RuntimeError,
        ValueError,
    ) as error:
        raise ArchiveError(f"{_shown(name)} is damaged: {error}") from error


def _object_of(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"a row of the archive is no JSON: {error}") from error
    if not isinstance(row, dict):
        raise ArchiveError("a row of the archive is no JSON object")
    return row


def _bytes_of(archive: ZipFile, name: str) -> bytes:
    try:
        entry = archive.getinfo(name)
        if entry.file_size > _MAX_DOCUMENT:
            raise ArchiveError(f"{_shown(name)} is larger than {_MAX_DOCUMENT // 10**6} MB")
        return archive.read(entry)
    except KeyError as error:
        raise ArchiveError(f"the archive lacks {_shown(name)}; export the brand again") from error
    except (BadZipFile, NotImplementedError, EOFError, OSError, RuntimeError) as error:
        raise ArchiveError(f"{_shown(name)} is damaged: {error}") from error


def _json_of(archive: ZipFile, name: str) -> Any:
    try:
        return json.loads(_bytes_of(archive, name))
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{_shown(name)} is no JSON: {error}") from error
