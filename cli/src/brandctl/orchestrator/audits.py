"""`brandctl audits`: checks of a brand for outdated, broken or waiting articles."""

from datetime import datetime
from itertools import groupby
from typing import Annotated, Final
from uuid import UUID

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.errors import CommandError
from brandctl.listing import AfterId, Listing
from brandctl.orchestrator.client import Audit, AuditSummary, OrchestratorClient, OrchestratorUrl
from brandctl.short_ids import parse_id
from brandctl.terminal import out, print_json, say

app = typer.Typer(
    name="audits",
    no_args_is_help=True,
    help=f"""Audits a brand every Sunday at 6:00 UTC and on demand, and lists what needs attention.

An audit finds articles with old research, pages that do not answer, missing sources, near-duplicates, keywords without an article, drafts that
have waited for a week, dead letters of keywords, and parked schedules. The brand's schedule weekly-audit sets its time:
brandctl schedules set BRAND weekly-audit --cron "0 7 * * MON" --time-zone Europe/Berlin, or pause.

{OrchestratorClient.help()}

For example:

    brandctl audits run acme
    brandctl audits list acme
    brandctl audits show acme
""",
)

Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Slug of the brand.")]
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
}


def _counted(audit: AuditSummary) -> str:
    counted = (f"{kind} {_count(audit, kind)}" for kind, count in audit.counts.items() if count)
    return ", ".join(counted) or "none"


def _count(audit: AuditSummary, kind: str) -> str:
    return f"{audit.counts.get(kind, 0)}{'+' if kind in audit.cut else ''}"


def _moment(time: datetime) -> str:
    return time.isoformat(sep=" ", timespec="minutes")


_AUDITS: Final = Listing[AuditSummary](
    {
        "id": lambda audit: str(audit.audit_id),
        "made": lambda audit: _moment(audit.made_at),
        "by": lambda audit: audit.made_by,
        "findings": _counted,
    },
    nothing="there is no audit yet: brandctl audits run BRAND",
)


@app.command()
def run(
    brand: Brand, as_json: AsJson = False, orchestrator_url: OrchestratorUrl = None, key_file: KeyFile = None
) -> None:
    """Audits a brand now and shows the findings. A second call within a minute shows the same report."""
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
        audit, answer = orchestrator.make_audit(brand)
    if as_json:
        print_json(answer)
        return
    say(out(), page(audit))


@app.command(name="list")
def list_audits(
    brand: Brand,
    after: AfterId = None,
    limit: Annotated[int, typer.Option(min=1, max=50, help="The most audits to list.")] = 20,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists the latest audits of a brand, with the number of findings of each."""
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
        found, answer = orchestrator.audits(brand, after=after, limit=limit)
    _AUDITS.show(found, answer, as_json=as_json, more=answer.get("next"))


@app.command()
def show(
    brand: Brand,
    audit_id: Annotated[
        UUID | None,
        typer.Argument(metavar="AUDIT", parser=parse_id, help="Its id.", show_default="the latest"),
    ] = None,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows the findings of an audit as Markdown: what, since when, and what to do."""
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
        if audit_id is None:
            latest, _ = orchestrator.audits(brand, limit=1)
            if not latest:
                raise CommandError(f"'{brand}' has no audit yet: brandctl audits run {brand}")
            audit_id = latest[0].audit_id
        audit, answer = orchestrator.audit(brand, audit_id)
    if as_json:
        print_json(answer)
        return
    say(out(), page(audit))


def page(audit: Audit) -> str:
    """Returns the audit as Markdown."""
    lines = [f"# Audit of {audit.brand_slug}, {_moment(audit.made_at)}, by {audit.made_by}"]
    if not audit.findings:
        lines += ["", "Nothing was found."]
    for kind, findings in groupby(audit.findings, key=lambda finding: finding.kind):
        lines += ["", f"## {_HEADINGS.get(kind, kind)} ({_count(audit, kind)})", ""]
        for each in findings:
            lines += [
                f"- **{_line(each.subject)}**, since {each.since:%Y-%m-%d}: {_line(each.address)}",
                f"  {_line(each.advice)}",
            ]
    if audit.notes:
        lines += ["", "## Not looked at", "", *(f"- {_line(note)}" for note in audit.notes)]
    return "\n".join(lines)


def _line(text: str) -> str:
    return " ".join(text.split())
