"""The page `/docs` of an API: its OpenAPI document as one page without scripts."""

import re
from typing import Final

from fastapi import FastAPI
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from chassis.http.conditional import respond
from chassis.http.public import SECURITY_HEADERS, Assets, PublicUrls
from chassis.http.reference.operations import chapters_of

_PATH: Final = "/docs"
_BRIEFLY: Final = "no-cache"


def reference_routes(app: FastAPI) -> list[Route]:
    """Return the routes of the page and its assets; they need no key."""
    reference = _Reference(app)
    return [
        Route(_PATH, reference.page, include_in_schema=False),
        Route(f"{_PATH}/assets/{{name}}", reference.assets.serve, include_in_schema=False),
    ]


class _Reference:
    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self.assets = Assets("chassis.http.reference", "reference.css", otherwise=_BRIEFLY)
        self._page: str | None = None

    async def page(self, request: Request) -> Response:
        if self._page is None:
            self._page = self._render()
        answer = respond(request, self._page, media_type="text/html; charset=utf-8", cache_control=_BRIEFLY)
        answer.headers.update(SECURITY_HEADERS)
        return answer

    def _render(self) -> str:
        # A megabyte of an engine for templates, in every process with an API, for a page that most are never asked for.
        from chassis.http.public.rendering import templates  # noqa: PLC0415

        environment = templates("chassis.http.reference", PublicUrls("", _PATH), self.assets)
        environment.filters["prose"] = _prose
        document = self._app.openapi()
        return environment.get_template("reference.html.j2").render(
            about=document["info"], chapters=chapters_of(document)
        )


def _prose(text: str) -> Markup:
    """Paragraphs, numbered lists and `code`: as much of Markdown as descriptions use."""
    blocks = [_block(block) for block in re.split(r"\n\s*\n", text.strip()) if block]
    return Markup("\n").join(blocks)


def _block(text: str) -> Markup:
    points = re.split(r"^\d+\. ", text, flags=re.MULTILINE)
    if len(points) > 1:
        return Markup("<ol>{}</ol>").format(
            Markup().join(Markup("<li>{}</li>").format(_line(point)) for point in points[1:])
        )
    return Markup("<p>{}</p>").format(_line(text))


def _line(text: str) -> Markup:
    pieces = text.strip().split("`")
    return Markup().join(
        Markup("<code>{}</code>").format(piece) if number % 2 else escape(piece)
        for number, piece in enumerate(pieces)
    )
