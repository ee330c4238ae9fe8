"""`brandctl drafts preview`: a link to a draft as it would look."""

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
        typer.Argument(metavar="ID", parser=parse_id, help="`content_id`, as `list` and cycles show it."),
    ],
    hours: Annotated[int, typer.Option(min=1, max=720, help="After so many, the link leads nowhere.")] = 24,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    publisher_url: PublisherUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Makes a link to a draft as it would look on its site, for whoever is to read it before it is published.

    Whoever has the link sees the article as it stands each time, until the link ends. Of a correction that waits, they see what is published.
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
