"""Arguments and options that several commands take; each command may say more about them under `Options:`."""

from typing import Annotated
from uuid import UUID

import typer

from brandctl.short_ids import parse_id
from client.pages import MAX_PAGE

Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Slug of the brand.")]
OfBrand = Annotated[str | None, typer.Option("--brand", help="Slug of the brand.", show_default="all")]
AfterId = Annotated[UUID | None, typer.Option("--after", help="Id of the last entry of the previous page.")]
AfterCursor = Annotated[
    str | None, typer.Option("--after", help="The cursor that the previous page printed.")
]
AfterNumber = Annotated[
    int | None, typer.Option("--after", help="The cursor that the previous page printed.")
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=MAX_PAGE, help="The most entries to list.")]
Positive = Annotated[int | None, typer.Option(min=1)]
Version = Annotated[
    int | None, typer.Option(min=1, help="The version that you reviewed.", show_default="the newest")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Id = Annotated[UUID, typer.Argument(metavar="ID", parser=parse_id)]
ContentId = Annotated[
    UUID, typer.Argument(metavar="ID", parser=parse_id, help="`content_id`, as in `list` and cycles.")
]
Comment = Annotated[str, typer.Option("--comment", "-m")]
Reason = Annotated[str, typer.Option("--reason", "-m", help="Reason, stored and shown with its keyword.")]
