"""`brandctl brands export`: all data of a brand in one zip file."""

import sys
from contextlib import nullcontext
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from brandctl.commands import Result
from brandctl.errors import UsageError
from brandctl.options import Brand
from client.brand_archive import BrandArchive
from client.services.orchestrator import Orchestrator
from client.services.publisher import Publisher
from client.services.research import Research
from client.services.social import Social


def export(
    brand: Brand,
    orchestrator: Orchestrator,
    research: Research,
    publisher: Publisher,
    social: Social,
    as_json: bool,
    to: Path | None = None,
) -> Result:
    """Writes all data of a brand into a zip file: settings, keywords, subjects, articles, schedules, posts, documents, measures.

    Measures are views and clicks of the last 400 days, and post metrics; without the addresses of publisher and social they are left out, with a
    remark. Articles are Markdown, with versions and decisions as JSON. Documents are listed without their contents. The file has
    no keys or other secrets. `manifest.json` comes last: a file without it is incomplete.

    For example:

        brandctl brands export acme > acme.zip
        brandctl brands export acme --to acme.zip --json | jq .articles

    Options:
        to: The file to write. [default: the standard output]
    """
    if to is None and (as_json or sys.stdout.isatty()):
        raise UsageError(
            "give --to FILE, or redirect the output to a file: brandctl brands export acme > acme.zip"
        )
    orchestrator.connect()
    research.connect()
    with (
        nullcontext(sys.stdout.buffer) if to is None else to.open("wb") as out,
        ZipFile(out, "w", ZIP_DEFLATED) as archive,
    ):
        manifest = BrandArchive(archive, brand, orchestrator).write_all(
            research,
            publisher if _is_known(publisher) else None,
            social if _is_known(social) else None,
        )
    about = (
        f"{brand}: {manifest['articles']} articles, {manifest['versions']} versions, {manifest['keywords']} keywords,"
        f" {manifest['posts']} posts, {manifest['schedules']} schedules, {manifest['documents']} documents"
    )
    missing = [
        f"without what is {what}: give the address of {service}, --{service}-url URL"
        for what, service in (("measured", "publisher"), ("received", "social"))
        if manifest[what] is None
    ]
    if manifest["subscribers"] is None and manifest["measured"] is not None:
        missing.append("without the newsletter's subscribers: the key needs the scope operate")
    return Result(manifest, note=about, remark=missing)


def _is_known(service: Publisher | Social) -> bool:
    """Whether the address of a service is known."""
    try:
        service.connect()
    except UsageError:
        return False
    return True
