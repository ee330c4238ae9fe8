"""Routes of the page that says how to connect an assistant."""

import json
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console.assistants.endpoint import PATH
from console.pages import NavigationEntry, Viewer, page
from console.pages.parts import parts_of

NAVIGATION: Final = (NavigationEntry("assistants", "/assistants", 31, Scope.OPERATE),)
TOOLS: Final = (
    (Scope.READ, ("list_brands", "find", "follow_keywords", "list_drafts", "read_draft", "check_text")),
    (Scope.READ, ("read_measures", "read_calendar", "list_proposals")),
    (Scope.SUBMIT, ("submit_keywords", "propose_edit", "propose_publication")),
    (Scope.REVIEW, ("edit_draft", "return_draft", "approve_draft")),
)
"""The tools by the right that each needs; a test compares them with the server's."""
router = APIRouter(include_in_schema=False)


@router.get("/assistants")
async def show_assistants(request: Request, viewer: Viewer) -> Response:
    """The address, an example of an assistant's configuration, and what its tools may do."""
    viewer.check_may(Scope.OPERATE)
    parts = parts_of(request)
    address = parts.urls.absolute(PATH)
    server = {"type": "http", "url": address, "headers": {"Authorization": "Bearer KEY"}}
    return page(
        request,
        viewer,
        "assistants/assistants.html.j2",
        address=address,
        is_open=parts.settings.assistants,
        is_secure=parts.urls.is_secure,
        configuration=json.dumps({"mcpServers": {"brand-engine": server}}, indent=2),
        tools=TOOLS,
    )
