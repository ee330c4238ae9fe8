"""Contents of the pages about sources, and the settings of their forms. Pure: no I/O."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import urlencode

from console.pages import Form

STATES: Final = ("waiting", "read", "skipped", "set_aside")
FILE_STATES: Final = ("read", "skipped", "set_aside")
"""Those of the folder that can be listed; unread files are only counted."""
TONES: Final = {"read": "good", "waiting": "quiet", "skipped": "warn", "set_aside": "bad"}
RELEASABLE: Final = frozenset({"skipped", "set_aside"})
LISTS: Final = ("urls", "feeds", "blocked_hosts", "preferred_hosts", "own_hosts")
FRESHNESS: Final = ("day", "week", "month", "year")
QUERIES: Final = (1, 2, 3)
PAGE_SIZE: Final = 50
CITING: Final = 20
"""Articles that cite a document, on one page."""
_QUERIES: Final = 2
_MAX_TEXT: Final = 200
_MAX_CURSOR: Final = 2_000
_MEGABYTE: Final = 1_000_000
_KILOBYTE: Final = 1_000


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """The filter of a list of documents, read from the address; empty fields match all."""

    text: str = ""
    state: str = ""
    after: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str], states: tuple[str, ...]) -> Self:
        """Reads an address; values that no link of ours has count as left out."""
        state = query.get("state", "")
        return cls(
            " ".join(query.get("q", "").replace("\0", "").split())[:_MAX_TEXT],
            state if state in states else "",
            query.get("after", "").replace("\0", "")[:_MAX_CURSOR],
        )

    @property
    def is_set(self) -> bool:
        return bool(self.text or self.state)

    @property
    def number(self) -> int | None:
        """The cursor of a list in the order of ids; None: its first page."""
        return int(self.after) if self.after.isdecimal() and len(self.after) < 19 else None  # noqa: PLR2004

    def query(self, *, after: object = None) -> str:
        """The query of a link to the first page, or to the next."""
        named = {"q": self.text, "state": self.state, "after": "" if after is None else str(after)}
        written = urlencode({name: value for name, value in named.items() if value})
        return f"?{written}" if written else "?"


def size(count: int) -> str:
    """Writes a number of bytes for a person."""
    if count < _MEGABYTE:
        return f"{max(1, round(count / _KILOBYTE))} kB"
    return f"{count / _MEGABYTE:.1f} MB"


def fields_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as the form has them."""
    web = settings.get("web")
    given = web or {}
    return {
        "folder": settings.get("folder", True),
        "web": web is not None,
        "language": given.get("language") or "",
        "freshness": given.get("freshness") or "",
        "queries": str(given.get("queries", _QUERIES)),
        "proposals": given.get("proposals", False),
        **{name: "\n".join(settings.get(name, ())) for name in LISTS},
    }


def typed_fields(form: Form) -> dict[str, Any]:
    """The typed fields, to be shown again."""
    return {
        **{name: name in form for name in ("folder", "web", "proposals")},
        **{name: form.text(name) for name in ("language", "freshness", "queries", *LISTS)},
    }


def settings_of(form: Form) -> dict[str, Any]:
    """The settings that a person chose, whole: research replaces all of them."""
    queries = form.text("queries")
    web = {
        "language": form.text("language") or None,
        "freshness": form.text("freshness") or None,
        "queries": int(queries) if queries in set(map(str, QUERIES)) else _QUERIES,
        "proposals": "proposals" in form,
    }
    return {
        "folder": "folder" in form,
        "web": web if "web" in form else None,
        **{name: [line.strip() for line in form.text(name).splitlines() if line.strip()] for name in LISTS},
    }


def fingerprint(settings: Mapping[str, Any]) -> str:
    """Differs for other settings, so that people overwrite only settings that they have seen."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
