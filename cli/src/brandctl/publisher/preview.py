"""`brandctl drafts preview`: a link to a draft's preview."""

from typing import Annotated

import typer

from brandctl.commands import Result
from brandctl.options import ContentId
from brandctl.terminal import write
from client.services.orchestrator import Orchestrator
from client.services.publisher import Publisher


def preview(
    orchestrator: Orchestrator,
    publisher: Publisher,
    content_id: ContentId,
    hours: Annotated[int, typer.Option(min=1, max=720)] = 24,
) -> Result:
    """Makes a link to a preview of a draft on its site, for readers without an account.

    Everyone with the link sees the current text until the link expires. If a correction waits, the link shows the published version.

    Options:
        hours: Hours until the link expires.
    """
    brand = orchestrator.get_draft(content_id)["brand_slug"]
    made = publisher.create_preview(brand, content_id=content_id, hours=hours)
    return Result(made, lambda: write(f"{made['url']}\n"), note=f"until {made['expires_at']}")
