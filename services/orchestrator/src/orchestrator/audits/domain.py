"""Derives the findings of an audit, with advice, from the facts about a brand. Pure: no I/O, no clock, no randomness."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import combinations
from typing import Final
from uuid import UUID

from orchestrator.accounts import AccountInTrouble
from orchestrator.links import BrokenLink
from writing.quality.likeness import Fingerprint, estimate
from writing.quality.measures import NEAR_DUPLICATE

STALE_AFTER_DAYS: Final = 180
"""Days after which an article's research is stale, unless its brand sets another limit."""
KEYWORDS_WITHIN: Final = timedelta(days=30)
"""The report lists keywords without an article for this time after they end."""
DRAFTS_WAIT: Final = timedelta(days=7)
PUBLISHING_TAKES: Final = timedelta(hours=1)
"""An approved article without a page after this time is stuck; most are published within a minute."""
MOST_OF_A_KIND: Final = 100
"""The most findings of one kind in a report; the most urgent ones."""


class FindingKind(StrEnum):
    STALE_ARTICLE = "stale_article"
    PAGE_UNANSWERED = "page_unanswered"
    DEAD_LINK = "dead_link"
    NEAR_DUPLICATE = "near_duplicate"
    KEYWORD_WITHOUT_ARTICLE = "keyword_without_article"
    DRAFT_WAITING = "draft_waiting"
    DEAD_LETTER = "dead_letter"
    SCHEDULE_PARKED = "schedule_parked"
    ACCOUNT_EXPIRING = "account_expiring"
    ARTICLE_STUCK = "article_stuck"


@dataclass(frozen=True, slots=True)
class PublishedArticle:
    content_id: UUID
    title: str
    published_url: str
    created_at: datetime
    """When it was written from its research."""
    fingerprint: Fingerprint = frozenset()
    """Empty if it has none; it is not compared then."""
    keyword: str = ""


@dataclass(frozen=True, slots=True)
class LostKeyword:
    """A submitted keyword that was never published, as of its latest cycle."""

    keyword: str
    cycle_id: UUID
    is_refused: bool
    is_dead_letter: bool
    """True if it failed because of a dead letter."""
    reason: str
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class WaitingDraft:
    content_id: UUID
    title: str
    is_correction: bool
    since: datetime


@dataclass(frozen=True, slots=True)
class StuckArticle:
    """An article that is to be published, and whose page nobody has confirmed."""

    content_id: UUID
    title: str
    since: datetime


@dataclass(frozen=True, slots=True)
class ParkedSchedule:
    name: str
    due_at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class AuditFacts:
    """The facts about a brand; of each kind one more than a report lists, the most urgent first."""

    stale: Sequence[PublishedArticle]
    """The oldest first."""
    pages: Sequence[BrokenLink]
    """Published pages that do not answer, the longest first."""
    links: Sequence[BrokenLink]
    """Missing sources of published articles, the longest first."""
    compared: Sequence[PublishedArticle]
    """The newest first."""
    lost: Sequence[LostKeyword]
    """The latest first."""
    dead: Sequence[LostKeyword]
    """Keywords that failed because of a dead letter, the latest first."""
    drafts: Sequence[WaitingDraft]
    """The one with the longest wait first."""
    parked: Sequence[ParkedSchedule]
    accounts: Sequence[AccountInTrouble] = ()
    """Expired ones first, then by expiry."""
    stuck: Sequence[StuckArticle] = ()
    """The longest first."""
    notes: tuple[str, ...] = ()
    """What could not be checked, and why."""
    renewing: Mapping[UUID, UUID] = field(default_factory=dict)
    """Cycle ids of the stale articles that this audit has rewritten, by content id."""


@dataclass(frozen=True, slots=True)
class AuditFinding:
    kind: FindingKind
    subject: str
    """The keyword, the title of the article, the name of the schedule or of the account."""
    id: str
    """Its id in the API: of an article its `content_id`, of a keyword its `cycle_id`, of a schedule or an account its name."""
    address: str
    """The address of the page, or a path of the API."""
    since: datetime
    advice: str
    """What to do, in a sentence."""
    detail: str = ""
    """What was seen, such as why a keyword has no article; part of the advice, too."""
    cycle_id: str = ""
    """The cycle that already mends it; empty: none does."""


@dataclass(frozen=True, slots=True)
class AuditReport:
    findings: tuple[AuditFinding, ...]
    """By kind; of each kind the most urgent first."""
    cut: tuple[FindingKind, ...]
    """Kinds with more findings than the report lists."""
    notes: tuple[str, ...] = ()
    """What could not be checked, and why."""

    @property
    def counts(self) -> dict[FindingKind, int]:
        """The number of listed findings by kind, including kinds without any."""
        counts = dict.fromkeys(FindingKind, 0)
        for finding in self.findings:
            counts[finding.kind] += 1
        return counts


def derive_report(brand_slug: str, known: AuditFacts) -> AuditReport:
    """Derives the report from the facts."""
    by_kind = {
        FindingKind.STALE_ARTICLE: [
            _stale(brand_slug, each, known.renewing.get(each.content_id)) for each in known.stale
        ],
        FindingKind.PAGE_UNANSWERED: [_unanswered(each) for each in known.pages],
        FindingKind.DEAD_LINK: [_dead_link(each) for each in known.links],
        FindingKind.NEAR_DUPLICATE: list(_near_duplicates(known.compared)),
        FindingKind.KEYWORD_WITHOUT_ARTICLE: [_without_article(each) for each in known.lost],
        FindingKind.DRAFT_WAITING: [_waiting(each) for each in known.drafts],
        FindingKind.DEAD_LETTER: [_dead(each) for each in known.dead],
        FindingKind.SCHEDULE_PARKED: [_parked(brand_slug, each) for each in known.parked],
        FindingKind.ACCOUNT_EXPIRING: [_expiring(each) for each in known.accounts],
        FindingKind.ARTICLE_STUCK: [_stuck(each) for each in known.stuck],
    }
    return AuditReport(
        findings=tuple(found for findings in by_kind.values() for found in findings[:MOST_OF_A_KIND]),
        cut=tuple(kind for kind, findings in by_kind.items() if len(findings) > MOST_OF_A_KIND),
        notes=known.notes,
    )


def _stale(brand_slug: str, article: PublishedArticle, cycle_id: UUID | None) -> AuditFinding:
    todo = (
        f"read whether it still holds; then have it rewritten (brandctl submit {brand_slug} '{article.keyword}' --refresh), correct it"
        f" (brandctl drafts edit {article.content_id}) or take it down"
        if cycle_id is None
        else f"it is being rewritten: brandctl watch {cycle_id}"
    )
    return AuditFinding(
        FindingKind.STALE_ARTICLE,
        article.title,
        str(article.content_id),
        article.published_url,
        article.created_at,
        todo,
        cycle_id="" if cycle_id is None else str(cycle_id),
    )


def _unanswered(page: BrokenLink) -> AuditFinding:
    return AuditFinding(
        FindingKind.PAGE_UNANSWERED,
        page.title,
        str(page.content_id),
        page.address,
        page.since,
        f"see whether visitors reach it; then publish it again or take it down ({page.detail})",
        page.detail,
    )


def _dead_link(link: BrokenLink) -> AuditFinding:
    return AuditFinding(
        FindingKind.DEAD_LINK,
        link.title,
        str(link.content_id),
        link.address,
        link.since,
        f"a source of it is gone: see whether the article still holds, and correct it (brandctl drafts edit {link.content_id})"
        f" or leave it ({link.detail})",
        link.detail,
    )


def _near_duplicates(articles: Sequence[PublishedArticle]) -> Iterator[AuditFinding]:
    """Yields each pair once, as a finding about the newer one; the most similar first."""
    pairs = []
    for newer, older in combinations(articles, 2):
        share = max(
            estimate(newer.fingerprint, older.fingerprint), estimate(older.fingerprint, newer.fingerprint)
        )
        if share >= NEAR_DUPLICATE:
            pairs.append((share, newer, older))
    for share, newer, older in sorted(pairs, key=lambda pair: -pair[0]):
        yield AuditFinding(
            FindingKind.NEAR_DUPLICATE,
            newer.title,
            str(newer.content_id),
            newer.published_url,
            newer.created_at,
            f"about {share:.0%} of it and of '{older.title}' ({older.published_url}) is the same: keep one, and take the"
            " other down or make it different",
            f"{share:.0%}: '{older.title}' ({older.published_url})",
        )


def _without_article(lost: LostKeyword) -> AuditFinding:
    todo = (
        "give research more sources on it and submit it again, or leave it"
        if lost.is_refused
        else "fix the cause and submit it again"
    )
    return _of_keyword(FindingKind.KEYWORD_WITHOUT_ARTICLE, lost, todo)


def _dead(lost: LostKeyword) -> AuditFinding:
    todo = "see brandctl dead-letters list, fix the cause and have it replayed"
    return _of_keyword(FindingKind.DEAD_LETTER, lost, todo)


def _of_keyword(kind: FindingKind, lost: LostKeyword, todo: str) -> AuditFinding:
    return AuditFinding(
        kind,
        lost.keyword,
        str(lost.cycle_id),
        f"/v1/cycles/{lost.cycle_id}",
        lost.ended_at,
        f"{todo} ({lost.reason})",
        lost.reason,
    )


def _waiting(draft: WaitingDraft) -> AuditFinding:
    what = "correction" if draft.is_correction else "draft"
    return AuditFinding(
        FindingKind.DRAFT_WAITING,
        draft.title,
        str(draft.content_id),
        f"/v1/drafts/{draft.content_id}",
        draft.since,
        f"this {what} waits for a decision: brandctl drafts show {draft.content_id}, then approve, edit or reject it",
    )


def _parked(brand_slug: str, schedule: ParkedSchedule) -> AuditFinding:
    return AuditFinding(
        FindingKind.SCHEDULE_PARKED,
        schedule.name,
        schedule.name,
        f"/v1/brands/{brand_slug}/schedules/{schedule.name}",
        schedule.due_at,
        f"fix the cause, then brandctl schedules resume {brand_slug} {schedule.name}, or remove it ({schedule.reason})",
        schedule.reason,
    )


def _expiring(account: AccountInTrouble) -> AuditFinding:
    ends = "" if account.expires_at is None else f" on {account.expires_at:%Y-%m-%d}"
    when = "can't be used any more" if account.is_over else f"ends{ends}, and nothing goes out by it then"
    why = f" ({account.detail})" if account.detail else ""
    return AuditFinding(
        FindingKind.ACCOUNT_EXPIRING,
        account.account,
        account.account,
        f"/v1/accounts/{account.account}",
        account.since,
        f"its access {when}: brandctl accounts connect {account.kind} --name {account.account}{why}",
        account.detail,
    )


def _stuck(article: StuckArticle) -> AuditFinding:
    return AuditFinding(
        FindingKind.ARTICLE_STUCK,
        article.title,
        str(article.content_id),
        f"/v1/content/{article.content_id}",
        article.since,
        f"it is being published and has no page yet: see brandctl content targets {article.content_id}, then publish it again"
        f" (brandctl content publish {article.content_id} TARGET)",
    )
