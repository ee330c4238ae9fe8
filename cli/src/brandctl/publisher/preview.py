"""`brandctl drafts preview`: a link to a draft's preview."""

from typing import Annotated
from uuid import UUID

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.orchestrator.client import OrchestratorUrl
from brandctl.orchestrator.drafts import DraftsClient
from brandctl.publisher.client import PublisherUrl, SitesClient
from brandctl.short_ids import parse_id
from brandctl.terminal import note, out, print_json, printable


def preview(
    content_id: Annotated[
        UUID,
        typer.Argument(metavar="ID", parser=parse_id, help="`content_id`, as in `list` and cycles."),
    ],
    hours: Annotated[int, typer.Option(min=1, max=720, help="Hours until the link expires.")] = 24,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Makes a link to a preview of a draft on its site, for readers without an account.

    Everyone with the link sees the current text until the link expires. If a correction waits, the link shows the published version.
    """
    with DraftsClient.at(orchestrator_url, key_file) as drafts:
        brand = drafts.draft(content_id)["brand_slug"]
    with SitesClient.at(publisher_url, key_file) as sites:
        made = sites.preview(brand, content_id, hours)
    if as_json:
        print_json(made)
        return
    out().file.write(printable(made["url"]) + "\n")
    note(f"until {made['expires_at']}")
