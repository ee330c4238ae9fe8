"""`brandctl brands import`: a brand from an archive of `brands export`."""

from pathlib import Path
from typing import Annotated

import typer

from brandctl.commands import Result
from brandctl.errors import UsageError
from brandctl.tables import show_table
from brandctl.terminal import note
from client.archive_reading import open_archive
from client.brand_import import BrandImport, ImportReport
from client.services.orchestrator import Orchestrator
from client.services.publisher import Publisher
from client.services.research import Research
from client.services.social import Social


def import_(
    archive: Annotated[Path, typer.Argument(metavar="FILE")],
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    as_json: bool,
    slug: str | None = None,
) -> Result:
    """Imports a brand from an archive of `brands export`, on this or another installation. Needs the scope admin.

    The brand arrives paused, with its articles, pages, drafts, posts, documents and statistics. Nothing is posted: what was planned waits for a
    person, and schedules are paused. Accounts are connected again. If the command breaks off, repeat it: it continues.

    For example:

        brandctl brands import acme.zip
        brandctl brands resume acme
        brandctl brands import acme.zip --slug acme-coffee

    Options:
        archive: The file that `brandctl brands export` wrote.
        slug: Another slug than the brand had; not for a second copy on the same installation.
    """
    if not archive.is_file():
        raise UsageError(f"there is no file {archive}")
    for service in (orchestrator, research, publisher, social):
        service.connect()
    with open_archive(str(archive)) as opened:
        progress = (lambda _: None) if as_json else (lambda step: note(f"… {step}"))
        report = BrandImport(opened, orchestrator, research, publisher, social, progress, slug).run()
    if report.had_ended:
        return Result(
            _told(report), note=f"{report.brand} was imported from this archive before: nothing was changed"
        )
    return Result(
        _told(report),
        lambda: show_table(
            ("part", "new"), [(name, str(count)) for name, count in report.added.items() if count]
        ),
        note=f"{report.brand} is imported and paused; look at it, then: brandctl brands resume {report.brand}",
        remark=[
            *(f"connect again: {each}" for each in report.connect_again),
            *(f"not taken: {each}" for each in report.not_taken),
        ],
    )


def _told(report: ImportReport) -> dict[str, object]:
    return {
        "brand": report.brand,
        "added": report.added,
        "known": report.known,
        "had_ended": report.had_ended,
        "connect_again": report.connect_again,
        "not_taken": report.not_taken,
    }
