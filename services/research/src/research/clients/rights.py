"""The rights in the documents of a folder: their own statements, those of `sources.toml`, and the LICENSE file."""

import asyncio
import json
from dataclasses import dataclass, replace
from pathlib import Path

from messaging import Database
from reading import folder as document_folder
from reading.licences import is_free
from reading.works import UNSTATED, UNUSABLE, StatedWork, find_nearest


@dataclass(frozen=True, slots=True)
class DocumentRights:
    """Where a document comes from, and whether articles may print whole paragraphs of it."""

    url: str | None
    author: str | None
    licence: str | None
    work: str | None = None
    quotable: bool = True


class CorpusRights:
    """The rights in the documents of the folder and in uploads."""

    def __init__(self, database: Database, folder: Path, corpus: str) -> None:
        self._database = database
        self._folder = folder
        self._corpus = corpus
        self._licence: str | None = None
        self._works: dict[str, StatedWork] | None = None

    async def load(self) -> None:
        """Read the folder's LICENSE file, and what the index has of `sources.toml` files."""
        self._licence = await asyncio.to_thread(document_folder.licence, self._folder)
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                "select path, work from works join documents using (document_id) where corpus = $1",
                self._corpus,
            )
        self._works = {
            row["path"].rpartition("/")[0]: StatedWork(**json.loads(row["work"])) if row["work"] else UNUSABLE
            for row in rows
        }

    async def load_once(self) -> None:
        if self._works is None:
            await self.load()

    def of_document(self, corpus: str, path: str, stated: DocumentRights, *, own: bool) -> DocumentRights:
        """Return what holds for a document that states these; its own statements go first."""
        if corpus != self._corpus:
            return replace(stated, quotable=own or is_free(stated.licence))
        folder, work = find_nearest(self._works or {}, path) or ("", UNSTATED)
        return DocumentRights(
            url=stated.url or work.url_of(path.removeprefix(f"{folder}/") if folder else path),
            author=stated.author or work.author,
            licence=stated.licence or work.licence or self._licence,
            work=work.title,
            quotable=work.quotable,
        )
