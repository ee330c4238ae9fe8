"""Contents of the pages about audits. Pure: no I/O."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from chassis.http.callers import Scope
from console.keywords.views import without_code
from console.list_filters import safe_link

REMEDIES: Final[Mapping[str, tuple[str, Scope]]] = {
    "stale_article": ("rewrite", Scope.SUBMIT),
    "page_unanswered": ("publish", Scope.REVIEW),
    "near_duplicate": ("take_down", Scope.REVIEW),
    "keyword_without_article": ("submit", Scope.SUBMIT),
    "dead_letter": ("replay", Scope.OPERATE),
    "schedule_parked": ("resume", Scope.SUBMIT),
    "article_stuck": ("publish", Scope.REVIEW),
}
"""What one press does about a finding, by its kind, and the scope that it needs. The others need a person's judgement."""
DONE: Final = ("audited", *dict.fromkeys(remedy for remedy, _ in REMEDIES.values()))
"""What a page says was done, by the word in its address."""
_PAGES: Final = {
    "stale_article": "articles",
    "page_unanswered": "articles",
    "dead_link": "articles",
    "near_duplicate": "articles",
    "draft_waiting": "drafts",
    "article_stuck": "articles",
}
_KEYWORDS: Final = frozenset({"keyword_without_article", "dead_letter"})


@dataclass(frozen=True, slots=True)
class FindingLine:
    """A finding with where it leads and what one press does about it."""

    number: int
    """Its place in the audit, by which a form names it."""
    kind: str
    subject: str
    since: str
    detail: str
    """What was seen; empty if the kind says it all."""
    page: str | None
    """Path of the console."""
    outside: str | None
    """Address of the page or source on the web."""
    remedy: str
    """Empty: there is none, or the person may not."""
    lacking: Scope | None
    """What the person lacks for the remedy."""
    is_under_way: bool


@dataclass(frozen=True, slots=True)
class FindingGroup:
    kind: str
    lines: tuple[FindingLine, ...]
    is_cut: bool
    """Whether there are more than the audit lists."""


def groups_of(audit: Mapping[str, Any], brand: str, scopes: frozenset[Scope]) -> tuple[FindingGroup, ...]:
    """The findings by kind, with the remedies for which the scopes suffice."""
    numbered = enumerate(audit["findings"])
    return tuple(
        FindingGroup(
            kind,
            tuple(_line(number, each, brand, scopes) for number, each in found),
            kind in audit["cut"],
        )
        for kind, found in groupby(numbered, key=lambda each: each[1]["kind"])
    )


def _line(number: int, finding: Mapping[str, Any], brand: str, scopes: frozenset[Scope]) -> FindingLine:
    kind = finding["kind"]
    remedy, scope = REMEDIES.get(kind, ("", Scope.READ))
    # Audits of before have no such fields.
    under_way = bool(finding.get("cycle_id"))
    return FindingLine(
        number,
        kind,
        finding["subject"],
        finding["since"],
        without_code(finding.get("detail", "")),
        _page(finding, brand),
        safe_link(finding["address"]),
        remedy if scope in scopes and not under_way else "",
        scope if remedy and scope not in scopes and not under_way else None,
        under_way,
    )


def _page(finding: Mapping[str, Any], brand: str) -> str | None:
    kind = finding["kind"]
    if kind in _PAGES:
        return f"/b/{brand}/{_PAGES[kind]}/{finding['id']}"
    if kind in _KEYWORDS:
        return f"/b/{brand}/keywords"
    return f"/b/{brand}/accounts" if kind == "account_expiring" else None


def finding_at(audit: Mapping[str, Any], number: str) -> Mapping[str, Any] | None:
    """The finding that a form names; None if the audit has no such one."""
    findings: Sequence[Mapping[str, Any]] = audit["findings"]
    place = int(number) if number.isdecimal() and len(number) < 6 else len(findings)  # noqa: PLR2004
    return findings[place] if place < len(findings) else None


def total(audit: Mapping[str, Any]) -> int:
    """The number of listed findings."""
    return sum(audit["counts"].values())


def lacking(groups: Iterable[FindingGroup]) -> list[Scope]:
    """The scopes that the person lacks for remedies, each once."""
    return sorted({each.lacking for group in groups for each in group.lines if each.lacking})
