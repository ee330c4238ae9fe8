"""Writes articles as files for a site generator, in a folder or a git repository of the operator. Slow: call it in a thread.

Files are always complete, nothing is written or removed outside the folder, and files of other authors stay as they are.
"""

import hashlib
import os
import re
import tempfile
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from publisher.targets.edition import Edition
from publisher.targets.filing.layouts import LAYOUTS, Layout, render_file
from publisher.targets.settings import TargetSettings
from publisher.targets.target import CHANGED

_SOURCE: Final = re.compile(r'^source_id: "([0-9a-f-]{36}) ([0-9a-f]{16})"$', re.MULTILINE)


class FilesError(Exception):
    """Why nothing was written, and what to do."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class FiledArticle:
    """The files of an article, and their digest."""

    path: str
    """Path of the text, below the target's folder."""
    cover: str | None
    seen: str | None
    """Digest of the text's file; None if it may be missing, or was withdrawn."""
    slug: str = ""
    """The slug in its path, if known."""


class FilesTarget:
    """Writes below `root`, the operator's PUBLISH_FOLDER; None: the operator has set none."""

    def __init__(self, root: Path | None) -> None:
        self._root = None if root is None else root.resolve()

    def choose_path(
        self, edition: Edition, settings: TargetSettings, before: FiledArticle | None, *, since: datetime
    ) -> str:
        """The path for the article, below the target's folder; writes nothing.

        Raises: as `write`.
        """
        folder = self._folder(settings, edition.brand_slug)
        return self._free_path(folder, LAYOUTS[settings.profile], edition, since, before)

    def write(
        self,
        edition: Edition,
        settings: TargetSettings,
        before: FiledArticle | None,
        *,
        path: str,
        since: datetime,
        tried: frozenset[str],
        cover: bytes | None,
        overwrite: bool,
    ) -> FiledArticle:
        """Writes the article at `path`, and removes its files elsewhere; repeating it changes nothing.

        Raises:
            FilesError: the folder is missing, or a person has changed the file.
            OSError: writing failed.
            BusyRepositoryError: the repository is locked.
        """
        folder = self._folder(settings, edition.brand_slug)
        layout = LAYOUTS[settings.profile]
        if before is not None and not overwrite:
            self._check_unchanged(folder, before, edition.content_id, tried)
        slug, mark = _slug_in(path, layout, edition, since), edition.mark
        pictured = layout.cover(slug, since) if cover is not None else None
        if pictured is not None and self._is_others_picture(self._within(folder, pictured), before, cover):
            pictured, edition = None, replace(edition, picture=None)
        text = render_file(layout, edition, slug, since, mark=mark).encode()
        files: dict[Path, bytes | None] = {}
        for old in () if before is None else (before.path, before.cover):
            if old is not None and old not in {path, pictured}:
                files[self._within(folder, old)] = None
        files[self._within(folder, path)] = text
        if pictured is not None:
            files[self._within(folder, pictured)] = cover
        what = "Publish" if before is None or before.seen is None else "Update"
        self._store_files(folder, settings, files, message=f"{what} “{edition.title}”", author=edition.site)
        return FiledArticle(path, pictured, _digest(text), slug)

    def remove(
        self,
        content_id: UUID,
        brand_slug: str,
        settings: TargetSettings,
        before: FiledArticle,
        *,
        tried: frozenset[str],
        overwrite: bool,
    ) -> None:
        """Removes the article's files; missing files are fine.

        Raises: as `write`.
        """
        folder = self._folder(settings, brand_slug)
        if self._within(folder, before.path).exists() and not overwrite:
            self._check_unchanged(folder, before, content_id, tried)
        files: dict[Path, bytes | None] = {
            self._within(folder, each): None for each in (before.path, before.cover) if each is not None
        }
        self._store_files(folder, settings, files, message=f"Withdraw {before.path}", author=brand_slug)

    def _folder(self, settings: TargetSettings, brand_slug: str) -> Path:
        if self._root is None:
            raise FilesError(
                "no_folder", "the publisher has no folder for files: set PUBLISH_FOLDER and restart it"
            )
        if not self._root.is_dir():
            raise FilesError(
                "no_folder", "PUBLISH_FOLDER is not a folder: create it, and let the publisher write to it"
            )
        folder = (self._root / (settings.folder or brand_slug)).resolve()
        if not folder.is_relative_to(self._root):
            raise FilesError(
                "outside", "the target's folder leads out of PUBLISH_FOLDER; nothing was written"
            )
        return folder

    def _within(self, folder: Path, path: str) -> Path:
        """The full path.

        Raises:
            FilesError: a link in the folder leads outside of it.
        """
        assert self._root is not None
        whole = folder / path
        if not whole.parent.resolve().is_relative_to(folder) or whole.is_symlink():
            raise FilesError("outside", f"{path} leads out of the target's folder; nothing was written")
        return whole

    def _check_unchanged(
        self, folder: Path, before: FiledArticle, content_id: UUID, tried: frozenset[str]
    ) -> None:
        try:
            text = self._within(folder, before.path).read_bytes()
        except FileNotFoundError:
            if before.seen is None:
                return
            raise FilesError(
                "gone_elsewhere",
                f"{before.path} was removed; to write it again: brandctl content publish ID TARGET --overwrite",
            ) from None
        if _digest(text) == before.seen or _mark(text, content_id) in tried:
            return
        raise FilesError(
            CHANGED,
            f"{before.path} was changed since it was written, and stays as it is. To overwrite it:"
            " brandctl content publish ID TARGET --overwrite",
        )

    def _free_path(
        self, folder: Path, layout: Layout, edition: Edition, since: datetime, before: FiledArticle | None
    ) -> str:
        """The path for the article's slug, or the next one that is free or already the article's."""
        for number in range(1, 100):
            slug = edition.slug if number == 1 else f"{edition.slug}-{number}"
            path = layout.article(slug, since)
            there = self._within(folder, path)
            if before is not None and before.path == path:
                return path
            if there.exists():
                if _mark(there.read_bytes(), edition.content_id) is not None:
                    return path
                continue
            picture = layout.cover(slug, since)
            if (before is not None and before.cover == picture) or not self._within(folder, picture).exists():
                return path
        raise FilesError(
            "no_name", f"there are a hundred files called {edition.slug}; give the article another address"
        )

    @staticmethod
    def _is_others_picture(path: Path, before: FiledArticle | None, cover: bytes | None) -> bool:
        """Whether a foreign file occupies the path of an article's first picture."""
        had_none = before is not None and before.seen is not None and before.cover is None
        return had_none and path.exists() and path.read_bytes() != cover

    def _store_files(
        self,
        folder: Path,
        settings: TargetSettings,
        files: dict[Path, bytes | None],
        *,
        message: str,
        author: str,
    ) -> None:
        for path, content in files.items():
            if content is None:
                path.unlink(missing_ok=True)
                _remove_empty(path.parent, folder)
            elif not path.exists() or path.read_bytes() != content:
                _write(path, content)
        if not settings.git:
            return
        # Takes some megabytes, so it loads at the first commit.
        from publisher.targets.filing.repository import commit, find_repository  # noqa: PLC0415

        assert self._root is not None
        folder.mkdir(parents=True, exist_ok=True)
        home = find_repository(folder, self._root) or folder
        commit(home, files, message=message, author=author)


def _slug_in(path: str, layout: Layout, edition: Edition, since: datetime) -> str:
    """The slug that the path contains."""
    for number in range(1, 100):
        slug = edition.slug if number == 1 else f"{edition.slug}-{number}"
        if layout.article(slug, since) == path:
            return slug
    return edition.slug


def _mark(text: bytes, content_id: UUID) -> str | None:
    found = _SOURCE.search(text[:20_000].decode(errors="replace"))
    return found[2] if found and found[1] == str(content_id) else None


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _write(path: Path, content: bytes) -> None:
    """Replaces the file atomically, also if the machine stops meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _remove_empty(folder: Path, above: Path) -> None:
    while folder != above and folder.is_relative_to(above):
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
