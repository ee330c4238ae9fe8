"""Commits single files in a git repository that others use, too: staged changes stay staged, and no hook runs.

Uses dulwich instead of `git`: it is in every image, starts no process, and runs nothing that the folder configures.
It never pushes: the operator pushes, or builds from the folder.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dulwich.index import index_entry_from_stat
from dulwich.object_store import BaseObjectStore, commit_tree_changes, tree_lookup_path
from dulwich.objects import Blob, Commit, ObjectID, Tree
from dulwich.refs import HEADREF
from dulwich.repo import Repo

_FILE: Final = 0o100644
_TRIES: Final = 5


class BusyRepositoryError(Exception):
    """Another process commits continually, or holds the repository's lock."""


def find_repository(folder: Path, root: Path) -> Path | None:
    """The repository that contains a folder, at or below `root`; None without one."""
    for each in (folder, *folder.parents):
        if not each.is_relative_to(root):
            return None
        if (each / ".git").exists():
            return each
    return None


def commit(home: Path, files: Mapping[Path, bytes | None], *, message: str, author: str) -> bool:
    """Commits these files (None: deleted) on top of the checked-out branch.

    Returns:
        False if the branch already has this content, so that there is no commit.

    Raises:
        BusyRepositoryError: as described there.
    """
    if not (home / ".git").exists():
        Repo.init(str(home), default_branch=b"main").close()
    with Repo(str(home)) as repo:
        named = {path.relative_to(home).as_posix().encode(): content for path, content in files.items()}
        for _ in range(_TRIES):
            if (done := _try_commit(repo, named, message, author)) is not None:
                break
        else:
            raise BusyRepositoryError(f"another process commits to {home.name} at the same time")
        try:
            _update_index(repo, home, named)
        except OSError as error:
            # The branch has the commit; the index shows the files as changed until another `git add`.
            raise BusyRepositoryError(f"the index of {home.name} is locked: {error}") from error
        return done


def _try_commit(repo: Repo, files: Mapping[bytes, bytes | None], message: str, author: str) -> bool | None:
    """Commits once; returns whether a commit was needed, or None if another commit came first."""
    names, head = repo.refs.follow(HEADREF)
    branch = names[-1]
    store = repo.object_store
    if head is None:
        empty = Tree()
        store.add_object(empty)
        before = empty.id
    else:
        top = repo[head]
        assert isinstance(top, Commit)
        before = top.tree
    changes: list[tuple[bytes, int | None, ObjectID | None]] = []
    for path, content in files.items():
        if content is None:
            if _is_there(store, before, path):
                changes.append((path, None, None))
            continue
        blob = Blob.from_string(content)
        store.add_object(blob)
        changes.append((path, _FILE, blob.id))
    after = commit_tree_changes(store, before, changes) if changes else before
    if after == before:
        return False
    made = Commit()
    made.tree = after
    made.parents = [] if head is None else [head]
    made.author = made.committer = f"{author} <publisher@localhost>".encode()
    made.author_time = made.commit_time = int(time.time())
    made.author_timezone = made.commit_timezone = 0
    made.encoding = b"UTF-8"
    made.message = f"{message}\n".encode()
    store.add_object(made)
    stored = (
        repo.refs.add_if_new(branch, made.id)
        if head is None
        else repo.refs.set_if_equals(branch, head, made.id)
    )
    return True if stored else None


def _is_there(store: BaseObjectStore, tree: ObjectID, path: bytes) -> bool:
    try:
        tree_lookup_path(store.__getitem__, tree, path)
    except (KeyError, NotADirectoryError):
        return False
    return True


def _update_index(repo: Repo, home: Path, files: Mapping[bytes, bytes | None]) -> None:
    """Updates these files in the index to match the branch."""
    index = repo.open_index()
    for path, content in files.items():
        if content is None:
            if path in index:
                del index[path]
            continue
        found = os.lstat(home / os.fsdecode(path))
        index[path] = index_entry_from_stat(found, Blob.from_string(content).id)
    index.write()
