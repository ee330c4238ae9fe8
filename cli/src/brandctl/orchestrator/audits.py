"""`brandctl audits`: checks of a brand for outdated, broken or waiting articles."""

from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import UUID

import typer

from brandctl.commands import Group, Result
from brandctl.errors import CommandError
from brandctl.listing import Listing
from brandctl.options import AfterId, Brand
from brandctl.short_ids import parse_id
from brandctl.terminal import out, say
from brandctl.times import with_offset
from client.services.orchestrator import Orchestrator

if TYPE_CHECKING:
    from client.services.orchestrator import answers

app = Group(
    "audits",
    """Audits a brand every Sunday at 6:00 UTC and on demand, and lists what needs attention.

An audit finds articles with old research, pages that do not answer, missing sources, near-duplicates, keywords without an article, drafts that
have waited for a week, dead letters of keywords, and parked schedules. The brand's schedule weekly-audit sets its time:
brandctl schedules set BRAND weekly-audit --cron "0 7 * * MON" --time-zone Europe/Berlin, or pause.

For example:

    brandctl audits run acme
    brandctl audits list acme
    brandctl audits show acme
""",
    Orchestrator,
)

_HEADINGS: Final = {
    "stale_article": "Articles whose research is old",
    "page_unanswered": "Pages that do not answer",
    "dead_link": "Sources that are gone",
    "near_duplicate": "Articles that say nearly the same",
    "keyword_without_article": "Keywords without an article",
    "draft_waiting": "Drafts that wait for a decision",
    "dead_letter": "Keywords that a dead letter holds",
    "schedule_parked": "Schedules that were given up",
    "account_expiring": "Accounts whose access ends",
    "article_stuck": "Articles that are stuck while being published",
}


def _counted(audit: dict[str, Any]) -> str:
    counted = (f"{kind} {_count(audit, kind)}" for kind, count in audit["counts"].items() if count)
    return ", ".join(counted) or "none"


def _count(audit: Any, kind: str) -> str:
    return f"{audit['counts'].get(kind, 0)}{'+' if kind in audit['cut'] else ''}"


_AUDITS: Final = Listing(
    {
        "id": "audit_id",
        "made": lambda audit: with_offset(audit["made_at"]),
        "by": "made_by",
        "findings": _counted,
    },
    nothing="there is no audit yet: brandctl audits run BRAND",
)


@app.command()
def run(orchestrator: Orchestrator, brand: Brand) -> Result:
    """Audits a brand now and shows the findings. A second call within a minute shows the same report."""
    return _shown(orchestrator.audit_brand(brand))


@app.command("list")
def list_audits(
    orchestrator: Orchestrator,
    brand: Brand,
    after: AfterId = None,
    limit: Annotated[int, typer.Option(min=1, max=50)] = 20,
) -> Result:
    """Lists the latest audits of a brand, with the number of findings of each.

    Options:
        limit: The most audits to list.
    """
    return _AUDITS.of(orchestrator.list_audits(brand, after=after, limit=limit))


@app.command()
def show(
    orchestrator: Orchestrator,
    brand: Brand,
    audit_id: Annotated[UUID | None, typer.Argument(metavar="AUDIT", parser=parse_id)] = None,
) -> Result:
    """Shows the findings of an audit as Markdown: what, since when, and what to do.

    Options:
        audit_id: Its id. [default: the latest]
    """
    if audit_id is not None:
        return _shown(orchestrator.get_audit(brand, audit_id))
    latest = orchestrator.list_audits(brand, limit=1)["items"]
    if not latest:
        raise CommandError(f"'{brand}' has no audit yet: brandctl audits run {brand}")
    return _shown(orchestrator.get_audit(brand, latest[0]["audit_id"]))


def _shown(audit: "answers.AuditView") -> Result:
    return Result(audit, lambda: say(out(), page(audit)))


def page(audit: "answers.AuditView") -> str:
    """Returns the audit as Markdown."""
    lines = [f"# Audit of {audit['brand_slug']}, {with_offset(audit['made_at'])}, by {audit['made_by']}"]
    if not audit["findings"]:
        lines += ["", "Nothing was found."]
    for kind, findings in groupby(audit["findings"], key=lambda finding: finding["kind"]):
        lines += ["", f"## {_HEADINGS.get(kind, kind)} ({_count(audit, kind)})", ""]
        for each in findings:
            subject, since = _line(each["subject"]), each["since"][:10]
            lines += [
                f"- **{subject}**, since {since}: {_line(each['address'])}",
                f"  {_line(each['advice'])}",
            ]
    if audit["notes"]:
        lines += ["", "## Not looked at", "", *(f"- {_line(note)}" for note in audit["notes"])]
    return "\n".join(lines)


def _line(text: str) -> str:
    return " ".join(text.split())
