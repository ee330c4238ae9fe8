"""The answer that is a list as a file."""

from typing import Final

from starlette.responses import Response, StreamingResponse

from console.list_files.writing import MOST_ROWS, Format, ListPages, csv_pieces, json_pieces
from console.texts import Texts

_MEDIA_TYPES: Final = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


def file_answer(t: Texts, pages: ListPages, columns: tuple[str, ...], name: str, ending: Format) -> Response:
    """Streams a list, whose first page has been read.

    Args:
        t: the texts of the reader.
        pages: of the list.
        columns: the fields of its items; the text `list_files.columns.…` has the heading of each.
        name: of the file, without its ending; of letters, digits and hyphens.
        ending: of the file.
    """
    headings = {each: t(f"list_files.columns.{each}") for each in columns}
    ends = {each: t(f"list_files.ends.{each}", n=MOST_ROWS) for each in ("more", "broken")}
    written = csv_pieces(pages, headings, ends) if ending == "csv" else json_pieces(pages, headings)
    attachment = f'attachment; filename="{name}.{ending}"'
    return StreamingResponse(
        written, media_type=_MEDIA_TYPES[ending], headers={"Content-Disposition": attachment}
    )
