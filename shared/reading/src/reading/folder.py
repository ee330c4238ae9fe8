"""Lists and reads the documents of a folder. The functions block; call them from a thread."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from reading.formats import SUFFIXES, UnreadableFileError, max_bytes
from reading.licences import licence_name
from reading.works import is_work_file

MAX_PATH_BYTES = 1_000
_COPIES = "_sources"
"""Where Sphinx keeps the source of each page: the same text again."""
_TEXTS = frozenset({".txt", ".adoc", ".asciidoc", ".rst"})
_PAGES = frozenset({".html", ".htm", ".xhtml"})
MIN_TWINS = 5
"""From so many texts beside pages of the same names on, a generator has left the texts of its pages there."""
_LICENCE_STEMS = frozenset({"license", "licence", "copying"})


@dataclass(frozen=True, slots=True)
class FileStat:
    """Path, size in bytes and modification time (ns since the epoch) of a file; a change means to read it again."""

    path: str
    size: int
    modified_ns: int


class FolderUnavailableError(Exception):
    """The folder itself is unreadable, so the state of its files is unknown."""


def scan(folder: Path, *, with_works: bool = False) -> Iterator[FileStat]:
    """Yield every file with a known document suffix below the folder, in path order.

    Skips hidden files and folders, the sources that a generator left beside its pages or in a folder of their own, and links that lead out of the folder. `with_works`: also
    the files that `reading.works` reads.

    Raises:
        FolderUnavailableError: the folder is missing or may not be listed.
    """
    root = os.path.realpath(folder)
    try:
        os.listdir(root)  # noqa: PTH208 - only asks whether it can be listed, in one call
    except OSError as error:
        raise FolderUnavailableError(
            f"the corpus folder {folder} cannot be read: {error.strerror}"
        ) from error
    for parent, folders, files in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != _COPIES)
        copies = _texts_of_pages(files)
        for name in sorted(files):
            if name in copies or not (_is_document(name) or (with_works and is_work_file(name))):
                continue
            state = _state(root, os.path.join(parent, name))  # noqa: PTH118 - os.walk speaks in strings
            if state is not None:
                yield state


def _texts_of_pages(names: list[str]) -> set[str]:
    """Return the files of a folder from which its pages were made: git-add.txt beside git-add.html, and many more such pairs."""
    # Plain strings: a folder may have a hundred thousand names.
    pages = {stem for stem, suffix in map(os.path.splitext, names) if suffix.lower() in _PAGES}
    texts = {
        stem + suffix
        for stem, suffix in map(os.path.splitext, names)
        if suffix.lower() in _TEXTS and stem in pages
    }
    return texts if len(texts) >= MIN_TWINS else set()


def _is_document(name: str) -> bool:
    path = PurePosixPath(name)
    return (
        not name.startswith(".")
        and path.suffix.lower() in SUFFIXES
        and path.stem.lower() not in _LICENCE_STEMS
    )


def _state(root: str, file: str) -> FileStat | None:
    path = os.path.relpath(file, root)
    try:
        if len(path.encode()) > MAX_PATH_BYTES or not _is_inside(root, file):
            return None
        facts = os.stat(file)  # noqa: PTH116
    except (OSError, UnicodeEncodeError):
        # Deleted meanwhile, a dangling link, or a name that is not text: skip it.
        return None
    return FileStat(path, facts.st_size, facts.st_mtime_ns) if stat.S_ISREG(facts.st_mode) else None


def _is_inside(root: str, file: str) -> bool:
    return os.path.realpath(file).startswith(root.rstrip("/") + "/")


def read(folder: Path, path: str) -> bytes:
    """Return the bytes of one file that `scan` listed.

    Raises:
        UnreadableFileError: too large, not a regular file, outside the folder, or not permitted.
    """
    root = os.path.realpath(folder)
    file = os.path.join(root, path)  # noqa: PTH118
    if not _is_inside(root, file):
        raise UnreadableFileError("it is a link out of the corpus folder")
    try:
        # A named pipe in the folder must not block the caller, hence non-blocking.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UnreadableFileError("it is not a regular file")
            content = opened.read(max_bytes(path) + 1)
    except OSError as error:
        raise UnreadableFileError(f"it cannot be opened ({error.strerror})") from error
    if len(content) > max_bytes(path):
        raise UnreadableFileError(f"it is larger than {max_bytes(path) // 1_000_000} MB; split it")
    return content


def licence(folder: Path) -> str | None:
    """Return the name of the licence in the folder's LICENSE file; it applies to documents that name none."""
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.stem.lower() in _LICENCE_STEMS)
        texts = [read(folder, name).decode("utf-8", errors="replace") for name in names]
    except (OSError, UnreadableFileError):
        return None
    return next(filter(None, map(licence_name, texts)), None)
